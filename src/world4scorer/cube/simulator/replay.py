"""Outcomes of candidate action sequences: bitwise equal to `env.step`, in a fraction of its time.

    replay = Replay(environment)                      # the unwrapped cube environment of OGBench, after its reset
    distances = replay.outcomes(data, candidates, goal)

Three things are saved (`results/cube_labels.md`): observations and rewards that nobody reads; the overhead of the
inverse kinematics (`control`); and collision detection between links that are shown to be apart (`clearance`).
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from world4scorer.cube.simulator.clearance import CUBE_JOINT, clearance_of, quick_model
from world4scorer.cube.simulator.clearance_kernels import STATE, advance
from world4scorer.cube.simulator.control import Control
from world4scorer.cube.simulator.cube_env import ACTION, Floats
from world4scorer.cube.simulator.mujoco_library import untimed


class Replay:
    """Memory to replay in, for one process; states may come from any reset of `environment`.

    `environment`: the unwrapped cube-single environment after a reset; neither it nor its state is changed.
    """

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        self._complete = environment.model
        self._quick = quick_model(self._complete)
        self._clearance = clearance_of(self._complete)
        self._data = mujoco.MjData(self._complete)
        self._control = Control(environment, self._data)
        self._before = np.empty(mujoco.mj_stateSize(self._complete, STATE))
        first = int(self._complete.joint(CUBE_JOINT).qposadr[0])
        self._cube = self._data.qpos[first : first + 3]
        self.physics_steps = 0
        """Taken so far."""
        self.complete_steps = 0
        """Those of them that needed all collisions: slower, for exactness."""

    def outcomes(self, data: mujoco.MjData, candidates: Floats, goal: Floats) -> Floats:
        """Smallest distance between cube and goal after any step [m], (n,).

        `data`: the state to start from, left as it is. `candidates`: (n, steps, 5), in [-1, 1]. `goal`: (3,).
        """
        goal = np.asarray(goal, dtype=np.float64)
        if goal.shape != (3,):
            raise ValueError(f"goal of shape {goal.shape}; a position (3,) in metres expected")
        paths = self.paths(data, candidates)
        if paths.shape[1] == 0:
            raise ValueError("candidates without steps have no outcome; give at least one step")
        return np.array([min(np.linalg.norm(cube - goal) for cube in path) for path in paths])

    def paths(self, data: mujoco.MjData, candidates: Floats) -> Floats:
        """Positions of the cube after every step [m], (n, steps, 3). Arguments as for `outcomes`."""
        candidates = np.asarray(candidates)
        if candidates.ndim != 3 or candidates.shape[2] != ACTION:
            raise ValueError(f"candidates of shape {candidates.shape}; (n, steps, {ACTION}) expected")
        if not np.isfinite(candidates).all():
            raise ValueError("candidates contain numbers that are not finite; the simulator would not recover")
        actions = self._environment.unnormalize_action(candidates)
        paths = np.empty((*candidates.shape[:2], 3))
        with untimed():
            for path, sequence in zip(paths, actions, strict=True):
                mujoco.mj_copyData(self._data, self._complete, data)
                for cube, action in zip(path, sequence, strict=True):
                    self._step(action)
                    cube[:] = self._cube
        return paths

    def _step(self, action: Floats) -> None:
        """One step of the environment, for an action in its own units."""
        data, steps = self._data, self._environment._n_steps
        self._control.apply(action)
        self.complete_steps += advance(
            steps,
            self._quick._address,
            self._complete._address,
            data._address,
            data.geom_xpos,
            data.geom_xmat,
            self._clearance,
            self._before,
        )
        self.physics_steps += steps
