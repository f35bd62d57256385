"""The reference planner's forecast: constant velocity of everything it observes.

Agents move along their heading (or against it, if they move backwards) without turning; static objects and red
lights stay. The forecast is sampled every 0.2 s, so odd steps repeat the step before.

Shapes: N objects, S = 51 steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray

from world4scorer.datasets.navsim.city_map import CityMap
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.frames import LogFrame
from world4scorer.datasets.pdm_closed.ego_box import box_centre, box_polygon
from world4scorer.engine.kernels import kernel
from world4scorer.engine.outcomes.traffic import HEADING, LENGTH, WIDTH, X, Y
from world4scorer.engine.rollout.angles import sine_cosine
from world4scorer.engine.scene.boxes import boxes_meet
from world4scorer.engine.scene.geometry import direction, wrap
from world4scorer.engine.scene.indices import DT, Box, TrackType
from world4scorer.engine.scene.vehicle import HALF_LENGTH, HALF_WIDTH

FORECAST_STEPS: Final = 51
FORECAST_RADIUS: Final = 100.0
"""Radius of observation around the ego's box centre [m]."""
MAX_AGENTS: Final = ((TrackType.VEHICLE, 50), (TrackType.PEDESTRIAN, 25), (TrackType.BICYCLE, 10))
"""Maximum number of agents by type, nearest first."""
MAX_STATIC_OBJECTS: Final = 50
FORECAST_TIMES: Final = (np.arange(FORECAST_STEPS) // 2 * 2) * DT
"""(S,) sampled time of each step [s]."""


@dataclass(frozen=True, eq=False)
class Forecast:
    """N objects: static ones, vehicles, pedestrians, bicycles, each by distance; and K red lights."""

    ids: tuple[str, ...]
    """N track tokens."""
    type: NDArray[np.int8]
    """(N,) codes of `TrackType`."""
    boxes: NDArray[np.float64]
    """(N, 7) columns of `Box`, now."""
    drift: NDArray[np.float64]
    """(N, 2) velocity of the forecast [m/s], along or against the heading."""
    relevant: NDArray[np.bool_]
    """(N,) False for objects that overlap the ego now, which the planner ignores."""
    red_lanes: tuple[int, ...]
    """K lane connectors of the corrected route that are red now."""
    relevant_red: NDArray[np.bool_]
    """(K,) False where the ego is already entirely inside the connector."""

    def at_steps(self) -> NDArray[np.float64]:
        """(relevant objects, S, 7) boxes over time, for the metrics."""
        out = np.repeat(self.boxes[self.relevant, None, :], FORECAST_STEPS, axis=1)
        out[:, :, [Box.X, Box.Y]] += FORECAST_TIMES[None, :, None] * self.drift[self.relevant, None, :]
        return out


def forecast(city: CityMap, frame: LogFrame, route_lanes: tuple[int, ...]) -> Forecast:
    """Forecast from one frame; `route_lanes` are those of the corrected route."""
    if frame.annotations is None:
        raise DatasetError(f"{frame.where}: no annotations (anns); private test logs cannot be prepared for scoring")
    poses, kinds, order = frame.global_boxes, frame.annotations.type, frame.order_by_type
    x, y = box_centre(frame.ego_pose)
    distance = np.sqrt((poses[:, 0] - x) ** 2 + (poses[:, 1] - y) ** 2)
    rows = _nearest(order[distance[order] <= FORECAST_RADIUS], kinds, distance)
    boxes = np.empty((len(rows), len(Box)))
    boxes[:, : Box.LENGTH] = poses[rows, :3]
    boxes[:, Box.LENGTH : Box.VELOCITY_X] = frame.annotations.boxes[rows, 3:5]
    boxes[:, Box.VELOCITY_X :] = poses[rows, 3:]
    on_route = set(route_lanes)
    lights = (city.lane_index.get(connector, -1) for connector, red in frame.traffic_lights if red)
    red = tuple(dict.fromkeys(lane for lane in lights if lane in on_route and lane in city.lanes_with_area))
    relevant_red = np.ones(len(red), np.bool_)
    if red:
        relevant_red = ~shapely.within(box_polygon(frame.ego_pose), city.lane_polygons[list(red)])
    return Forecast(
        ids=tuple(frame.annotations.track_tokens[i] for i in rows),
        type=kinds[rows],
        boxes=boxes,
        drift=_drift(boxes, kinds[rows]),
        relevant=~_overlap(boxes, x, y, float(frame.ego_pose[2])),
        red_lanes=red,
        relevant_red=relevant_red,
    )


def _nearest(rows: NDArray[np.int64], kinds: NDArray[np.int8], distance: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rows of the forecast objects, in the order of `Forecast.ids`."""
    chosen = [_sorted(rows[kinds[rows] >= TrackType.TRAFFIC_CONE], distance)[:MAX_STATIC_OBJECTS]]
    chosen += [_sorted(rows[kinds[rows] == kind], distance)[:most] for kind, most in MAX_AGENTS]
    return np.concatenate(chosen)


def _sorted(rows: NDArray[np.int64], distance: NDArray[np.float64]) -> NDArray[np.int64]:
    return rows[np.argsort(distance[rows], kind="stable")]


def _drift(boxes: NDArray[np.float64], kinds: NDArray[np.int8]) -> NDArray[np.float64]:
    vx, vy = boxes[:, Box.VELOCITY_X], boxes[:, Box.VELOCITY_Y]
    speed = np.hypot(vx, vy)
    heading = boxes[:, Box.HEADING]
    backwards = np.abs(wrap(heading - np.arctan2(vy, vx))) >= np.pi / 2
    heading = np.where(backwards, wrap(heading + np.pi), heading)
    drift = direction(heading) * speed[:, None]
    drift[kinds >= TrackType.TRAFFIC_CONE] = 0.0
    return drift


@kernel
def _overlap(boxes, x, y, heading):
    """(N,) which boxes meet the ego's, centre x, y, touching included."""
    out = np.empty(boxes.shape[0], np.bool_)
    sine, cosine = sine_cosine(heading)
    for n in range(boxes.shape[0]):
        s, c = sine_cosine(boxes[n, HEADING])
        out[n] = boxes_meet(
            x, y, cosine, sine, HALF_LENGTH, HALF_WIDTH,
            boxes[n, X], boxes[n, Y], c, s, 0.5 * boxes[n, LENGTH], 0.5 * boxes[n, WIDTH],
        )  # fmt: skip
    return out
