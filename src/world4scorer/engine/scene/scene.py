"""`Scene`: the inputs of one planning decision as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.checks import SceneError, as_array
from world4scorer.engine.scene.indices import LANE_LAYERS, PLAN_POSES, STEPS, Light, State
from world4scorer.engine.scene.lanes import Lanes
from world4scorer.engine.scene.map import PolygonMap
from world4scorer.engine.scene.packed import MapArrays, pack_map
from world4scorer.engine.scene.tracks import Lights, Tracks
from world4scorer.jobs.names import safe_name

MAX_TIME_US: Final = 1 << 53
"""Maximum time stamp [us], exact as a float64: the year 2255."""
MAX_PAST_US: Final = 60_000_000


@dataclass(frozen=True, eq=False)
class Scene:
    """One frame of a log: the ego, its surroundings, and the traffic of the next seconds.

    Everything is in one global metric frame (float64). Construction checks every field and raises a `SceneError`
    that names the field and the token. Arrays are never copied unless their type or layout must change.
    """

    token: str
    """Unique token in the dataset."""
    log_name: str
    """Log of the scene; re-ranking resets at a new one."""
    time_us: int
    """Time stamp of now [us]."""
    ego_state: NDArray[np.float64]
    """(11,) columns of `State`."""
    centerline: NDArray[np.float64]
    """(C, 3) x, y [m] and heading [rad] along the route; metrics read x and y only. Points may repeat."""
    map: PolygonMap
    """Lanes, connectors, intersections and other areas as polygons."""
    route_lane_ids: tuple[str, ...]
    """Lanes and lane connectors of the route."""
    tracks: Tracks
    """Replayed traffic, 51 steps (41 are enough for the v2 metrics)."""
    reference: NDArray[np.float64]
    """(R, 3) global rear-axle poses of the reference planner every 0.1 s from now, R >= 41."""
    lights: Lights = field(default_factory=Lights.none)
    """States of traffic lights, every 0.1 s."""
    past_states: NDArray[np.float64] | None = None
    """(H, 11) the ego's recorded past, oldest first, up to now; without it history comfort is 1."""
    past_time_us: NDArray[np.int64] | None = None
    """(H,) time stamps of `past_states` [us], rising."""
    human_future: NDArray[np.float64] | None = None
    """(8, 3) the human trajectory as a plan; without it the human filter does nothing."""
    tracks_v2: Tracks | None = None
    """The 41-step traffic of the v2 metrics where it differs from the first steps of `tracks`."""
    reference_v2: NDArray[np.float64] | None = None
    """The reference of the v2 metrics where it differs from `reference`."""
    lanes: Lanes | None = None
    """Lanes around the ego as lines; without them there is no reactive traffic."""

    def __repr__(self) -> str:
        return (
            f"Scene({self.token!r}, log {self.log_name!r}, {len(self.tracks.ids)} tracks, "
            f"{len(self.map.ids)} map polygons, {len(self.lights.polygon)} lights)"
        )

    def __post_init__(self) -> None:
        try:
            self._check()
        except SceneError as error:
            raise SceneError(f"scene {self.token!r}: {error}") from error

    def _check(self) -> None:
        put = object.__setattr__
        for name in ("token", "log_name"):
            safe_name(name, getattr(self, name), SceneError)
        put(self, "time_us", int(self.time_us))
        if not 0 <= self.time_us < MAX_TIME_US:
            raise SceneError(f"time_us: {self.time_us} is no time stamp in microseconds")
        put(self, "ego_state", as_array("ego_state", self.ego_state, np.float64, (len(State),)))
        put(self, "centerline", as_array("centerline", self.centerline, np.float64, ("C", 3)))
        if len(self.centerline) < 2:
            raise SceneError(f"centerline: {len(self.centerline)} points; at least two are needed")
        put(self, "route_lane_ids", tuple(str(i) for i in self.route_lane_ids))
        for name in ("reference", "reference_v2"):
            poses = getattr(self, name)
            if poses is None:
                continue
            put(self, name, as_array(name, poses, np.float64, ("R", 3)))
            if len(poses) < STEPS:
                raise SceneError(f"{name}: {len(poses)} poses of 0.1 s; at least {STEPS} are needed")
        if self.human_future is not None:
            put(self, "human_future", as_array("human_future", self.human_future, np.float64, (PLAN_POSES, 3)))
        self._check_past()
        self._check_lights()

    def _check_past(self) -> None:
        if (self.past_states is None) != (self.past_time_us is None):
            raise SceneError("past_states and past_time_us: give both or neither")
        if self.past_states is None:
            return
        states = as_array("past_states", self.past_states, np.float64, ("H", len(State)))
        times = as_array("past_time_us", self.past_time_us, np.int64, (len(states),))
        if len(times) < 2 or (np.diff(times) <= 0).any():
            raise SceneError("past_time_us: at least two rising time stamps are needed")
        if times[-1] - times[0] > MAX_PAST_US:
            raise SceneError(f"past_time_us: spans {(times[-1] - times[0]) * 1e-6:g} s; a minute at the most is used")
        object.__setattr__(self, "past_states", states)
        object.__setattr__(self, "past_time_us", times)

    def _check_lights(self) -> None:
        lights = self.lights
        if (lights.polygon < -1).any() or (lights.polygon >= len(self.map.ids)).any():
            raise SceneError(f"lights.polygon: entries must lie in -1..{len(self.map.ids) - 1}")
        nowhere = (lights.polygon < 0) & lights.on_route & (lights.status == Light.RED).any(axis=1)
        if nowhere.any():
            raise SceneError(
                f"lights.polygon: light {int(np.argmax(nowhere))} on the route turns red without a polygon"
            )

    @cached_property
    def on_route(self) -> NDArray[np.bool_]:
        """(P,) which map polygons are lanes or connectors of the route."""
        route = set(self.route_lane_ids)
        named = np.fromiter((i in route for i in self.map.ids), np.bool_, len(self.map.ids))
        return named & np.isin(self.map.layer, LANE_LAYERS)

    @cached_property
    def packed_map(self) -> MapArrays:
        """The map as flat arrays for kernels."""
        return pack_map(self.map, self.on_route)
