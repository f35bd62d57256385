"""Proposal generator of the reference planner: paths, corridors and obstacles.

Ties between equally near objects are broken by the order in which the official planner's spatial index finds them.
That order is costly and rarely matters, so it is computed only after a run in which it would have.

Shapes: L = 3 paths, N objects, K red lights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from world4scorer.datasets.navsim.city_map import NODE_CAPACITY, CityMap
from world4scorer.datasets.pdm_closed.contact import Outlines, outlines, outlines_of
from world4scorer.datasets.pdm_closed.forecast import FORECAST_STEPS, Forecast
from world4scorer.datasets.pdm_closed.idm import (
    DEFAULT_SPEED_LIMIT,
    SPEED_SHARES,
    Proposals,
    empty_proposals,
    extend,
    propose,
)
from world4scorer.datasets.pdm_closed.leading_object import Obstacles
from world4scorer.datasets.pdm_closed.paths import LateralPaths
from world4scorer.engine.scene.geometry import box_corners
from world4scorer.engine.scene.indices import DT, Box, State, TrackType

NO_OUTLINES: Final = outlines(np.zeros(0, object))


def target_speeds(limit: float | None) -> NDArray[np.float64]:
    """(5,) m/s, for a speed limit [m/s] or none."""
    return np.array(SPEED_SHARES) * (DEFAULT_SPEED_LIMIT if limit is None else limit)


@dataclass(frozen=True, eq=False)
class ProposalGenerator:
    """Inputs of the `idm` kernels."""

    paths: LateralPaths
    start: NDArray[np.float64]
    """(L,) progress of the ego along each path [m]."""
    speed: float
    """m/s"""
    targets: NDArray[np.float64]
    """(5,) m/s"""
    obstacles: Obstacles
    """Objects and red lights."""
    areas: NDArray[np.object_]
    """(L,) corridors, as shapely polygons."""
    corridors: Outlines
    """The same for kernels."""
    met: NDArray[np.bool_]
    """(L, K) which relevant red areas meet the corridors."""
    city: CityMap
    forecast: Forecast

    @classmethod
    def of(
        cls, city: CityMap, paths: LateralPaths, limit: float | None, ego_state: NDArray[np.float64], forecast: Forecast
    ) -> ProposalGenerator:
        """The generator for an ego at `ego_state` (11,)."""
        targets = target_speeds(limit)
        start = paths.project(float(ego_state[State.X]), float(ego_state[State.Y]))
        areas = paths.corridors(start, float(targets.max()) * (FORECAST_STEPS - 1) * DT)
        closed = np.array(forecast.red_lanes, np.int64)[forecast.relevant_red]
        met = shapely.intersects(areas[:, None], city.lane_polygons[closed][None, :])
        return cls(
            paths,
            start,
            float(ego_state[State.VELOCITY_X]),
            targets,
            _obstacles(city, forecast, closed),
            areas,
            outlines(areas),
            met,
            city,
            forecast,
        )

    def propose(self) -> Proposals:
        """All proposals, 41 steps."""
        out = empty_proposals(len(self.areas))
        self._run(propose, out, self.start, self.speed)
        return out

    def extend(self, out: Proposals, chosen: int) -> None:
        """The last ten steps of a proposal."""
        self._run(extend, out, chosen)

    def _run(self, kernel: Callable[..., bool], *arguments: Any) -> None:
        """Run a kernel, and again with the order of the index where that matters."""
        any_order = np.zeros((len(self.areas), FORECAST_STEPS // 2 + 1, self.obstacles.x.size), np.int64)
        if self._run_ranked(kernel, any_order, *arguments):
            self._run_ranked(kernel, self._index_order(), *arguments)

    def _run_ranked(self, kernel: Callable[..., bool], rank: NDArray[np.int64], *arguments: Any) -> bool:
        paths = self.paths
        given = (paths.poses, paths.progress, paths.bounds, self.targets, self.obstacles, self.corridors, self.met)
        return kernel(*given, rank, *arguments)

    def _index_order(self) -> NDArray[np.int64]:
        """(L, 26, N + K) rank of each relevant obstacle in the official index's results for the corridors."""
        forecast = self.forecast
        names = np.concatenate(
            [np.flatnonzero(forecast.relevant), len(forecast.ids) + np.flatnonzero(forecast.relevant_red)]
        )
        index = {int(full): relevant for relevant, full in enumerate(names)}
        red = self.city.lane_polygons[list(forecast.red_lanes)]
        rank = np.zeros((len(self.areas), FORECAST_STEPS // 2 + 1, len(names)), np.int64)
        for pair in range(rank.shape[1]):
            tree = shapely.STRtree(np.concatenate([_box_polygons(forecast, 2 * pair), red]), NODE_CAPACITY)
            for path, area in enumerate(self.areas):
                for position, full in enumerate(tree.query(area, predicate="intersects")):
                    if int(full) in index:
                        rank[path, pair, index[int(full)]] = position
        return rank


def _obstacles(city: CityMap, forecast: Forecast, closed: NDArray[np.int64]) -> Obstacles:
    boxes, drift = forecast.boxes[forecast.relevant], forecast.drift[forecast.relevant]
    agents = forecast.type[forecast.relevant] < TrackType.TRAFFIC_CONE
    centres = shapely.get_coordinates(shapely.centroid(city.lane_polygons[closed]))
    still = np.zeros(len(closed))
    heading = boxes[:, Box.HEADING]
    return Obstacles(
        x=np.concatenate([boxes[:, Box.X], centres[:, 0]]),
        y=np.concatenate([boxes[:, Box.Y], centres[:, 1]]),
        drift_x=np.concatenate([drift[:, 0], still]),
        drift_y=np.concatenate([drift[:, 1], still]),
        heading=np.ascontiguousarray(heading),
        cosine=np.cos(heading),
        sine=np.sin(heading),
        half_length=0.5 * boxes[:, Box.LENGTH],
        half_width=0.5 * boxes[:, Box.WIDTH],
        speed=np.where(agents, np.hypot(boxes[:, Box.VELOCITY_X], boxes[:, Box.VELOCITY_Y]), 0.0),
        areas=outlines_of(*city.areas.gather(closed), len(closed)) if len(closed) else NO_OUTLINES,
    )


def _box_polygons(forecast: Forecast, step: int) -> NDArray[np.object_]:
    """(N,) all boxes of the forecast at a step."""
    centre = forecast.boxes[:, : Box.HEADING] + step * DT * forecast.drift
    half_length, half_width = forecast.boxes[:, Box.LENGTH] / 2, forecast.boxes[:, Box.WIDTH] / 2
    poses = np.column_stack([centre, forecast.boxes[:, Box.HEADING]])
    return np.asarray(shapely.polygons(box_corners(poses, half_length, half_length, half_width)))
