"""Names of drivers."""

from __future__ import annotations

import pytest

from world4scorer.driving.closed_loop.driver_spec import DEFAULT_DRIVERS, DriverSpec
from world4scorer.driving.closed_loop.planner_agent import AgentOptions


@pytest.mark.parametrize(
    ("name", "options", "creeps"),
    [
        ("framewise", AgentOptions(), False),
        ("inertial", AgentOptions(inertial=1.0), False),
        ("route", AgentOptions(route=4.0), False),
        ("inertial=0.5+route=2", AgentOptions(inertial=0.5, route=2.0), False),
        ("path", AgentOptions(route=4.0, route_rule="equal-distance"), False),
        ("corridor+limit", AgentOptions(corridor=0.3, speed_limit=50 / 3.6), False),
        ("path=2+limit=12", AgentOptions(route=2.0, route_rule="equal-distance", speed_limit=12.0), False),
        ("progress+limit=9", AgentOptions(progress=15.0, speed_limit=9.0), False),
        ("corridor+prompt", AgentOptions(corridor=0.3, prompt=True), False),
        ("progress=8", AgentOptions(progress=8.0), False),
        ("route+commands+creep", AgentOptions(route=4.0, keep_commands=True), True),
        ("sumo", None, False),
    ],
)
def test_names(name: str, options: AgentOptions | None, creeps: bool) -> None:
    choice = DriverSpec.parse(name)
    assert (choice.options, choice.creeps) == (options, creeps)


def test_the_benchmark_is_the_planners() -> None:
    assert DriverSpec.parse("inertial", "v2").options == AgentOptions("v2", inertial=1.0)


@pytest.mark.parametrize("name", ["", "fast", "inertial+", "route=much", "inertial+inertial=2", "sumo+creep"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="driver "):
        DriverSpec.parse(name)


def test_weights_must_be_sensible() -> None:
    with pytest.raises(ValueError, match="weight"):
        DriverSpec.parse("inertial=-1")


def test_all_defaults_have_labels() -> None:
    assert len({DriverSpec.parse(name).label for name in DEFAULT_DRIVERS}) == len(DEFAULT_DRIVERS)
