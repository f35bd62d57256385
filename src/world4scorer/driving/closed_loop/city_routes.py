"""Closed-loop routes through a city, with staged events. Deterministic for a city and a seed.

A route follows the path of SUMO's driver in undisturbed traffic, lane changes included, as routes of CARLA's
leaderboard follow its planner. Some have a staged event: a pedestrian, a stopped vehicle, a cut-in.

>>> for route in find_routes(Path("city"), "city_test", count=40):
...     print(route.name, route.scenario, route.route)
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.places import PLACES
from world4scorer.city.streets.street_map import Lane, LaneUse, StreetMap, read_streets
from world4scorer.city.world.commands import RouteReader
from world4scorer.city.world.config import CityConfig
from world4scorer.city.world.episode import HISTORY_FRAMES, EgoState, EpisodeStart
from world4scorer.city.world.events import Event, EventKind
from world4scorer.city.world.expert import ExpertDrive, expert_drive
from world4scorer.city.world.global_plan import OPTION_OF
from world4scorer.city.world.manifest import SimulationEntry, read_config, read_manifest, read_simulation
from world4scorer.city.world.recording import STEPS_PER_FRAME, record
from world4scorer.city.world.segments import edge_lengths, valid_frames
from world4scorer.city.world.situations import Situations, find_situations, frame_rows, signal_links
from world4scorer.city.world.traffic import TIME_STEP
from world4scorer.driving.closed_loop.static_world import StaticWorld, ego_corners
from world4scorer.engine.routes.commands import CommandTracker, RoadOption, sparse_nodes
from world4scorer.engine.routes.route import Route
from world4scorer.engine.scene.geometry import arc_length
from world4scorer.jobs.data_folder import DataFolder

SCENARIOS: Final = ("signal", "left-turn", "right-turn", "pedestrian", "stopped-vehicle", "cut-in", "lane-change")
"""Scenario types, assigned round-robin while candidates last."""
YIELD: Final = "yield"
"""Scenario type of suites alone: the ego gives way at a junction."""
MIN_ROUTE_LENGTH, MAX_ROUTE_LENGTH = 110.0, 260.0
"""Shortest and longest route [m]."""
MAX_EXPERT_WAIT: Final = 40.0
"""Longest standstill of SUMO's driver [s]; a longer one would count as blocked."""
MAX_EXPERT_DURATION: Final = 110.0
"""Longest drive of SUMO's driver [s]."""
MIN_BEFORE_EVENT: Final = 45.0
"""Route before a staged event [m]."""
MIN_AFTER_EVENT: Final = 30.0
"""Route after a staged event [m]."""
MIN_EVENT_SPEED: Final = 4.5
"""Speed of SUMO's driver at a staged event [m/s]; in a queue an event would mean little."""
LANE_END_MARGIN: Final = 12.0
"""Distance of a staged event from both ends of its lane [m]."""
CUT_IN_LANE_LENGTH: Final = 45.0
"""Lane length required after a cut-in [m]: both vehicles drive on until then."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CityRoute:
    """A route and the state it starts from."""

    name: str
    simulation: str
    place: str
    scenario: str
    """One of `SCENARIOS`."""
    start: EpisodeStart
    points: Floats
    """(n, 2) rear-axle positions, global [m]."""
    options: tuple[int, ...]
    """`RoadOption` codes, n of them."""
    seconds: float
    """Duration of SUMO's drive in undisturbed traffic."""
    event_distances: tuple[float, ...]
    """Distance along the route of each staged event [m]."""

    def __str__(self) -> str:
        return self.name

    @cached_property
    def route(self) -> Route:
        """The polyline."""
        return Route(self.points)

    def command_keeper(self) -> CommandTracker:
        """Command keeper at the start of the route."""
        return CommandTracker(*sparse_nodes(self.points, self.options))


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A recorded drive that can become a route, in one or more scenarios."""

    expert: ExpertDrive
    situations: Situations
    first: int
    last: int
    """Rows of the drive."""
    places: dict[str, Event | None]
    """Possible scenarios, with their staged events."""


def find_routes(root: Path, split: str, count: int, seed: int = 0, simulations: int = 0) -> list[CityRoute]:
    """`count` routes of a split, round-robin over scenarios and spread over simulations; raises if there are fewer.

    All simulations of the split are looked at, or `simulations` of them, drawn by seed.
    """
    manifest = read_manifest(root)
    config = read_config(manifest)
    entries = [read_simulation(root, name) for name in manifest.get("simulations", ())]
    entries = [entry for entry in entries if entry.split == split]
    if not entries:
        known = sorted({share.split for share in config.shares})
        raise CityError(f"{root}: no simulation of the split {split!r}; there are {', '.join(known)}")
    rng = np.random.default_rng([seed, 9])
    if 0 < simulations < len(entries):
        entries = [entries[index] for index in sorted(rng.permutation(len(entries))[:simulations])]
    found = {entry.name: list(_candidates(root, entry, config, rng)) for entry in entries}
    chosen = _choose(found, count, rng)
    if len(chosen) < count:
        raise CityError(f"{root}: {len(chosen)} routes in the split {split!r}, {count} wanted; ask for fewer")
    by_name = {entry.name: entry for entry in entries}
    return [_route(root, by_name[name], config, one, scenario) for name, one, scenario in chosen]


def _choose(
    found: dict[str, list[_Candidate]], count: int, rng: np.random.Generator
) -> list[tuple[str, _Candidate, str]]:
    """Round-robin over scenarios, each time from the simulation with the fewest routes so far."""
    left = {name: [some[i] for i in rng.permutation(len(some))] for name, some in found.items()}
    taken = dict.fromkeys(left, 0)
    chosen: list[tuple[str, _Candidate, str]] = []
    turn = missed = 0
    while len(chosen) < count and missed < len(SCENARIOS):
        scenario = SCENARIOS[turn % len(SCENARIOS)]
        turn += 1
        for name in sorted(left, key=lambda name: (taken[name], name)):
            one = next((one for one in left[name] if scenario in one.places), None)
            if one is not None:
                left[name].remove(one)
                taken[name] += 1
                chosen.append((name, one, scenario))
                missed = 0
                break
        else:
            missed += 1
    return chosen


def routes_of_simulation(root: Path, name: str, seed: int) -> list[dict[str, CityRoute]]:
    """All routes of a simulation: for each drive that can become one, its routes by scenario."""
    entry, config = read_simulation(root, name), read_config(read_manifest(root))
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    found = list(_candidates(root, entry, config, rng))
    return [{kind: _route(root, entry, config, one, kind) for kind in one.places} for one in found]


def _candidates(
    root: Path, entry: SimulationEntry, config: CityConfig, rng: np.random.Generator
) -> Iterator[_Candidate]:
    place = PLACES[entry.place]
    folder = DataFolder(root)
    network = folder.city_network(place.network.name)
    streets, _ = _streets(network)
    recording = record(network, folder.city_trips(entry.name), entry.seed, config.warm_up, config.duration)
    links, lengths, static_world = signal_links(streets), edge_lengths(streets), _static_world(network, config.seed)
    for drive in recording.drives:
        expert = expert_drive(drive)
        rows = frame_rows(expert)
        if len(rows) < HISTORY_FRAMES:
            continue
        valid = valid_frames(expert, place, streets, lengths)
        begin = next(
            (f for f in range(HISTORY_FRAMES - 1, len(rows)) if valid[f - HISTORY_FRAMES + 1 : f + 1].all()), None
        )
        if begin is None:
            continue
        first, last = int(rows[begin]), int(rows[np.flatnonzero(valid)[-1]])
        last = min(last, int(np.searchsorted(expert.travelled, expert.travelled[first] + MAX_ROUTE_LENGTH)))
        if expert.travelled[last] - expert.travelled[first] < MIN_ROUTE_LENGTH or _waits_long(expert, first, last):
            continue
        situations = find_situations(expert, recording, streets, links)
        if situations.touching[begin : int(np.searchsorted(rows, last)) + 1].any():
            continue  # SUMO's own driver collided there
        if any(static_world.collides(ego_corners(expert.pose[row])) for row in range(first, last + 1)):
            continue  # or hit a static object close to a lane
        places = _scenarios_of(expert, situations, first, last, streets, rng)
        yield _Candidate(expert, situations, first, last, places)


@lru_cache(4)  # towns take seconds to read, and every route of one asks for it
def _streets(network: Path) -> tuple[StreetMap, RouteReader]:
    streets = read_streets(network)
    return streets, RouteReader(streets)


@lru_cache(4)
def _static_world(network: Path, seed: int) -> StaticWorld:
    return StaticWorld(_streets(network)[0], seed)


def _waits_long(expert: ExpertDrive, first: int, last: int) -> bool:
    standing = np.concatenate([[0], expert.speed[first : last + 1] < 0.1, [0]]).astype(int)
    edges = np.flatnonzero(np.diff(standing))
    longest = max((edges[1::2] - edges[::2]).tolist(), default=0) * TIME_STEP
    return longest > MAX_EXPERT_WAIT or (last - first) * TIME_STEP > MAX_EXPERT_DURATION


def _scenarios_of(
    expert: ExpertDrive, situations: Situations, first: int, last: int, streets: StreetMap, rng: np.random.Generator
) -> dict[str, Event | None]:
    """Scenarios possible on a drive, with their staged events."""
    rows = frame_rows(expert)
    inside = (rows >= first) & (rows <= last - 20)
    flags = {
        "signal": situations.red_light,
        "left-turn": situations.left_turn,
        "right-turn": situations.right_turn,
        "lane-change": situations.lane_change,
        YIELD: situations.yielding,
    }
    places: dict[str, Event | None] = {name: None for name, flag in flags.items() if (flag & inside).any()}
    way = expert.travelled - expert.travelled[first]
    fits = (way >= MIN_BEFORE_EVENT) & (way <= way[last] - MIN_AFTER_EVENT) & (expert.speed > MIN_EVENT_SPEED)
    staged = [
        row for row in np.flatnonzero(fits).tolist() if first < row < last and _on_open_lane(expert, row, streets)
    ]
    if staged:
        row = staged[int(rng.integers(len(staged)))]
        places["pedestrian"] = _event(EventKind.PEDESTRIAN, expert, row, streets, -1 if rng.random() < 0.7 else 1)
        places["stopped-vehicle"] = _event(EventKind.STOPPED_VEHICLE, expert, row, streets)
    roomy = [row for row in staged if _on_open_lane(expert, row, streets, CUT_IN_LANE_LENGTH)]
    beside = [(row, side) for row in roomy for side in (1, -1) if _has_neighbour(expert, row, side, streets)]
    if beside:
        row, side = beside[int(rng.integers(len(beside)))]
        places["cut-in"] = _event(EventKind.CUT_IN, expert, row, streets, side)
    return places


def _position(expert: ExpertDrive, row: int, lane: Lane) -> float:
    """Front bumper position along a lane [m]."""
    along = arc_length(lane.shape)
    grid = np.arange(0.0, along[-1], 0.5)
    points = np.column_stack([np.interp(grid, along, lane.shape[:, axis]) for axis in (0, 1)])
    return float(grid[np.argmin(np.linalg.norm(points - expert.drive.front[row], axis=1))])


def _on_open_lane(expert: ExpertDrive, row: int, streets: StreetMap, left: float = LANE_END_MARGIN) -> bool:
    """Whether the lane continues for `left` metres at a row of a drive."""
    lane = streets.lanes.get(expert.drive.lane[row])
    if lane is None or lane.internal or lane.use is not LaneUse.DRIVE:
        return False
    length = float(np.linalg.norm(np.diff(lane.shape, axis=0), axis=1).sum())
    return LANE_END_MARGIN < _position(expert, row, lane) < length - left


def _has_neighbour(expert: ExpertDrive, row: int, side: int, streets: StreetMap) -> bool:
    lane = streets.lanes[expert.drive.lane[row]]
    other = streets.lanes.get(f"{lane.edge}_{lane.index + side}")  # SUMO's names of lanes
    return other is not None and other.use is LaneUse.DRIVE


def _event(kind: EventKind, expert: ExpertDrive, row: int, streets: StreetMap, side: int = -1) -> Event:
    lane = streets.lanes[expert.drive.lane[row]]
    route = expert.drive.route
    return Event(kind, lane.id, _position(expert, row, lane), route[route.index(lane.edge) :], side)


def _route(root: Path, entry: SimulationEntry, config: CityConfig, one: _Candidate, scenario: str) -> CityRoute:
    streets, reader = _streets(DataFolder(root).city_network(PLACES[entry.place].network.name))
    expert, drive, first = one.expert, one.expert.drive, one.first
    name = f"{entry.name}_{drive.name}_{drive.first_step + first:05d}"
    event = one.places[scenario]
    edge = next(edge for lane in drive.lane[first:] if (edge := reader.edge_of(lane, drive.route)) is not None)
    past = tuple(
        EgoState(
            step=drive.first_step + row,
            pose=expert.pose[row].copy(),
            velocity=np.array([expert.speed[row], 0.0]),
            acceleration=expert.acceleration[row].copy(),
            command=reader.command_at(drive.route, expert.pose[row]),
        )
        for row in range(first - STEPS_PER_FRAME * (HISTORY_FRAMES - 1), first + 1, STEPS_PER_FRAME)
    )
    points, options = _route_points(expert, one.first, one.last, streets)
    return CityRoute(
        name=name,
        simulation=entry.name,
        place=entry.place,
        scenario=scenario,
        start=EpisodeStart(
            name=name,
            vehicle=drive.name,
            route=drive.route[drive.route.index(edge) :],
            weather_seed=zlib.crc32(f"{config.seed}/{name}".encode()),
            past=past,
            events=() if event is None else (event,),
        ),
        points=points + streets.offset,
        options=options,
        seconds=(one.last - one.first) * TIME_STEP,
        event_distances=() if event is None else (_event_distance(points, event, streets),),
    )


def _route_points(expert: ExpertDrive, first: int, last: int, streets: StreetMap) -> tuple[Floats, tuple[int, ...]]:
    """Distinct points of a drive and the road option at each."""
    turn_of = {piece: way.turn for way in streets.connections for piece in way.via}
    rows = [first]
    for row in range(first + 1, last + 1):
        if np.linalg.norm(expert.pose[row, :2] - expert.pose[rows[-1], :2]) > 0.2:
            rows.append(row)
    options = []
    for row in rows:
        turn = turn_of.get(expert.drive.lane[row])
        options.append(int(RoadOption.LANE_FOLLOW if turn is None else OPTION_OF.get(turn, RoadOption.STRAIGHT)))
    return expert.pose[rows, :2].copy(), tuple(options)


def _event_distance(points: Floats, event: Event, streets: StreetMap) -> float:
    """Distance of a staged event along the route [m]."""
    shape = streets.lanes[event.lane].shape
    along = arc_length(shape)
    place = np.array([np.interp(event.position, along, shape[:, axis]) for axis in (0, 1)])
    route = Route(points)
    return float(route.distance[np.argmin(np.linalg.norm(route.points - place, axis=1))])
