"""OGBench's `cube-single` environment: set states, step, and render on demand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world4scorer.cube.errors import CubeError
from world4scorer.cube.simulator.camera import Camera, RenderQuality

if TYPE_CHECKING:
    import mujoco

Floats = NDArray[np.float64]

ACTION: Final = 5
"""Numbers of an action: three of the effector's position, its yaw, the gripper; each within -1 and 1."""
SUCCESS_METRES: Final = 0.04
"""Success distance of the cube from its goal [m], as in OGBench."""
EFFECTOR, CUBE, CONTACT = slice(12, 15), slice(19, 22), 18
"""Places in OGBench's observation; positions are in decimetres."""
HELD_METRES: Final = 0.03
HELD_CONTACT: Final = 0.1


@dataclass(frozen=True)
class CubeState:
    """A moment: what restores it, and what OGBench lets an agent see of it."""

    qpos: Floats
    """Joint positions (21,)."""
    qvel: Floats
    """Joint speeds (20,)."""
    observation: NDArray[np.float32]
    """OGBench's state observation (28,). It holds the force of contact, which positions alone do not restore."""

    @property
    def cube(self) -> Floats:
        """Position of the cube's centre, in metres."""
        return cube_of(self.qpos)


def cube_of(qpos: Floats) -> Floats:
    """Positions of the cube (..., 3) in joint positions (..., 21): its free joint is the last."""
    return qpos[..., -7:-4]


def distance_to(goal: ArrayLike, cube: ArrayLike) -> float:
    """Distance of the cube from its goal, in metres."""
    return float(np.linalg.norm(np.asarray(cube) - np.asarray(goal)))


def is_held(observation: NDArray[np.floating]) -> bool:
    """Whether the gripper has the cube, by OGBench's state observation (28,)."""
    gap = np.linalg.norm(observation[EFFECTOR] - observation[CUBE]) / 10
    return bool(gap < HELD_METRES and observation[CONTACT] > HELD_CONTACT)


class CubeSimulator:
    """One arm, one cube, one table."""

    def __init__(self) -> None:
        if find_spec("ogbench") is None:
            raise CubeError("OGBench is not installed: pip install 'world4scorer[cube]'")
        from ogbench.manipspace.envs.cube_env import CubeEnv

        self.environment: Any = CubeEnv(
            env_type="single", ob_type="states", mode="data_collection", terminate_at_goal=False, visualize_info=False
        )
        self.environment.reset(seed=0)
        self._cameras: dict[tuple[int, RenderQuality], Camera] = {}

    @property
    def model(self) -> mujoco.MjModel:
        """The physics model."""
        return self.environment._model

    @property
    def data(self) -> mujoco.MjData:
        """The physics' whole state; `mj_copyData` of it restores a moment to the bit."""
        return self.environment._data

    @property
    def cube(self) -> Floats:
        """Position of the cube."""
        return cube_of(self.data.qpos).copy()

    def start_at(self, state: CubeState) -> None:
        """Begin at a recorded moment, with nothing left of what happened before: the same start gives the same bits."""
        import mujoco

        mujoco.mj_resetData(self.model, self.data)
        self.environment.set_state(state.qpos, state.qvel)

    def observation(self) -> NDArray[np.float32]:
        """OGBench's state observation (28,) of this moment."""
        import mujoco

        mujoco.mj_rnePostConstraint(self.model, self.data)  # contact forces, which it holds
        return np.asarray(self.environment.compute_observation(), dtype=np.float32)

    def picture(self, side: int, quality: RenderQuality = "fast") -> NDArray[np.uint8]:
        """This moment as (side, side, 3); the state stays as it is to the bit. Raises CubeError as `Camera` does."""
        if (side, quality) not in self._cameras:
            self._cameras[side, quality] = Camera(self, side, quality)
        return self._cameras[side, quality].picture()

    def snapshot(self) -> mujoco.MjData:
        """A copy of the whole state, for `restore`."""
        import mujoco

        copy = mujoco.MjData(self.model)
        mujoco.mj_copyData(copy, self.model, self.data)
        return copy

    def restore(self, snapshot: mujoco.MjData) -> None:
        """Go back to a snapshot, to the bit."""
        import mujoco

        mujoco.mj_copyData(self.data, self.model, snapshot)

    def step(self, action: ArrayLike) -> None:
        """Carry out one action of 0.05 s: the physics of `env.step` without its observations."""
        import mujoco

        self.environment.set_control(np.asarray(action, dtype=np.float64))
        mujoco.mj_step(self.model, self.data, nstep=self.environment._n_steps)


@cache
def this_process_simulator() -> CubeSimulator:
    """The one simulator of a worker process, which takes a second to build."""
    return CubeSimulator()
