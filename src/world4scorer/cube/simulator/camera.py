"""Rendering of the simulator without changing it: a camera has its own copy of the model.

Two kinds of picture. "fast" is for models that are trained here: no multisampling, no shadows, the arm as the simple
shapes that it collides with, the gripper's pads green; 30 times as fast as the other without a graphics card. "stock"
is what the environment `swm/OGBCube-v0` shows a released model. A model must be shown the kind that it was trained on.
"""

from __future__ import annotations

import copy
import os
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world4scorer.cube.errors import CubeError

if TYPE_CHECKING:
    import mujoco

    from world4scorer.cube.simulator.cube_env import CubeSimulator

RenderQuality = Literal["fast", "stock"]

VIEW: Final = "front_pixels"
"""OGBench's camera for pixel tasks: from the front, down onto the table."""
CUBE_HALF: Final = 0.02
"""Half of a cube's side, in metres."""
CUBE: Final = (0.96, 0.26, 0.33, 1.0)
GOAL: Final = (0.96, 0.26, 0.33, 0.35)
PAD: Final = (0.2, 0.9, 0.2, 1.0)
GRIPPER_COLOUR: Final = (0.61, 0.28, 0.82)
"""The gripper in `swm/OGBCube-v0`; plain OGBench has it black and grey."""
LARGE_MESH_FACES: Final = 3000
"""Faces from which a mesh is left out of fast pictures."""
HIDDEN_GROUP: Final = 5
"""A group of shapes that no picture shows."""
FAST_GROUPS: Final = (1, 1, 0, 1, 0, 0)
"""Groups of shapes in fast pictures: floor and cube (1), and what collides (3) in place of what is to be seen (2)."""

REMEDY: Final = (
    "install EGL (Debian and Ubuntu: apt-get install libegl1 libgl1), or OSMesa (libosmesa6) and set MUJOCO_GL=osmesa; "
    "models that see the state need no pictures"
)


class Camera:
    """Takes square pictures of a simulator's present moment."""

    def __init__(self, simulator: CubeSimulator, side: int, quality: RenderQuality = "fast") -> None:
        """`side` is in pixels; raises CubeError if this machine cannot render off screen."""
        if side < 1:
            raise CubeError(f"a picture needs a side of at least one pixel, not {side}")
        import mujoco

        self._simulator = simulator
        model = copy.copy(simulator.model)
        model.vis.global_.offwidth = model.vis.global_.offheight = side
        model.geom("object_0").rgba = CUBE
        model.geom("target_object_0").group = HIDDEN_GROUP
        self._option = mujoco.MjvOption()
        if quality == "fast":
            _simplify(model)
            self._option.geomgroup[:] = FAST_GROUPS
        else:
            for material in ("black", "pad_gray"):
                model.mat(f"ur5e/robotiq/{material}").rgba[:3] = GRIPPER_COLOUR
        self._renderer: Any = _renderer(model, side)
        if quality == "fast":
            self._renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = 0

    def picture(self, goal: ArrayLike | None = None) -> NDArray[np.uint8]:
        """The moment as (side, side, 3); with a goal (3,), a translucent cube shows where that is."""
        self._renderer.update_scene(self._simulator.data, camera=VIEW, scene_option=self._option)
        if goal is not None:
            _add_cube(self._renderer.scene, np.asarray(goal, dtype=np.float64))
        taken: NDArray[np.uint8] = self._renderer.render()
        return taken.copy()

    def close(self) -> None:
        """Free what the graphics driver holds."""
        self._renderer.close()


def _simplify(model: mujoco.MjModel) -> None:
    """Leave out what costs time and tells nothing. The renderer takes over `vis.quality` when it is made."""
    quality = model.vis.quality
    quality.offsamples, quality.shadowsize = 0, 0
    quality.numslices, quality.numstacks, quality.numquads = 8, 6, 1
    meshes = model.geom_dataid
    large = (meshes >= 0) & (model.mesh_facenum[meshes] > LARGE_MESH_FACES)
    model.geom_group[large] = HIDDEN_GROUP
    for wall in range(4):
        model.geom(f"wall_{wall}").group = HIDDEN_GROUP
    for pad in ("right_pad1", "right_pad2", "left_pad1", "left_pad2"):
        model.geom(f"ur5e/robotiq/{pad}").rgba = PAD


def _renderer(model: mujoco.MjModel, side: int) -> mujoco.Renderer:
    import mujoco

    try:
        return mujoco.Renderer(model, side, side)
    except (ImportError, OSError, RuntimeError, AttributeError, mujoco.FatalError) as error:
        backend = os.environ.get("MUJOCO_GL", "GLFW, its default")
        raise CubeError(f"MuJoCo cannot render off screen (MUJOCO_GL: {backend}): {error}; {REMEDY}") from error


def _add_cube(scene: mujoco.MjvScene, place: NDArray[np.float64]) -> None:
    import mujoco

    mujoco.mjv_initGeom(
        scene.geoms[scene.ngeom],
        mujoco.mjtGeom.mjGEOM_BOX,
        np.full(3, CUBE_HALF),
        place,
        np.eye(3).ravel(),
        np.asarray(GOAL, dtype=np.float32),
    )
    scene.ngeom += 1
