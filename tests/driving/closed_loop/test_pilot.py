"""A planner at the wheel: what it is given, what it remembers, and that it drives the same way twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from world4scorer.city.world.manifest import read_config, read_manifest
from world4scorer.city.world.simulation import CitySimulation
from world4scorer.driving.closed_loop.city_routes import find_routes
from world4scorer.driving.closed_loop.creep import Creeping
from world4scorer.driving.closed_loop.drive import Venue, drive_route, rig_of
from world4scorer.driving.closed_loop.drivers import Answer, PilotDriver
from world4scorer.driving.closed_loop.pilot import Decision, Pilot, PilotOptions, Rig, Sight
from world4scorer.driving.closed_loop.referee import Rules
from world4scorer.engine.routes import CommandTracker, RoadOption, Route
from world4scorer.engine.selection.route import route_agreement
from world4scorer.planner.model.config import ModelConfig, city
from world4scorer.planner.planner import Planner

SIZE = (112, 196)
ROUTE = Route([[0.0, 0.0], [200.0, 0.0]])


def planner(config: ModelConfig | None = None) -> Planner:
    """Not trained, but with manoeuvres that differ."""
    torch.manual_seed(0)
    made = Planner(config or city())
    assert made.network.generator.anchors is not None
    made.network.generator.anchors.normal_(0.0, 0.5)
    return made


def rig() -> Rig:
    from world4scorer.city.world.config import preset

    return rig_of(preset("quick"))


def sight(time: float = 0.0, x: float = 0.0, y: float = 0.0, speed: float = 5.0) -> Sight:
    rng = np.random.default_rng(1)
    images = tuple(rng.integers(0, 255, (*SIZE, 3), np.uint8) for _ in range(4))
    command = np.array([0, 1, 0, 0], np.float32)
    return Sight(time, images, np.array([x, y, 0.0]), np.array([speed, 0.0]), np.zeros(2), command)


def test_framewise_is_the_highest_utility() -> None:
    pilot = Pilot(planner(), rig=rig())
    pilot.begin("drive")
    decision = pilot.decide(sight())
    assert decision.chosen == int(np.argmax(decision.utility)) and decision.plans.shape == (64, 8, 3)
    assert np.array_equal(decision.plan, decision.plans[decision.chosen]) and decision.route_point is None


def test_route_reranking_adds_agreement() -> None:
    pilot = Pilot(planner(), PilotOptions(route=4.0), rig())
    pilot.begin("drive", ROUTE)
    decision = pilot.decide(sight(y=1.5))
    ahead = np.column_stack([np.arange(31.0), np.full(31, -1.5)])
    agreed = route_agreement(decision.plans, ahead)
    expected = decision.utility + 4 * decision.utility.std() * (agreed - agreed.mean()) / agreed.std()
    assert decision.ranked == pytest.approx(expected) and decision.chosen == int(np.argmax(expected))


def test_inertia_needs_a_last_choice() -> None:
    free, bound = (Pilot(planner(), PilotOptions(inertial=weight), rig()) for weight in (0.0, 50.0))
    for pilot in (free, bound):
        pilot.begin("drive")
    first = [pilot.decide(sight(0.0)) for pilot in (free, bound)]
    assert first[0].chosen == first[1].chosen
    bound.begin("drive")  # forgets
    assert bound.decide(sight(0.5)).chosen == first[0].chosen


def test_the_command_is_kept_from_the_nodes() -> None:
    pilot = Pilot(planner(), PilotOptions(keep_commands=True), rig())
    pilot.begin("drive", ROUTE, CommandTracker([[30.0, 0.0]], [RoadOption.LEFT]))
    assert pilot.decide(sight()).command.tolist() == [1, 0, 0, 0]
    assert pilot.decide(sight(x=33.0)).command.tolist() == [0, 1, 0, 0]


def test_the_route_point_is_an_input() -> None:
    blind, told = planner(), planner(replace(city(), ego_numbers=13))
    assert not Pilot(blind).takes_route_point
    pilot = Pilot(told, rig=rig())
    assert pilot.takes_route_point
    with pytest.raises(ValueError, match="no route"):
        pilot.begin("drive")
    pilot.begin("drive", ROUTE)
    here = pilot.decide(sight())
    assert here.route_point == pytest.approx((20.0, 0.0))
    pilot.begin("drive", Route([[0.0, 0.0], [0.0, 200.0]]))
    assert not np.array_equal(pilot.decide(sight()).utility, here.utility)


@pytest.mark.parametrize(
    ("options", "message"),
    [(PilotOptions(route=4.0), "no route"), (PilotOptions(keep_commands=True), "no nodes")],
)
def test_options_need_a_route(options: PilotOptions, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Pilot(planner(), options, rig()).begin("drive")


def test_too_few_images_or_no_rig() -> None:
    pilot = Pilot(planner(), rig=rig())
    pilot.begin("drive")
    with pytest.raises(ValueError, match="images: 3"):
        pilot.decide(replace(sight(), images=sight().images[:3]))
    lost = Pilot(planner())
    lost.begin("drive")
    with pytest.raises(ValueError, match="rig"):
        lost.decide(sight())


def test_a_planner_drives_a_route_the_same_way_twice(city: Path) -> None:
    route = find_routes(city, "city_train", 1)[0]
    config = read_config(read_manifest(city))
    driver = PilotDriver(Pilot(planner(), PilotOptions(inertial=1.0), rig_of(config)))
    venue, rules = Venue(city, route.place), Rules(time_limit=4.0)
    with CitySimulation(city) as running:
        one, other = (drive_route(running, venue, route, driver, rules=rules, keep=True) for _ in range(2))
    assert one.recording is not None and other.recording is not None
    assert np.array_equal(one.recording.states, other.recording.states)
    assert np.array_equal(one.recording.chosen, other.recording.chosen)
    assert one.recording.images == other.recording.images
    assert len(one.recording.decided) == 8 and one.recording.plans.shape == (8, 64, 8, 3)
    assert one.record.scores == other.record.scores


class Stander:
    """Likes to stand; a plan that moves on is `worse` by so much."""

    sees = True

    def __init__(self, worse: float) -> None:
        plans = np.zeros((2, 8, 3), np.float32)
        plans[1, :, 0] = np.arange(1, 9)
        utility = np.array([1.0, 1.0 - worse])
        self._decision = Decision(plans, utility, utility, 0, np.zeros(4, np.float32), None)

    def begin(self, route: object) -> None:
        """Nothing to remember."""

    def drive(self, sight: Sight, others: object) -> Answer:
        return Answer(self._decision.plan, self._decision)


def moved(driver: Creeping, until: float, speed: float = 0.0) -> list[float]:
    """Times at which it moves on."""
    driver.begin(None)  # type: ignore[arg-type]
    times = np.arange(0.0, until, 0.5)
    return [t for t in times.tolist() if driver.drive(sight(t, speed=speed), None).plan[-1, 0] > 0]  # type: ignore[arg-type]


def test_who_stands_for_twelve_seconds_creeps_for_three_and_pauses_for_two() -> None:
    found = moved(Creeping(Stander(0.3)), 22.0)
    assert found == [12.0, 12.5, 13.0, 13.5, 14.0, 14.5, 17.0, 17.5, 18.0, 18.5, 19.0, 19.5]


def test_who_finds_moving_much_worse_stays() -> None:
    assert moved(Creeping(Stander(0.7)), 30.0) == []


def test_who_moves_does_not_creep() -> None:
    assert moved(Creeping(Stander(0.3)), 30.0, speed=1.0) == []
