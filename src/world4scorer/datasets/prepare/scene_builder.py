"""Build a `Scene` from a window of frames and the map of its city.

Example::

    city = read_city_map("maps", "us-nv-las-vegas-strip")
    for scene in build_scenes(read_log(path), city, split.filter):
        print(scene.token, len(scene.tracks.ids))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.agent_input import future_poses
from world4scorer.datasets.navsim.city_map import CityMap
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.filters import SceneFilter, windows
from world4scorer.datasets.navsim.frames import LogFrame
from world4scorer.datasets.navsim.logs import Log
from world4scorer.datasets.navsim.map_files import LOCATIONS
from world4scorer.datasets.navsim.synthetic import SYNTHETIC_TOKEN_LENGTH
from world4scorer.datasets.pdm_closed.ego_box import box_centre
from world4scorer.datasets.pdm_closed.forecast import Forecast, forecast
from world4scorer.datasets.pdm_closed.paths import LateralPaths
from world4scorer.datasets.pdm_closed.planner import ReferencePlan, plan_reference
from world4scorer.datasets.prepare.centerline import centerline, find_lanes
from world4scorer.datasets.prepare.drivable import DrivableMap, cut_map, find_areas
from world4scorer.datasets.prepare.lights import light_states
from world4scorer.datasets.prepare.route import EgoBlock, Route, correct_route, load_route, locate, route_lanes
from world4scorer.datasets.prepare.starting_lane import starting_lane
from world4scorer.datasets.prepare.tracks import FRAMES_V2, interpolate_tracks
from world4scorer.datasets.prepare.traffic_lanes import far_areas, lanes_among
from world4scorer.engine.scene.checks import SceneError
from world4scorer.engine.scene.indices import LANE_LAYERS, PLAN_POSES, State
from world4scorer.engine.scene.packed import pack_map
from world4scorer.engine.scene.scene import Scene
from world4scorer.engine.scene.tracks import Lights

HISTORY_FRAMES: Final = 4
"""Frames of a window up to and including now."""
CACHE_SIZE: Final = 512
"""Cached routes and centrelines."""


@dataclass(frozen=True, eq=False)
class _FrameContext:
    """Intermediate results for one frame."""

    route: Route
    """The corrected route."""
    lanes: tuple[int, ...]
    """Its lanes."""
    starting_lane: int
    paths: LateralPaths
    forecast: Forecast
    drivable: DrivableMap
    lights: Lights
    plan: ReferencePlan


@dataclass(frozen=True, eq=False)
class BuiltScene(_FrameContext):
    """A scene and its intermediate results."""

    scene: Scene


class SceneBuilder:
    """Builds the scenes of one city; caches what neighbouring frames share, never a planner's state."""

    def __init__(self, city: CityMap) -> None:
        self.city = city
        self._correct = lru_cache(CACHE_SIZE)(self._correct_anew)
        self._paths = lru_cache(CACHE_SIZE)(self._paths_anew)

    def _correct_anew(self, route: Route, ego: EgoBlock) -> tuple[Route, tuple[int, ...]]:
        corrected = correct_route(self.city, route, ego)
        return corrected, route_lanes(self.city, corrected)

    def _paths_anew(self, start: int, route: Route, lanes: tuple[int, ...]) -> LateralPaths:
        return LateralPaths.from_centerline(centerline(self.city, find_lanes(self.city, start, route, lanes)))

    def prepare(self, frames: Sequence[LogFrame], history: int = HISTORY_FRAMES) -> BuiltScene:
        """Build the scene of frame `history - 1`; at least eight frames must follow it."""
        now = frames[history - 1]
        if len(frames) - history < FRAMES_V2 - 1:
            raise DatasetError(f"{now.where}: {len(frames) - history} frames follow, {FRAMES_V2 - 1} are needed")
        city, ahead = self.city, frames[history - 1 :]
        context = self._context(now, ahead)
        tracks, tracks_v2 = interpolate_tracks(ahead)
        past = frames[:history]
        synthetic = len(now.token) == SYNTHETIC_TOKEN_LENGTH  # has no human trajectory
        try:
            scene = Scene(
                token=now.token,
                log_name=now.log_name,
                time_us=now.time_us,
                ego_state=_state(now),
                centerline=context.paths.centerline,
                map=context.drivable.polygons,
                route_lane_ids=tuple(city.lanes[lane].id for lane in context.lanes),
                tracks=tracks,
                reference=context.plan.poses_v1,
                lights=context.lights,
                past_states=np.stack([_state(frame) for frame in past]),
                past_time_us=np.array([frame.time_us for frame in past]),
                human_future=None if synthetic else future_poses(tuple(frames), PLAN_POSES, history),
                tracks_v2=tracks_v2,
                reference_v2=None if context.plan.best_v1 == context.plan.best_v2 else context.plan.poses_v2,
                lanes=lanes_among(city, context.drivable.area),
            )
        except SceneError as error:
            raise DatasetError(f"{now.where}: {error}") from error
        return BuiltScene(**vars(context), scene=scene)

    def plan(self, now: LogFrame) -> ReferencePlan:
        """The reference plan of a frame; it needs neither past nor future."""
        return self._context(now, [now]).plan

    def _context(self, now: LogFrame, ahead: Sequence[LogFrame]) -> _FrameContext:
        """Intermediate results for a frame; `ahead` are the frames for traffic lights, the current one first."""
        city = self.city
        if now.map_location != city.location:
            raise DatasetError(f"{now.where}: drives in {now.map_location}, not in {city.location}")
        logged = load_route(city, now.roadblock_ids, now.where)
        route, lanes = self._correct(logged, locate(city, now.ego_pose, logged))
        if not lanes:
            raise DatasetError(f"{now.where}: no block of the route has lanes in the map of {city.location}")
        centre = box_centre(now.ego_pose)
        areas = find_areas(city, *centre)
        start = starting_lane(city, areas, lanes, now.ego_pose)
        paths = self._paths(start, route, lanes)
        seen = forecast(city, now, lanes)
        states = light_states(ahead, [city.lanes[lane].id for lane in route_lanes(city, logged)])
        signals = [city.lane_index[connector] for connector in states]
        far = far_areas(city, now, areas, *centre)
        drivable = cut_map(city, areas, dict.fromkeys([*signals, *seen.red_lanes]), far)
        plan = plan_reference(
            city,
            paths,
            city.lanes[start].speed_limit,
            _state(now),
            seen,
            pack_map(drivable.polygons, np.isin(drivable.area, lanes) & np.isin(drivable.polygons.layer, LANE_LAYERS)),
            np.array(
                [drivable.polygon_index[lane] for lane in seen.red_lanes if lane in drivable.polygon_index], np.int64
            ),
        )
        return _FrameContext(route, lanes, start, paths, seen, drivable, _lights(states, signals, drivable), plan)


@lru_cache(len(LOCATIONS))
def scene_builder(city: CityMap) -> SceneBuilder:
    """The cached scene builder of a city."""
    return SceneBuilder(city)


def build_scene(frames: Sequence[LogFrame], city: CityMap, history: int = HISTORY_FRAMES) -> Scene:
    """Build the scene of frame `history - 1` of a window."""
    return scene_builder(city).prepare(frames, history).scene


def build_scenes(
    log: Log, city: CityMap, scene_filter: SceneFilter, on_error: Callable[[str, DatasetError], None] | None = None
) -> Iterator[Scene]:
    """Build every scene of a log that passes a filter, in time order.

    A frame without a scene raises an error, or, with `on_error`, is reported (token, error) and skipped.
    """
    for window in windows(log, scene_filter, scene_filter.max_scenes):
        try:
            yield build_scene(window, city, scene_filter.num_history_frames)
        except DatasetError as error:
            if on_error is None:
                raise
            on_error(window[scene_filter.num_history_frames - 1].token, error)


def _state(frame: LogFrame) -> NDArray[np.float64]:
    """(11,) logged state of the ego; steering, yaw rate and yaw acceleration are not logged and count as 0."""
    state = np.zeros(len(State))
    state[[State.X, State.Y, State.HEADING]] = frame.ego_pose
    state[[State.VELOCITY_X, State.VELOCITY_Y]] = frame.velocity
    state[[State.ACCELERATION_X, State.ACCELERATION_Y]] = frame.acceleration
    return state


def _lights(states: dict[str, NDArray[np.int8]], lanes: Sequence[int], drivable: DrivableMap) -> Lights:
    """Traffic lights of the logged route whose connectors have an area in the map."""
    closing = [
        (drivable.polygon_index[lane], state)
        for lane, state in zip(lanes, states.values(), strict=True)
        if lane in drivable.polygon_index
    ]
    if not closing:
        return Lights.none()
    return Lights(
        polygon=np.array([polygon for polygon, _ in closing], np.int64),
        status=np.stack([state for _, state in closing]),
        on_route=np.ones(len(closing), np.bool_),
    )
