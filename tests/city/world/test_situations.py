"""Situations of hand-made traffic on an endless straight street."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.crossing import crossing
from world4scorer.city.scenery.actors import ActorKind
from world4scorer.city.streets.street_map import StreetMap
from world4scorer.city.world.expert import expert_drive
from world4scorer.city.world.recording import STEPS_PER_FRAME, Drive, Recording
from world4scorer.city.world.situations import Situations, find_situations, frame_rows
from world4scorer.city.world.traffic import TIME_STEP, Agents, TrafficSnapshot
from world4scorer.engine.scene.vehicle import LENGTH, WIDTH

STEPS = 200


@pytest.fixture(scope="module")
def streets() -> StreetMap:
    return crossing()


def situations(
    streets: StreetMap, speed: NDArray[np.float64], other: NDArray[np.float64] | None = None, heading: float = 0.0
) -> Situations:
    """The ego drives along the x axis at `speed` (t,); the other's box centre is at `other` (t, 2)."""
    travelled = np.concatenate([[0.0], np.cumsum(speed[:-1] * TIME_STEP)])
    front = np.column_stack([travelled, np.zeros(len(speed))])
    drive = Drive(0, "ego", 0, front, np.zeros(len(speed)), speed, ("west_3",) * len(speed), ("west", "east"))
    expert = expert_drive(drive)
    agents = Agents()
    agents.add("ego", "ego", ActorKind.CAR, (LENGTH, WIDTH, 1.8))
    agents.add("other", "saloon", ActorKind.CAR, (4.7, 1.85, 1.5))
    snapshots = []
    for step in range(0, len(speed), STEPS_PER_FRAME):
        poses = [[*expert.pose[step, :2], 0.0]]
        pace = [speed[step]]
        if other is not None:
            poses.append([*other[step], heading])
            following = other[min(step + 1, len(other) - 1)]
            pace.append(float(np.linalg.norm(following - other[step])) / TIME_STEP)
        count = len(poses)
        snapshots.append(
            TrafficSnapshot(
                step, np.arange(count), np.array(poses), np.array(pace), np.zeros(count, np.uint8), np.zeros(count), {}
            )
        )
    return find_situations(expert, Recording(agents, tuple(snapshots), (drive,)), streets, {})


def beside(speed: NDArray[np.float64], ahead: float, left: float = 0.0) -> NDArray[np.float64]:
    """Where somebody is who drives at the same speed, so far ahead of the ego's bumper."""
    travelled = np.concatenate([[0.0], np.cumsum(speed[:-1] * TIME_STEP)])
    return np.column_stack([travelled + ahead, np.full(len(speed), left)])


def test_an_empty_street(streets: StreetMap) -> None:
    found = situations(streets, np.full(STEPS, 8.0))
    counts = found.counts(slice(None))
    assert {name for name, count in counts.items() if count} == {"fast", "uneventful"}


def test_following(streets: StreetMap) -> None:
    speed = np.full(STEPS, 8.0)
    found = situations(streets, speed, beside(speed, 12.0))
    assert found.following.all() and found.near_agent.all() and not found.conflict.any() and not found.queue.any()
    assert not situations(streets, speed, beside(speed, 12.0, left=4.0)).following.any()
    assert not situations(streets, speed, beside(speed, 45.0)).following.any()


def test_a_standing_car_ahead_is_a_conflict_until_one_stands(streets: StreetMap) -> None:
    speed = np.clip(8.0 - 0.25 * np.maximum(np.arange(STEPS) - 50, 0), 0.0, 8.0)
    goal = speed.sum() * TIME_STEP + 5.0
    found = situations(streets, speed, np.tile([goal, 0.0], (STEPS, 1)))
    rows = np.arange(0, STEPS, STEPS_PER_FRAME)
    assert found.conflict[(rows > 30) & (rows < 60)].all()
    assert found.queue[rows > 90].all() and found.stop[(rows > 50) & (rows < 80)].all()
    assert not found.touching.any()


def test_somebody_crosses(streets: StreetMap) -> None:
    speed = np.full(STEPS, 8.0)
    time = np.arange(STEPS) * TIME_STEP
    # Reaches the ego's lane 100 m down the road after 12 s, when the ego's front would be there too.
    other = np.column_stack([np.full(STEPS, 98.0), (time - 12.0) * 4.0])
    found = situations(streets, speed, other, heading=np.pi / 2)
    frames = np.arange(0, STEPS, STEPS_PER_FRAME)
    assert found.crossing[(frames > 95) & (frames < 110)].all()
    assert not found.crossing[frames < 60].any() and not found.following.any()


def test_whom_one_meets_from_behind_is_no_conflict(streets: StreetMap) -> None:
    speed = np.full(STEPS, 6.0)
    time = np.arange(STEPS) * TIME_STEP
    other = np.column_stack([-25.0 + 9.0 * time, np.zeros(STEPS)])
    found = situations(streets, speed, other)
    rows = np.arange(0, STEPS, STEPS_PER_FRAME)
    assert not found.conflict[rows < 50].any()


def test_starting_and_standing(streets: StreetMap) -> None:
    speed = np.clip(0.15 * np.maximum(np.arange(STEPS) - 100, 0), 0.0, 8.0)
    found = situations(streets, speed)
    rows = np.arange(0, STEPS, STEPS_PER_FRAME)
    assert found.standing[rows < 50].all() and found.start[(rows > 75) & (rows < 95)].all()


def test_frames_follow_the_clock_of_the_simulation(streets: StreetMap) -> None:
    drive = Drive(0, "ego", 13, np.zeros((50, 2)) + np.arange(50)[:, None], np.zeros(50), np.ones(50), ("a",) * 50, ())
    rows = frame_rows(expert_drive(drive))
    assert ((13 + rows) % STEPS_PER_FRAME == 0).all() and rows[0] == 2


def test_a_box_that_is_passed_too_closely_between_two_frames_is_a_contact(streets: StreetMap) -> None:
    """At 11 m/s the ego moves further between two frames than it is long."""
    speed = np.full(STEPS, 11.0)
    travelled = np.concatenate([[0.0], np.cumsum(speed[:-1] * TIME_STEP)])
    # Halfway between the boxes of two frames, at the side.
    place = travelled[100] - LENGTH / 2 + 0.5 * 0.5 * 11.0
    for aside, expected in ((WIDTH / 2 + 0.95, True), (WIDTH / 2 + 1.2, False)):
        other = np.tile([place, aside], (STEPS, 1))
        found = situations(streets, speed, other)
        assert found.touching.any() == expected
