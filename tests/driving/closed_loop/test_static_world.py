"""The streets as a referee sees them, in a town of one street."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.tiny_town import tiny_town
from world4scorer.driving.closed_loop.contacts import contacts
from world4scorer.driving.closed_loop.static_world import StaticWorld, ego_corners


@pytest.fixture(scope="module")
def static_world() -> StaticWorld:
    return StaticWorld(tiny_town(), seed=0)


@pytest.mark.parametrize(
    ("place", "heading", "outside"),
    [
        ((30.0, -0.6), 0.0, False),
        ((30.0, 2.6), 0.0, False),
        ((30.0, -0.6), np.pi, True),  # against the traffic
        ((30.0, -0.6), 1.2, False),
        ((30.0, -3.2), 0.0, True),  # a sidewalk
        ((30.0, 9.0), 0.0, True),
        ((66.0, 0.0), np.pi, False),  # in a junction there is no against
    ],
)
def test_outside(static_world: StaticWorld, place: tuple[float, float], heading: float, outside: bool) -> None:
    assert static_world.outside(np.array(place), heading) is outside


def test_stop_lines(static_world: StaticWorld) -> None:
    lines = static_world.stop_lines
    assert set(lines.edge) == {"in"} and np.allclose(lines.point[:, 0], 60.0)
    before, after = np.array([59.0, -0.6]), np.array([60.5, -0.6])
    (line,) = lines.crossed(before, after)
    assert lines.point[line] == pytest.approx([60.0, -0.6])
    assert len(lines.crossed(after, before)) == 0
    assert len(lines.crossed(before - [10, 0], before)) == 0
    link = next(iter(lines.links[line].values()))
    red, green = ("g" * link.index + state for state in "rG")
    assert lines.red(line, ("in", "out"), {link.signal: red})
    assert not lines.red(line, ("in", "out"), {link.signal: green})


def test_something_stands_somewhere_and_not_on_the_street(static_world: StaticWorld) -> None:
    assert not static_world.collides(ego_corners(np.array([30.0, -0.6, 0.0])))
    around = [ego_corners(np.array([x, y, 0.0])) for x in range(0, 140, 4) for y in (-12.0, -9.0, 9.0, 12.0, 15.0)]
    assert any(static_world.collides(corners) for corners in around)


def test_corners() -> None:
    corners = ego_corners(np.array([10.0, 5.0, np.pi / 2]))
    assert corners[0] == pytest.approx([10.0 - 1.1485, 5.0 + 4.049])
    assert corners[2] == pytest.approx([10.0 + 1.1485, 5.0 - 1.127])


def test_contacts() -> None:
    """The ego's box reaches from -1.127 to 4.049 m."""
    ego = np.zeros(3)
    poses = np.array([[6.0, 0, 0], [6.2, 0, 0], [-3.0, 0, 0], [-3.2, 0, 0], [0, 2.1, 0.0], [6.2, 0, np.pi / 2]])
    sizes = np.full((6, 2), (4.0, 2.0))
    assert contacts(ego, poses, sizes).tolist() == [True, False, True, False, True, False]
