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
from world4scorer.driving.closed_loop.creep import CreepingDriver
from world4scorer.driving.closed_loop.drive import DrivingWorld, city_calibration, drive_route
from world4scorer.driving.closed_loop.drivers import DriverOutput, PlannerDriver
from world4scorer.driving.closed_loop.infraction_monitor import TerminationRules
from world4scorer.driving.closed_loop.observation import CameraCalibration, Decision, Observation
from world4scorer.driving.closed_loop.planner_agent import AgentOptions, PlannerAgent
from world4scorer.driving.closed_loop.prompt_start import without_wait
from world4scorer.engine.routes import CommandTracker, RoadOption, Route
from world4scorer.engine.selection.corridor import corridor_utility
from world4scorer.engine.selection.route import route_agreement
from world4scorer.engine.selection.speed_limit import limited_utility
from world4scorer.planner.model.config import ModelConfig, city
from world4scorer.planner.model.images import Frames
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


def rig() -> CameraCalibration:
    from world4scorer.city.world.config import preset

    return city_calibration(preset("quick"))


def observation(time: float = 0.0, x: float = 0.0, y: float = 0.0, speed: float = 5.0) -> Observation:
    rng = np.random.default_rng(1)
    images = tuple(rng.integers(0, 255, (*SIZE, 3), np.uint8) for _ in range(4))
    command = np.array([0, 1, 0, 0], np.float32)
    return Observation(time, images, np.array([x, y, 0.0]), np.array([speed, 0.0]), np.zeros(2), command)


def test_framewise_is_the_highest_utility() -> None:
    agent = PlannerAgent(planner(), rig=rig())
    agent.begin("drive")
    decision = agent.decide(observation())
    assert decision.chosen == int(np.argmax(decision.utility)) and decision.plans.shape == (64, 8, 3)
    assert np.array_equal(decision.plan, decision.plans[decision.chosen]) and decision.route_point is None


def test_route_reranking_adds_agreement() -> None:
    agent = PlannerAgent(planner(), AgentOptions(route=4.0), rig())
    agent.begin("drive", ROUTE)
    decision = agent.decide(observation(y=1.5))
    ahead = np.column_stack([np.arange(31.0), np.full(31, -1.5)])
    agreed = route_agreement(decision.plans, ahead)
    expected = decision.utility + 4 * decision.utility.std() * (agreed - agreed.mean()) / agreed.std()
    assert decision.ranked == pytest.approx(expected) and decision.chosen == int(np.argmax(expected))


def test_a_corridor_chooses_manoeuvres_and_plans() -> None:
    made = planner()
    made.network.generator.anchors.normal_(0.0, 0.4)
    plain, near = (PlannerAgent(made, AgentOptions(corridor=loss), rig()) for loss in (0.0, 0.3))
    for agent in (plain, near):
        agent.begin("drive", ROUTE)
    beside = observation(y=6.0)
    decision, ahead = near.decide(beside), np.column_stack([np.arange(81.0), np.full(81, -6.0)])
    assert decision.ranked == pytest.approx(corridor_utility(decision.utility, decision.plans, ahead, 0.3))
    assert decision.chosen == int(np.argmax(decision.ranked))
    assert decision.plans[:, -1, 1].mean() < plain.decide(beside).plans[:, -1, 1].mean() - 1.0
    with pytest.raises(ValueError, match="a corridor needs one"):
        near.begin("drive")


def test_a_forecast_looks_at_the_frame_before() -> None:
    made = planner(replace(city(), forecast=True))
    agent = PlannerAgent(made, rig=rig())
    agent.begin("drive")
    agent.decide(observation(0.0))
    second = agent.decide(observation(0.5, x=2.5))
    views = agent.views(observation())
    frames = Frames(views, views, torch.tensor([[-2.5, 0.0, 0.0]]))
    status = torch.tensor([[0, 0, 0, 5.0, 0, 0, 0, 0, 1, 0, 0]])
    wanted = made(frames, status, agent._cameras(observation())).utility("v1")[0].double().numpy()
    assert second.utility == pytest.approx(wanted, abs=1e-5)
    late = agent.decide(observation(3.0, x=2.5))  # too long ago to show motion
    alone = made(views, status, agent._cameras(observation())).utility("v1")[0].double().numpy()
    assert late.utility == pytest.approx(alone, abs=1e-5)


def test_inertia_needs_a_last_choice() -> None:
    free, bound = (PlannerAgent(planner(), AgentOptions(inertial=weight), rig()) for weight in (0.0, 50.0))
    for agent in (free, bound):
        agent.begin("drive")
    first = [agent.decide(observation(0.0)) for agent in (free, bound)]
    assert first[0].chosen == first[1].chosen
    bound.begin("drive")  # forgets
    assert bound.decide(observation(0.5)).chosen == first[0].chosen


def test_at_rest_a_prompt_agent_skips_the_wait() -> None:
    decisions = []
    for options in (AgentOptions(), AgentOptions(prompt=True)):
        agent = PlannerAgent(planner(), options, rig())
        agent.begin("drive")
        decisions.append(agent.decide(replace(observation(), velocity=np.zeros(2))))
    waiting, prompt = decisions
    assert waiting.chosen == prompt.chosen and waiting.followed is None
    np.testing.assert_array_equal(waiting.plan, waiting.plans[waiting.chosen])
    np.testing.assert_array_equal(prompt.plan, without_wait(waiting.plan, 0.0))


def test_the_command_is_kept_from_the_nodes() -> None:
    agent = PlannerAgent(planner(), AgentOptions(keep_commands=True), rig())
    agent.begin("drive", ROUTE, CommandTracker([[30.0, 0.0]], [RoadOption.LEFT]))
    assert agent.decide(observation()).command.tolist() == [1, 0, 0, 0]
    assert agent.decide(observation(x=33.0)).command.tolist() == [0, 1, 0, 0]


def test_the_route_point_is_an_input() -> None:
    blind, told = planner(), planner(replace(city(), ego_numbers=13))
    assert not PlannerAgent(blind).takes_route_point
    agent = PlannerAgent(told, rig=rig())
    assert agent.takes_route_point
    with pytest.raises(ValueError, match="no route"):
        agent.begin("drive")
    agent.begin("drive", ROUTE)
    here = agent.decide(observation())
    assert here.route_point == pytest.approx((20.0, 0.0))
    agent.begin("drive", Route([[0.0, 0.0], [0.0, 200.0]]))
    assert not np.array_equal(agent.decide(observation()).utility, here.utility)


def test_the_course_of_the_route_is_an_input() -> None:
    told = PlannerAgent(planner(replace(city(), ego_numbers=21)), rig=rig())
    assert told.takes_route_point
    corner = [[0.0, 0.0], [30.0, 0.0], [30.0, 100.0]]  # the route point, 20 m ahead, is the same
    utilities = []
    for route in (ROUTE, Route(corner)):
        told.begin("drive", route)
        decision = told.decide(observation())
        assert decision.route_point == pytest.approx((20.0, 0.0))
        utilities.append(decision.utility)
    assert not np.array_equal(*utilities)


def test_the_speed_limit_lowers_utility() -> None:
    free, bound = (PlannerAgent(planner(), AgentOptions(speed_limit=limit), rig()) for limit in (0.0, 0.5))
    free.begin("drive")
    bound.begin("drive")
    before, after = free.decide(observation()), bound.decide(observation())
    assert after.utility == pytest.approx(limited_utility(before.utility, before.plans, 0.5))
    assert (after.utility < before.utility).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [(AgentOptions(route=4.0), "no route"), (AgentOptions(keep_commands=True), "no nodes")],
)
def test_options_need_a_route(options: AgentOptions, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PlannerAgent(planner(), options, rig()).begin("drive")


def test_too_few_images_or_no_rig() -> None:
    agent = PlannerAgent(planner(), rig=rig())
    agent.begin("drive")
    with pytest.raises(ValueError, match="images: 3"):
        agent.decide(replace(observation(), images=observation().images[:3]))
    lost = PlannerAgent(planner())
    lost.begin("drive")
    with pytest.raises(ValueError, match="rig"):
        lost.decide(observation())


def test_a_planner_drives_a_route_the_same_way_twice(city: Path) -> None:
    route = find_routes(city, "city_train", 1)[0]
    config = read_config(read_manifest(city))
    driver = PlannerDriver(PlannerAgent(planner(), AgentOptions(inertial=1.0), city_calibration(config)))
    world, rules = DrivingWorld(city, route.place), TerminationRules(time_limit=4.0)
    with CitySimulation(city) as running:
        one, other = (drive_route(running, world, route, driver, rules=rules, with_recording=True) for _ in range(2))
    assert one.recording is not None and other.recording is not None
    assert np.array_equal(one.recording.states, other.recording.states)
    assert np.array_equal(one.recording.chosen, other.recording.chosen)
    assert one.recording.images == other.recording.images
    assert len(one.recording.decided) == 8 and one.recording.plans.shape == (8, 64, 8, 3)
    assert one.record.scores == other.record.scores


class Stander:
    """Likes to stand; a plan that moves on is `worse` by so much."""

    uses_cameras = True

    def __init__(self, worse: float) -> None:
        plans = np.zeros((2, 8, 3), np.float32)
        plans[1, :, 0] = np.arange(1, 9)
        utility = np.array([1.0, 1.0 - worse])
        self._decision = Decision(plans, utility, utility, 0, np.zeros(4, np.float32), None)

    def begin(self, route: object) -> None:
        """Nothing to remember."""

    def drive(self, observation: Observation, others: object) -> DriverOutput:
        return DriverOutput(self._decision.plan, self._decision)


def moved(driver: CreepingDriver, until: float, speed: float = 0.0) -> list[float]:
    """Times at which it moves on."""
    driver.begin(None)  # type: ignore[arg-type]
    times = np.arange(0.0, until, 0.5)
    return [t for t in times.tolist() if driver.drive(observation(t, speed=speed), None).plan[-1, 0] > 0]  # type: ignore[arg-type]


def test_who_stands_for_twelve_seconds_creeps_for_three_and_pauses_for_two() -> None:
    found = moved(CreepingDriver(Stander(0.3)), 22.0)
    assert found == [12.0, 12.5, 13.0, 13.5, 14.0, 14.5, 17.0, 17.5, 18.0, 18.5, 19.0, 19.5]


def test_who_finds_moving_much_worse_stays() -> None:
    assert moved(CreepingDriver(Stander(0.7)), 30.0) == []


def test_who_moves_does_not_creep() -> None:
    assert moved(CreepingDriver(Stander(0.3)), 30.0, speed=1.0) == []
