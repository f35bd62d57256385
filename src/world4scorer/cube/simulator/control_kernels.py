"""Steps of the inverse kinematics that are MuJoCo's or plain arithmetic."""

from __future__ import annotations

from world4scorer.cube.simulator.mujoco_library import (
    mj_comPos,
    mj_integratePos,
    mj_jacSite,
    mj_kinematics,
    mju_mat2Quat,
    mju_mulQuat,
    mju_negQuat,
    mju_quat2Vel,
)
from world4scorer.engine.kernels import kernel


@kernel
def effector_quaternion(matrix, quaternion):
    """Rotation matrix (9,) to quaternion (4,)."""
    mju_mat2Quat(quaternion.ctypes.data, matrix.ctypes.data)


@kernel
def pose_error(model, data, site, at, matrix, target, quaternion, error, jacobian, scratch):
    """Error (6,) of a site's pose against its target, and the site's Jacobian (6, nv), at the joint angles in `data`.

    `at` (3,), `matrix` (9,): the site's pose in `data`, a view. `scratch`: (3, 4).
    """
    mj_kinematics(model, data)
    mj_comPos(model, data)
    for i in range(3):
        error[i] = target[i] - at[i]
    current, inverse, difference = scratch[0], scratch[1], scratch[2]
    mju_mat2Quat(current.ctypes.data, matrix.ctypes.data)
    mju_negQuat(inverse.ctypes.data, current.ctypes.data)
    mju_mulQuat(difference.ctypes.data, quaternion.ctypes.data, inverse.ctypes.data)
    mju_quat2Vel(error[3:].ctypes.data, difference.ctypes.data, 1.0)
    mj_jacSite(model, data, jacobian[:3].ctypes.data, jacobian[3:].ctypes.data, site)


@kernel
def move(model, joints, change, largest):
    """Move the joints by `change`, scaled down where one would turn by more than `largest` [rad]."""
    most = 0.0
    for value in change:
        most = max(most, abs(value))
    if most > largest:
        scale = largest / most
        for i in range(len(change)):
            change[i] *= scale
    mj_integratePos(model, joints.ctypes.data, change.ctypes.data, 1.0)
