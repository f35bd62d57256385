"""The referee on drives made up for the purpose: every rule by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from world4scorer.city.streets.street_map import SignalLink
from world4scorer.city.world.episode import EpisodeStart
from world4scorer.city.world.events import Event, EventKind
from world4scorer.driving.closed_loop.city_routes import CityRoute
from world4scorer.driving.closed_loop.infraction_monitor import InfractionMonitor, SurroundingAgents, TerminationRules
from world4scorer.driving.closed_loop.static_world import StopLines
from world4scorer.engine.scene.indices import State, TrackType
from world4scorer.evaluation.leaderboard.infractions import Infraction

POINTS = np.column_stack([np.arange(101.0), np.zeros(101)])
NOBODY = SurroundingAgents([], np.zeros(0, np.int8), np.zeros((0, 2)), np.zeros((0, 3)), np.zeros(0), {"s": "G"})
LINE = StopLines(
    np.array([[50.0, 0.0]]), np.array([[1.0, 0.0]]), np.array([1.6]), ("in",), ({"out": SignalLink("s", 0)},)
)


class Plain:
    """Ground without anything on it: a road from y = -5 to 5, and a wall at y = 8."""

    offset = np.zeros(2)
    stop_lines = LINE

    def outside(self, place: NDArray[np.float64], heading: float) -> bool:
        return bool(abs(place[1]) > 5)

    def collides(self, corners: NDArray[np.float64]) -> bool:
        return bool((corners[:, 1] > 8).any())


def route(*events: tuple[EventKind, float]) -> CityRoute:
    staged = tuple(Event(kind, "in_0", 0.0, ("in", "out")) for kind, _ in events)
    start = EpisodeStart("r", "v", ("in", "out"), 0, (), staged)
    options = (4,) * len(POINTS)
    places = tuple(place for _, place in events)
    return CityRoute("r", "sim_000", "ingolstadt", "signal", start, POINTS, options, 10.0, places)


def state(x: float, y: float = 0.0, speed: float = 10.0, heading: float = 0.0) -> NDArray[np.float64]:
    made = np.zeros(len(State))
    made[[State.X, State.Y, State.HEADING, State.VELOCITY_X]] = x, y, heading, speed
    return made


def drive(
    watch: InfractionMonitor,
    states: Sequence[NDArray[np.float64]],
    others: SurroundingAgents = NOBODY,
    met: Sequence[bool] = (),
) -> InfractionMonitor:
    for before, now in pairwise(states):
        if watch.end is None:
            watch.step(before, now, others, False, met)
    return watch


def monitor(one: CityRoute | None = None, rules: TerminationRules | None = None) -> InfractionMonitor:
    return InfractionMonitor(one or route(), Plain(), rules)  # type: ignore[arg-type]


def others(x: float, y: float, kind: TrackType = TrackType.VEHICLE, speed: float = 3.0) -> SurroundingAgents:
    return SurroundingAgents(
        ["a"], np.array([kind], np.int8), np.array([[4.0, 2.0]]), np.array([[x, y, 0.0]]), np.array([speed]), {"s": "G"}
    )


WHOLE_WAY = [state(float(x)) for x in range(101)]


def kinds(watch: InfractionMonitor) -> list[Infraction]:
    return [event.kind for event in watch.infractions if event.kind is not Infraction.SLOW]


def test_a_drive_without_a_fault_is_perfect() -> None:
    record = drive(monitor(), WHOLE_WAY).record(1.0)
    assert record.status == "Perfect" and record.scores is not None
    assert (record.scores.completion, record.scores.penalty, record.scores.composed) == (100.0, 1.0, 100.0)
    assert record.duration_game == pytest.approx(9.8)  # two metres before the end is the end
    assert record.route_length == 100.0


def test_a_collision_counts_once_for_each_whom_it_is_with() -> None:
    watch = drive(monitor(), WHOLE_WAY, others(40.0, 0.0))
    assert kinds(watch) == [Infraction.VEHICLE_COLLISION]
    record = watch.record(0.0)
    assert record.status == "Completed" and record.scores is not None and record.scores.composed == pytest.approx(60.0)
    assert "in front, at 10.0 m/s, the other at 3.0 m/s" in record.messages(Infraction.VEHICLE_COLLISION)[0]


@pytest.mark.parametrize(
    ("kind", "factor"), [(TrackType.PEDESTRIAN, 50.0), (TrackType.BICYCLE, 60.0), (TrackType.VEHICLE, 60.0)]
)
def test_whom_a_collision_is_with(kind: TrackType, factor: float) -> None:
    record = drive(monitor(), WHOLE_WAY, others(40.0, 0.0, kind)).record(0.0)
    assert record.scores is not None and record.scores.composed == pytest.approx(factor)


def test_who_drives_into_a_standing_ego_is_not_its_doing() -> None:
    standing = [state(0.0, speed=0.0)] * 5
    assert kinds(drive(monitor(), standing, others(-3.0, 0.0))) == []
    assert kinds(drive(monitor(), [state(0.0, speed=0.2)] * 5, others(-3.0, 0.0))) == [Infraction.VEHICLE_COLLISION]


def test_beside_is_no_collision() -> None:
    """Half widths of 1.149 and 1 m: they touch at 2.149 m."""
    assert kinds(drive(monitor(), WHOLE_WAY, others(40.0, 2.2))) == []
    assert kinds(drive(monitor(), WHOLE_WAY, others(40.0, 2.1))) == [Infraction.VEHICLE_COLLISION]


@pytest.mark.parametrize(("shown", "faults"), [("r", 1), ("u", 1), ("y", 0), ("G", 0), ("g", 0)])
def test_red_lights(shown: str, faults: int) -> None:
    watch = drive(monitor(), WHOLE_WAY, replace(NOBODY, signals={"s": shown}))
    assert kinds(watch) == [Infraction.RED_LIGHT] * faults
    if faults:  # the bumper is 4.049 m ahead of the rear axle: it crosses 50 m on the way to the 46th
        assert watch.infractions[[o.kind for o in watch.infractions].index(Infraction.RED_LIGHT)].place == (46.0, 0.0)


def test_a_line_is_only_crossed_on_its_own_lane() -> None:
    aside = [state(float(x), y=2.0) for x in range(101)]
    assert kinds(drive(monitor(), aside, replace(NOBODY, signals={"s": "r"}))) == []


def test_outside_the_lanes_costs_its_share() -> None:
    """25 of 98 m."""
    way = [state(float(x), y=6.0 if 20 < x <= 45 else 0.0) for x in range(101)]
    jumps = 2 * (np.hypot(1.0, 6.0) - 1.0)  # aside and back again
    record = drive(monitor(), way).record(0.0)
    share = (24 + np.hypot(1.0, 6.0)) / (98 + jumps)
    assert record.scores is not None and record.scores.penalty == pytest.approx(1 - share)
    assert record.status == "Completed"


def test_walls() -> None:
    way = [state(float(x), y=7.5 if x in (10, 11, 50) else 0.0) for x in range(101)]
    assert kinds(drive(monitor(), way)) == [Infraction.LAYOUT_COLLISION] * 2


def test_leaving_the_route_ends_the_drive() -> None:
    away = [state(10.0, y=float(y)) for y in range(40)]
    watch = drive(monitor(rules=TerminationRules(off_road_time=100.0)), away)
    assert watch.end == "Failed - Agent deviated from the route" and Infraction.DEVIATION in kinds(watch)
    assert watch.time == pytest.approx(3.1)


def test_leaving_the_road_ends_the_drive() -> None:
    watch = monitor()
    for _ in range(30):
        if watch.end is None:
            watch.step(state(20.0), state(20.0), NOBODY, True, ())
    assert watch.end == "Failed - Agent deviated from the route"
    assert watch.time == pytest.approx(2.1)


def test_standing_for_a_minute_is_blocked() -> None:
    watch = drive(monitor(), [state(10.0, speed=0.05)] * 700)
    assert watch.end == "Failed - Agent got blocked" and watch.time == pytest.approx(60.1)
    record = watch.record(0.0)
    assert record.scores is not None and record.scores.completion == pytest.approx(10.0)


def test_moving_now_and_then_is_not() -> None:
    way = [state(10.0, speed=0.05)] * 400 + [state(10.0, speed=0.5)] + [state(10.0, speed=0.05)] * 400
    assert drive(monitor(), way).end is None


def test_the_time_is_limited() -> None:
    watch = drive(monitor(rules=TerminationRules(time_limit=5.0)), [state(10.0, speed=1.0)] * 100)
    assert watch.end == "Failed - Agent timed out" and watch.time == pytest.approx(5.0)


def test_what_is_staged_must_be_passed_in_time() -> None:
    staged = route((EventKind.STOPPED_VEHICLE, 60.0))
    waiting = [state(50.0, speed=0.2)] * 500
    late = drive(monitor(staged), waiting, met=(True,))
    assert kinds(late) == [Infraction.SCENARIO_TIMEOUT]
    assert kinds(drive(monitor(staged), waiting, met=(False,))) == []


def test_speeds_are_compared_twenty_times() -> None:
    """The ego at 10 m/s, the vehicle beside at 8: 125 %."""
    slow = others(50.0, 10.0, speed=8.0)
    watch = drive(monitor(), WHOLE_WAY, slow)
    found = [o.message for o in watch.infractions if o.kind is Infraction.SLOW]
    assert len(found) == 20 and set(found) == {"Average speed is 125.00% of the surrounding traffic's one"}


def test_without_traffic_around_nothing_is_compared() -> None:
    far = others(50.0, 200.0)
    assert drive(monitor(), WHOLE_WAY, far).infractions == []
    standing = others(50.0, 10.0, speed=0.0)
    assert drive(monitor(), WHOLE_WAY, standing).infractions == []
