"""Driving in a made city: what one sees is what is on disk, and branches are exact."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from world4scorer.city.streets.errors import CityError
from world4scorer.city.world.manifest import read_manifest, read_simulation
from world4scorer.city.world.simulation import CitySimulation, Observation
from world4scorer.datasets.navsim.agent_input import agent_input
from world4scorer.datasets.navsim.logs import Log, read_log
from world4scorer.jobs.data_folder import DataFolder

FRAME = 12


@pytest.fixture(scope="module")
def log(city: Path) -> Log:
    entry = read_simulation(city, read_manifest(city)["simulations"][0])
    return read_log(DataFolder(city).log(entry.data_split, entry.logs[0].name))


@pytest.fixture(scope="module")
def simulation(city: Path) -> Iterator[CitySimulation]:
    with CitySimulation(city) as running:
        yield running


def keep_going(city: CitySimulation, steps: int, slowing: float = 0.0) -> Observation:
    """Drive straight on, more slowly each step."""
    seen = city.observe(images=False)
    pose, speed = seen.ego_pose.copy(), float(seen.agent_input.velocities[-1, 0])
    for _ in range(steps):
        speed = max(0.0, speed - slowing)
        pose = pose + 0.1 * speed * np.array([np.cos(pose[2]), np.sin(pose[2]), 0.0])
        city.step(pose)
    return city.observe()


def boxes(seen: Observation) -> NDArray[np.float64]:
    return seen.annotations.boxes


def test_what_is_seen_after_a_reset_is_what_is_on_disk(city: Path, simulation: CitySimulation, log: Log) -> None:
    seen = simulation.reset(log.name, FRAME)
    frame = log.frames[FRAME]
    expected = agent_input(log.frames[FRAME - 3 : FRAME + 1])
    for name in ("poses", "velocities", "accelerations", "commands"):
        mine, theirs = getattr(seen.agent_input, name), getattr(expected, name)
        assert mine.dtype == theirs.dtype and np.array_equal(mine, theirs), name
    for name, image in seen.images.items():
        assert np.array_equal(image, frame.cameras[name].load(DataFolder(city).sensors("trainval"))), name
    assert frame.annotations is not None
    assert seen.annotations.track_tokens == frame.annotations.track_tokens
    assert boxes(seen) == pytest.approx(frame.annotations.boxes, abs=1e-6)
    assert seen.ego_pose == pytest.approx(frame.ego_pose)
    assert not seen.off_road and not seen.finished


def test_branches_are_exact_and_independent(simulation: CitySimulation, log: Log) -> None:
    simulation.reset(log.name, FRAME)
    first, second = simulation.branch(), simulation.branch()
    with first, second:
        one, two = keep_going(first, 30), keep_going(second, 30)
        assert np.array_equal(boxes(one), boxes(two))
        assert all(np.array_equal(one.images[name], two.images[name]) for name in one.images)
        nested = first.branch()
        with nested:
            assert np.array_equal(boxes(keep_going(nested, 5)), boxes(keep_going(first, 5)))
    three = keep_going(simulation, 30)
    assert np.array_equal(boxes(one), boxes(three))


def test_resets_repeat_in_any_order(simulation: CitySimulation, log: Log) -> None:
    simulation.reset(log.name, FRAME + 4)
    later = boxes(keep_going(simulation, 10))
    simulation.reset(log.name, FRAME)
    keep_going(simulation, 10, slowing=0.5)
    simulation.reset(log.name, FRAME + 4)
    assert np.array_equal(boxes(keep_going(simulation, 10)), later)


def test_the_others_react_to_the_ego(city: Path, simulation: CitySimulation) -> None:
    """In some log somebody drives at another speed if the ego brakes to a standstill instead of going on."""

    def reaction(name: str) -> float:
        simulation.reset(name, FRAME, images=False)
        went_on = keep_going(simulation, 60)
        simulation.reset(name, FRAME, images=False)
        stopped = keep_going(simulation, 60, slowing=0.3)
        there = {token: row for row, token in enumerate(stopped.annotations.track_tokens)}
        return max(
            float(np.linalg.norm(stopped.annotations.velocity[there[token]] - went_on.annotations.velocity[row]))
            for row, token in enumerate(went_on.annotations.track_tokens)
            if token in there
        )

    entry = read_simulation(city, read_manifest(city)["simulations"][0])
    assert any(reaction(log.name) > 0.1 for log in entry.logs)


def test_the_history_follows_the_steps(simulation: CitySimulation, log: Log) -> None:
    seen = simulation.reset(log.name, FRAME, images=False)
    assert not seen.images
    start = seen.ego_pose
    ahead = np.array([np.cos(start[2]), np.sin(start[2]), 0.0])
    for step in range(1, 21):
        simulation.step(start + 0.5 * step * ahead, velocity=[5.0, 0.0], acceleration=[0.0, 0.0])
    seen = simulation.observe(images=False)
    assert seen.agent_input.poses == pytest.approx(
        np.array([[-7.5, 0, 0], [-5, 0, 0], [-2.5, 0, 0], [0, 0, 0]]), abs=1e-4
    )
    assert seen.agent_input.velocities == pytest.approx(np.array([[5.0, 0.0]] * 4))
    assert seen.time == pytest.approx(simulation.reset(log.name, FRAME, images=False).time + 2.0)


def test_far_from_the_road_is_noticed(simulation: CitySimulation, log: Log) -> None:
    seen = simulation.reset(log.name, FRAME, images=False)
    aside = np.array([-np.sin(seen.ego_pose[2]), np.cos(seen.ego_pose[2]), 0.0])
    simulation.step(seen.ego_pose + 400.0 * aside)
    assert simulation.observe(images=False).off_road


def test_wrong_use_is_refused(city: Path, simulation: CitySimulation, log: Log) -> None:
    with pytest.raises(CityError, match="no log 'nowhere'"):
        simulation.reset("nowhere", 5)
    with pytest.raises(CityError, match="frame 1 is out of range; choose 3 to"):
        simulation.reset(log.name, 1)
    with pytest.raises(CityError, match="x, y, heading"):
        simulation.step([1.0, 2.0])
    with pytest.raises(CityError, match="x, y, heading"):
        simulation.step([1.0, 2.0, np.nan])
    with pytest.raises(CityError, match=r"velocity: .*want forward, left"):
        simulation.step([1.0, 2.0, 3.0], velocity=[1.0, 2.0, 3.0])
    with CitySimulation(city) as idle, pytest.raises(CityError, match="reset"):
        idle.observe()
    with pytest.raises(CityError, match="no such file"):
        CitySimulation(city / "elsewhere")


def test_after_a_dead_process_a_reset_helps(city: Path, log: Log) -> None:
    with CitySimulation(city) as running:
        before = boxes(running.reset(log.name, FRAME, images=False))
        assert running._undisturbed is not None and running._undisturbed._process is not None
        process = running._undisturbed._process
        process.kill()
        process.join()
        with pytest.raises(CityError, match="gone; reset it"):
            running.reset(log.name, FRAME, images=False)
        assert np.array_equal(boxes(running.reset(log.name, FRAME, images=False)), before)


def test_closing_ends_the_processes_and_a_reset_starts_again(city: Path, log: Log) -> None:
    running = CitySimulation(city)
    before = boxes(running.reset(log.name, FRAME, images=False))
    assert running._undisturbed is not None and running._undisturbed._process is not None
    process = running._undisturbed._process
    running.close()
    assert process.exitcode == 0
    assert np.array_equal(boxes(running.reset(log.name, FRAME, images=False)), before)
    running.close()
    running.close()


def test_driving_along_the_log_gives_the_commands_of_the_log(simulation: CitySimulation, log: Log) -> None:
    simulation.reset(log.name, FRAME, images=False)
    for frame in log.frames[FRAME + 1 : FRAME + 8]:
        start = simulation.observe(images=False).ego_pose
        for step in range(1, 6):
            simulation.step(start + step / 5 * (frame.ego_pose - start))
        assert np.array_equal(simulation.observe(images=False).agent_input.commands[-1], frame.command)


def test_some_cameras_are_drawn_as_all_are(simulation: CitySimulation, log: Log) -> None:
    every = simulation.reset(log.name, FRAME).images
    front = simulation.observe(images=["CAM_F0"]).images
    assert list(front) == ["CAM_F0"] and np.array_equal(front["CAM_F0"], every["CAM_F0"])
    with pytest.raises(CityError, match="camera 'CAM_X' is not in this city"):
        simulation.observe(images=["CAM_X"])


def test_an_excursion_is_many_steps(city: Path, simulation: CitySimulation, log: Log) -> None:
    """Step by step or at once: the same traffic, and the same picture as on disk where the ego is back in the log."""
    start = simulation.reset(log.name, FRAME, images=False)
    poses = start.ego_pose + np.linspace(0, 1, 11)[1:, None] * (log.frames[FRAME + 2].ego_pose - start.ego_pose)
    still = np.zeros((10, 2))
    with simulation.branch() as copy:
        found = copy.drive(poses, still, still, {0: ("CAM_F0",), 10: ("CAM_F0",)})
        seen = copy.observe()
    for pose in poses:
        simulation.step(pose, velocity=[0.0, 0.0], acceleration=[0.0, 0.0])
    by_hand = simulation.observe()
    assert np.array_equal(boxes(by_hand), boxes(seen))
    rows = [found.tokens.index(token) for token in by_hand.annotations.track_tokens]
    assert found.valid[rows, 10].all() and found.valid[:, 10].sum() == len(rows)
    local = found.poses[rows, 10, :2] - by_hand.ego_pose[:2]
    c, s = np.cos(by_hand.ego_pose[2]), np.sin(by_hand.ego_pose[2])
    assert local @ np.array([[c, -s], [s, c]]) == pytest.approx(boxes(by_hand)[:, :2], abs=1e-9)
    path = DataFolder(city).sensors("trainval") / log.frames[FRAME].cameras["CAM_F0"].path
    assert found.files[0]["CAM_F0"] == path.read_bytes() and set(found.files) == {0, 10}
    assert found.finish_step == -1 and not found.off_road.any() and len(found.signals) == 11
    with pytest.raises(CityError, match="want rows of x, y, heading"):
        simulation.drive(poses[:, :2], still, still, {})
    with pytest.raises(CityError, match=r"velocities: shape \(3, 2\); want \(10, 2\)"):
        simulation.drive(poses, still[:3], still, {})
