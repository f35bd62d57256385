"""Names of drivers."""

from __future__ import annotations

import pytest

from world4scorer.driving.closed_loop.choice import DEFAULT, DriverChoice
from world4scorer.driving.closed_loop.pilot import PilotOptions


@pytest.mark.parametrize(
    ("name", "options", "creeps"),
    [
        ("framewise", PilotOptions(), False),
        ("inertial", PilotOptions(inertial=1.0), False),
        ("route", PilotOptions(route=4.0), False),
        ("inertial=0.5+route=2", PilotOptions(inertial=0.5, route=2.0), False),
        ("route+commands+creep", PilotOptions(route=4.0, keep_commands=True), True),
        ("sumo", None, False),
    ],
)
def test_names(name: str, options: PilotOptions | None, creeps: bool) -> None:
    choice = DriverChoice.parse(name)
    assert (choice.options, choice.creeps) == (options, creeps)


def test_the_benchmark_is_the_planners() -> None:
    assert DriverChoice.parse("inertial", "v2").options == PilotOptions("v2", inertial=1.0)


@pytest.mark.parametrize("name", ["", "fast", "inertial+", "route=much", "inertial+inertial=2", "sumo+creep"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="driver "):
        DriverChoice.parse(name)


def test_weights_must_be_sensible() -> None:
    with pytest.raises(ValueError, match="weight"):
        DriverChoice.parse("inertial=-1")


def test_all_defaults_have_labels() -> None:
    assert len({DriverChoice.parse(name).label for name in DEFAULT}) == len(DEFAULT)
