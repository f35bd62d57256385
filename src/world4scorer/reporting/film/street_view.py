"""Bird's-eye view of streets for films: forward is up, the ego stays in place.

Drawn with Pillow and supersampling: about ten times as fast as a figure, in the same colours.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from world4scorer.drawing import style
from world4scorer.engine.scene.geometry import box_corners
from world4scorer.engine.scene.indices import TrackType
from world4scorer.reporting.film.canvas import PEN_HEIGHT, SUPERSAMPLING, Canvas, ego_corners, heading_arrow
from world4scorer.reporting.film.fonts import load_font
from world4scorer.reporting.film.street_layers import StreetLayers

Floats = NDArray[np.float64]

EGO_HEIGHT_SHARE: Final = 0.3
"""Height of the ego's rear axle above the lower edge, as a share of the image."""
PAST_SECONDS: Final = 4.0
"""Past of the ego that is drawn [s]."""
MIN_PEDESTRIAN_RADIUS: Final = 0.45
"""Smallest radius of a pedestrian, for visibility [m]."""
DRAWING_ORDER: Final = (
    TrackType.GENERIC_OBJECT,
    TrackType.BARRIER,
    TrackType.CZONE_SIGN,
    TrackType.TRAFFIC_CONE,
    TrackType.VEHICLE,
    TrackType.BICYCLE,
    TrackType.PEDESTRIAN,
)
"""Drawing order, small agents on top."""


@dataclass(frozen=True, eq=False)
class StreetView:
    """Draws streets, agents and ego."""

    streets: StreetLayers
    size: tuple[int, int]
    """Width, height [pixels]."""
    length: float
    """Vertical extent [m]."""

    def begin(self, ego_pose: Floats) -> tuple[Image.Image, Canvas]:
        """A supersampled image and its canvas, for a global ego pose (3,)."""
        image = Image.new("RGB", (self.size[0] * SUPERSAMPLING, self.size[1] * SUPERSAMPLING), style.GROUND)
        middle, heading = ego_pose[:2] - self.streets.origin, float(ego_pose[2])
        brush = ImageDraw.Draw(image)
        return image, Canvas(brush, middle, heading, self.ego_at, self.scale, self.pen, self.reach)

    @property
    def scale(self) -> float:
        """Samples per metre."""
        return self.size[1] * SUPERSAMPLING / self.length

    @property
    def pen(self) -> float:
        """Unit of line widths [samples]."""
        return self.size[1] * SUPERSAMPLING / PEN_HEIGHT

    @property
    def ego_at(self) -> tuple[float, float]:
        """Position of the rear axle [pixels]."""
        return self.size[0] / 2, self.size[1] * (1 - EGO_HEIGHT_SHARE)

    @cached_property
    def reach(self) -> float:
        """See `view_reach`."""
        return view_reach(self.size, self.length)

    def draw_streets(self, canvas: Canvas, roadblock_ids: Collection[str] = ()) -> None:
        """The map, with the lanes of a route in another colour."""
        streets = self.streets
        for coat in streets.areas:
            canvas.fill(coat)
        canvas.fill(streets.lanes, streets.on_route(roadblock_ids)[streets.lanes.owner])
        canvas.fill(streets.stripes)
        canvas.outline(streets.edges, 1.1)

    def draw_red_lights(self, canvas: Canvas, lights: Iterable[tuple[str, bool]]) -> None:
        """Stop lines of the lane connectors that are red."""
        for connector in sorted({connector for connector, red in lights if red}):
            line = self.streets.stop_lines.get(connector)
            if line is not None:
                canvas.polyline(line, style.STOP_LINE)

    def draw_others(self, canvas: Canvas, boxes: Floats, types: NDArray[np.int8]) -> None:
        """Other agents: boxes (n, 5) x, y, heading, length, width, global, and codes of `TrackType` (n,)."""
        places = boxes[:, :2] - self.streets.origin
        near = np.abs(places - canvas.middle).max(axis=1, initial=0.0) < self.reach + 15.0
        for kind in DRAWING_ORDER:
            fill = style.TRACK_FILL[kind]
            for row in np.flatnonzero(near & (types == kind)):
                length, width = boxes[row, 3:]
                if kind is TrackType.PEDESTRIAN:
                    canvas.round(places[row], max(MIN_PEDESTRIAN_RADIUS, width / 2), fill)
                    continue
                pose = np.append(places[row], boxes[row, 2])
                corners = box_corners(pose, length / 2, length / 2, width / 2)
                canvas.polygon(corners, fill, style.INK, 0.8)
                if kind is TrackType.VEHICLE:
                    canvas.polygon(heading_arrow(corners, 0.36, 0.2, 0.62), style.GROUND)

    def draw_choice(self, canvas: Canvas, rollouts: Floats, chosen: int, framewise: int) -> None:
        """The plan chosen among rollouts (N, T, ..) with the ego's boxes along it; dashed the framewise choice."""
        if framewise != chosen:
            canvas.polyline(rollouts[framewise, :, :2] - self.streets.origin, style.FRAMEWISE)
        for step in style.BOX_STEPS:
            corners = ego_corners(rollouts[chosen, step, :3], self.streets.origin)
            canvas.polygon(corners, None, style.CHOICE.colour, 1.2)
        canvas.polyline(rollouts[chosen, :, :2] - self.streets.origin, style.CHOICE)

    def draw_ego(self, canvas: Canvas, ego_pose: Floats, edge: str = style.PAPER) -> None:
        """The ego at a global pose (3,)."""
        corners = ego_corners(ego_pose, self.streets.origin)
        canvas.polygon(corners, style.EGO, edge, 2.0)
        canvas.polygon(heading_arrow(corners, 0.5, 0.06, 0.64), style.PAPER)

    def draw_scale(self, canvas: Canvas) -> None:
        """A scale bar of 10 m."""
        width, height = self.size[0] * SUPERSAMPLING, self.size[1] * SUPERSAMPLING
        right, low = width - 14 * self.pen, height - 14 * self.pen
        left = right - 10 * self.scale
        canvas.brush.line([(left, low), (right, low)], fill=style.INK, width=round(2.4 * self.pen))
        font = load_font(round(12 * self.pen))
        canvas.brush.text(((left + right) / 2, low - 4 * self.pen), "10 m", style.INK, font, anchor="mb")


def view_reach(size: tuple[int, int], length: float) -> float:
    """Radius around the ego that covers an image of `size` pixels and `length` metres [m]."""
    return float(np.hypot(size[0] / size[1] / 2, 1 - EGO_HEIGHT_SHARE) * length)
