"""Actions to joint targets: OGBench's `set_control` and its inverse kinematics, to the bit, without their overhead.

The same operations in the same order. What compilers and libraries may round differently stays with NumPy, which
OGBench asks as well: sine, cosine, arctangent, powers and the small matrix products and solutions. Quaternions are
(w, x, y, z).
"""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np

from world4scorer.cube.simulator.control_kernels import effector_quaternion, move, pose_error
from world4scorer.cube.simulator.cube_env import Floats

Quaternion = tuple[float, float, float, float]

ITERATIONS = 20
"""Largest number of inverse kinematics iterations."""
THRESHOLD = 1e-4
"""Errors of position [m] and rotation [rad] at which it stops."""
TAYLOR_BELOW = 1e-10
"""Squared angle [rad^2] below which OGBench takes the series of a rotation's quaternion."""
OPENING_RANGE = 0.8
"""Driver joint angle of the closed gripper [rad]."""
GRIPPER_RANGE = 255.0
"""Control value of the closed gripper."""


class Control:
    """Sets the controls of one `MjData` as the environment would.

    `environment`: the unwrapped OGBench environment after a reset; it is read, not changed.
    """

    def __init__(self, environment: Any, data: mujoco.MjData) -> None:
        solver = environment._ik
        if solver._qp0 is not None or solver._ns != 1:
            raise ValueError("inverse kinematics with a rest pose or several sites; OGBench 1.2.2's cube has neither")
        self._ctrl, self._qpos = data.ctrl, data.qpos
        self._pinch_position = data.site_xpos[environment._pinch_site_id]
        self._pinch_matrix = data.site_xmat[environment._pinch_site_id]
        self._opening_index = int(environment._gripper_opening_joint_id)
        self._arm_joints, self._arm_actuators = environment._arm_joint_ids, environment._arm_actuator_ids
        self._gripper_actuators = environment._gripper_actuator_ids
        self._lower, self._upper = environment._workspace_bounds.tolist()
        self._down: Quaternion = tuple(environment._effector_down_rotation.wxyz.tolist())
        self._down_inverse: Quaternion = tuple(environment._effector_down_rotation.inverse().wxyz.tolist())
        self._flange_rotation: Quaternion = tuple(environment._T_pa.rotation().wxyz.tolist())
        self._flange_translation: Quaternion = (0.0, *environment._T_pa.translation().tolist())

        self._model, self._site = solver._model, int(solver._site_ids[0])
        self._data = mujoco.MjData(self._model)  # one of our own: the environment's stays as it is
        self._addresses = self._model._address, self._data._address
        self._joints: Floats = self._data.qpos
        self._site_pose = self._data.site_xpos[self._site], self._data.site_xmat[self._site]
        self._damping, self._largest_change = solver._damping, float(solver._max_angle_change)
        self._jacobian, self._error = np.empty((6, self._model.nv)), np.empty(6)
        self._jacobian_T = self._jacobian.T
        self._position_error, self._rotation_error = self._error[:3], self._error[3:]
        self._quaternion, self._scratch = np.empty(4), np.empty((3, 4))
        self._target = np.empty(3), np.empty(4)

    def apply(self, action: Floats) -> None:
        """Set the controls for an action (5,) in its own units: `environment.unnormalize_action(action)`."""
        x, y, z, turn, closing = action.tolist()
        effector_quaternion(self._pinch_matrix, self._quaternion)
        heading = _product(_about_z(turn), _about_z(_yaw(self._quaternion)))
        yaw = _yaw(np.array(_product(heading, self._down_inverse)))
        rotation = _product(_about_z(_clip(yaw, -np.pi, np.pi)), self._down)

        place, quaternion = self._target
        quaternion[:] = _product(rotation, self._flange_rotation)
        flange = _product(_product(rotation, self._flange_translation), _inverse(rotation))[1:]
        moves = zip(self._pinch_position.tolist(), (x, y, z), self._lower, self._upper, flange, strict=True)
        place[:] = [offset + _clip(at + by, low, high) for at, by, low, high, offset in moves]

        opening = _clip(float(self._qpos[self._opening_index]) / OPENING_RANGE, 0.0, 1.0)
        self._ctrl[self._arm_actuators] = self._solve()
        self._ctrl[self._gripper_actuators] = GRIPPER_RANGE * _clip(opening + closing, 0.0, 1.0)

    def _solve(self) -> Floats:
        """Joint angles (6,) that bring the flange to the target."""
        self._joints[:] = self._qpos[self._arm_joints]
        for _ in range(ITERATIONS):
            pose_error(
                *self._addresses,
                self._site,
                *self._site_pose,
                *self._target,
                self._error,
                self._jacobian,
                self._scratch,
            )
            if _norm(self._position_error) <= THRESHOLD and _norm(self._rotation_error) <= THRESHOLD:
                break
            normal = self._jacobian @ self._jacobian_T + self._damping
            change = self._jacobian_T @ np.linalg.solve(normal, self._error)
            move(self._addresses[0], self._joints, change, self._largest_change)
        return self._joints


def _norm(vector: Floats) -> float:
    """As `np.linalg.norm` computes it."""
    return math.sqrt(vector.dot(vector))


def _clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _yaw(wxyz: Floats) -> float:
    """Heading [rad]; elements of an array, as NumPy's numbers and Python's need not round powers alike."""
    w, x, y, z = wxyz
    return float(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y**2 + z**2)))


def _about_z(angle: float) -> Quaternion:
    """Rotation by an angle [rad] about the vertical."""
    squared = angle * angle
    if squared < TAYLOR_BELOW:
        fourth = squared * squared
        real = 1.0 - squared / 8.0 + fourth / 384.0
        imaginary = 0.5 - squared / 48.0 + fourth / 3840.0
    else:
        whole = math.sqrt(squared)
        real, imaginary = float(np.cos(0.5 * whole)), float(np.sin(0.5 * whole)) / whole
    return real, imaginary * 0.0, imaginary * 0.0, imaginary * angle


def _inverse(q: Quaternion) -> Quaternion:
    return q[0], -q[1], -q[2], -q[3]


def _product(a: Quaternion, b: Quaternion) -> Quaternion:
    w0, x0, y0, z0 = a
    w1, x1, y1, z1 = b
    return (
        -x0 * x1 - y0 * y1 - z0 * z1 + w0 * w1,
        x0 * w1 + y0 * z1 - z0 * y1 + w0 * x1,
        -x0 * z1 + y0 * w1 + z0 * x1 + w0 * y1,
        x0 * y1 - y0 * x1 + z0 * w1 + w0 * z1,
    )
