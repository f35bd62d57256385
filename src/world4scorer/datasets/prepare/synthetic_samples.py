"""Planner inputs of second-stage scenes, straight from their pickles.

Nobody drove on from there: the logged future, which no planner is given, is the current pose.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

try:
    from PIL import Image
except ImportError as error:
    from world4scorer.jobs.extras import missing

    raise missing(error, "preparing scenes", extra="maps") from error

from world4scorer.datasets.navsim.cameras import VIEWS, Camera
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.synthetic import SyntheticScene, read_synthetic_scene
from world4scorer.datasets.prepare.log_samples import frame_before
from world4scorer.datasets.prepare.samples import Samples
from world4scorer.engine.scene.indices import LOGGED_POSES, PLAN_POSES
from world4scorer.jobs.files import check_regular


def synthetic_samples(scenes: Path, sensors: Path, tokens: Sequence[str], history: int = 4) -> Samples:
    """Samples of second-stage scenes by token, from the pickles in `scenes`; images lie below `sensors`."""
    found = [read_synthetic_scene(scenes / f"{token}.pkl") for token in tokens]
    cameras = [_cameras(scene, history) for scene in found]
    frames = [scene.frames[history - 1] for scene in found]
    earlier = [_frame_before(scene, sensors, history) for scene in found]
    status = [np.concatenate([np.zeros(3), now.velocity, now.acceleration, now.command]) for now in frames]
    return Samples(
        tokens=tuple(tokens),
        log_names=tuple(scene.log_name for scene in found),
        sensors=sensors,
        images=tuple(tuple(camera.path for camera in row) for row in cameras),
        ego_status=np.array(status, np.float32),
        future=np.zeros((len(found), LOGGED_POSES, 3)),
        future_poses=np.full(len(found), PLAN_POSES, np.int64),
        intrinsics=np.array([[camera.intrinsics for camera in row] for row in cameras]),
        rotation=np.array([[camera.rotation for camera in row] for row in cameras]),
        translation=np.array([[camera.translation for camera in row] for row in cameras]),
        image_size=np.array([_size(sensors / row[0].path) for row in cameras], np.int32),
        images_before=tuple(tuple(one["images_before"]) for one in earlier),
        pose_before=np.array([one["pose_before"] for one in earlier], np.float32),
    )


def _frame_before(scene: SyntheticScene, sensors: Path, history: int) -> dict[str, Any]:
    """What is known of the frame before; its images need not be there, as planners of NAVSIM look at one frame."""
    now, before = scene.frames[history - 1], scene.frames[history - 2]
    found = frame_before(before, now)
    return found if all((sensors / path).is_file() for path in found["images_before"]) else frame_before(None, now)


def _cameras(scene: SyntheticScene, history: int) -> list[Camera]:
    if len(scene.frames) < history:
        raise DatasetError(f"synthetic scene {scene.token}: {len(scene.frames)} frames, {history} are needed")
    now = scene.frames[history - 1]
    missing = [name for name in VIEWS if name not in now.cameras]
    if missing:
        raise DatasetError(f"{now.where}: no camera {missing[0]}; a planner needs {', '.join(VIEWS)}")
    return [now.cameras[name] for name in VIEWS]


def _size(path: Path) -> tuple[int, int]:
    try:
        check_regular(path)
        with Image.open(path) as image:
            return image.size
    except OSError as error:
        raise DatasetError(f"{path}: no readable image ({error}) of a second-stage scene") from error
