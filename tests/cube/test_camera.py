"""Pictures show the cube where it is, and taking them changes nothing."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from world4scorer.cube.errors import CubeError
from world4scorer.cube.simulator import backend, camera
from world4scorer.cube.simulator.backend import choose_backend
from world4scorer.cube.simulator.camera import Camera
from world4scorer.cube.simulator.cube_env import CubeSimulator, CubeState, this_process_simulator

SIDE = 64


def simulator_with(cube: tuple[float, float, float]) -> CubeSimulator:
    """The arm at home, the cube on the table at a place."""
    simulator = this_process_simulator()
    simulator.environment.reset(seed=3)
    qpos = simulator.data.qpos.copy()
    qpos[-7:] = *cube, 1, 0, 0, 0
    simulator.start_at(CubeState(qpos, np.zeros_like(simulator.data.qvel), np.zeros(28, np.float32)))
    return simulator


def redness(picture: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How far red exceeds the other channels."""
    channels = picture.astype(np.int64)
    return channels[..., 0] - channels[..., 1:].max(-1)


def centre(picture: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Mean row and column of what is red."""
    found = np.argwhere(redness(picture) > 50)
    assert len(found), "nothing is red"
    return found.mean(0)


def expected(simulator: CubeSimulator, place: tuple[float, float, float]) -> NDArray[np.float64]:
    """Row and column at which a pinhole camera shows a place."""
    view = simulator.model.camera(camera.VIEW)
    across, up, back = simulator.data.cam_xmat[view.id].reshape(3, 3).T @ (np.asarray(place) - view.pos)
    focal = SIDE / 2 / np.tan(np.radians(view.fovy[0]) / 2)
    return np.array([SIDE / 2 + focal * up / back, SIDE / 2 - focal * across / back])


@pytest.mark.usefixtures("rendering")
@pytest.mark.parametrize("place", [(0.5, 0.2, 0.02), (0.35, -0.2, 0.02)])
def test_the_cube_is_red_where_it_lies(place: tuple[float, float, float]) -> None:
    simulator = simulator_with(place)
    picture = simulator.picture(SIDE)
    assert picture.shape == (SIDE, SIDE, 3) and picture.dtype == np.uint8
    assert np.abs(centre(picture) - expected(simulator, place)).max() < 1.5


@pytest.mark.usefixtures("rendering")
def test_a_stock_picture_shows_the_same_cube_and_a_purple_gripper() -> None:
    place = (0.5, 0.2, 0.02)
    simulator = simulator_with(place)
    picture = simulator.picture(SIDE, "stock")
    assert np.abs(centre(picture) - expected(simulator, place)).max() < 1.5
    red, green, blue = np.moveaxis(picture.astype(int), -1, 0)
    assert np.sum((blue > red + 10) & (red > green + 25)) > 10


@pytest.mark.usefixtures("rendering")
def test_a_goal_is_shown_only_when_asked_for() -> None:
    simulator = simulator_with((0.5, 0.2, 0.02))
    goal = (0.4, -0.25, 0.02)
    row, column = expected(simulator, goal).round().astype(int)
    taken = Camera(simulator, SIDE)
    without, shown, again = taken.picture(), taken.picture(goal), taken.picture()
    taken.close()
    assert redness(without)[row, column] < 10 < redness(shown)[row, column]
    assert np.array_equal(without, again)


@pytest.mark.usefixtures("rendering")
def test_pictures_leave_the_simulation_alone() -> None:
    simulator = simulator_with((0.45, 0.0, 0.02))
    start = simulator.snapshot()
    actions = np.random.default_rng(0).uniform(-1, 1, (6, 5))

    def states(watched: bool) -> NDArray[np.float64]:
        simulator.restore(start)
        found = []
        for action in actions:
            simulator.step(action)
            if watched:
                simulator.picture(SIDE)
            found.append(np.concatenate([simulator.data.qpos, simulator.data.qvel, simulator.data.qacc_warmstart]))
        return np.array(found)

    colours = simulator.model.geom_rgba.copy(), simulator.model.geom_group.copy(), simulator.model.mat_rgba.copy()
    assert np.array_equal(states(watched=True), states(watched=False))
    kept = simulator.model.geom_rgba, simulator.model.geom_group, simulator.model.mat_rgba
    assert all(np.array_equal(before, after) for before, after in zip(colours, kept, strict=True))


@pytest.mark.usefixtures("rendering")
def test_a_moment_looks_the_same_again() -> None:
    simulator = simulator_with((0.45, 0.1, 0.02))
    first = simulator.picture(SIDE)
    simulator.step(np.ones(5))
    assert not np.array_equal(simulator.picture(SIDE), first)
    simulator_with((0.45, 0.1, 0.02))
    assert np.array_equal(simulator.picture(SIDE), first)


def test_a_picture_needs_pixels() -> None:
    with pytest.raises(CubeError, match="at least one pixel"):
        Camera(this_process_simulator(), 0)


def test_without_a_renderer_the_error_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    import mujoco

    def broken(*_: object) -> None:
        raise RuntimeError("no display")

    monkeypatch.setattr(mujoco, "Renderer", broken)
    with pytest.raises(CubeError, match="no display; install EGL"):
        Camera(this_process_simulator(), SIDE)


@pytest.mark.parametrize(
    ("libraries", "chosen"), [(("EGL", "OSMesa"), "egl"), (("OSMesa",), "osmesa"), ((), "disable")]
)
def test_the_backend_follows_the_libraries(
    monkeypatch: pytest.MonkeyPatch, libraries: tuple[str, ...], chosen: str
) -> None:
    monkeypatch.setattr(backend, "find_library", lambda name: f"lib{name}.so" if name in libraries else None)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setenv("MUJOCO_GL", "")
    choose_backend()
    assert os.environ["MUJOCO_GL"] == chosen
    monkeypatch.setenv("MUJOCO_GL", "glfw")
    choose_backend()
    assert os.environ["MUJOCO_GL"] == "glfw"


def test_nothing_warns_without_a_display() -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "MUJOCO_GL")}
    code = "from world4scorer.cube.simulator.cube_env import CubeSimulator; CubeSimulator()"
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "GLFW" not in ended.stderr
