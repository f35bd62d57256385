"""Training `Samples` from prepared clips."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.prepare.samples import Samples
from world4scorer.driving.clips.clip import image_name
from world4scorer.driving.clips.errors import ClipError
from world4scorer.driving.clips.prepared import PreparedClip, PreparedClips, sample_token
from world4scorer.driving.clips.rig import CAMERA_FOLDERS
from world4scorer.engine.routes.commands import one_hot
from world4scorer.engine.scene.indices import LOGGED_POSES


def samples_of(clips: PreparedClips, route_point: bool) -> Samples:
    """All samples; ego status of 11 values, or 13 with the route point."""
    if not clips.clips:
        raise ClipError(f"{clips.folder}: no clip in it")
    tokens: list[str] = []
    names: list[str] = []
    images: list[tuple[str, ...]] = []
    parts: dict[str, list[NDArray[Any]]] = {}
    for name, folder in clips.clips.items():
        clip = clips[name]
        tokens += [sample_token(name, frame) for frame in clip.moments]
        names += [name] * len(clip.moments)
        for frame in clip.moments:
            images.append(tuple(f"{folder}/{image_name(camera, int(frame))}" for camera in range(len(CAMERA_FOLDERS))))
        for key, values in _arrays(clip, route_point).items():
            parts.setdefault(key, []).append(values)
    joined: dict[str, Any] = {key: np.concatenate(values) for key, values in parts.items()}
    return Samples(tokens=tuple(tokens), log_names=tuple(names), sensors=clips.images, images=tuple(images), **joined)


def _arrays(clip: PreparedClip, route_point: bool) -> dict[str, NDArray[Any]]:
    frames, count = clip.moments, len(clip.moments)
    commands = np.array([one_hot(int(option)) for option in clip.commands[frames]]).reshape(count, -1)
    status: list[NDArray[Any]] = [np.zeros((count, 3)), clip.velocity[frames], clip.acceleration[frames], commands]
    if route_point:
        status.append(clip.route_points[frames])
    futures = [clip.future(int(frame)) for frame in frames]
    padded = [np.concatenate([poses, np.repeat(poses[-1:], LOGGED_POSES - len(poses), 0)]) for poses in futures]
    return {
        "ego_status": np.concatenate(status, 1).astype(np.float32),
        "future": np.array(padded).reshape(count, LOGGED_POSES, 3),
        "future_poses": np.array([len(poses) for poses in futures], np.int64),
        "intrinsics": np.repeat(clip.intrinsics[None], count, 0),
        "rotation": np.repeat(clip.rotation[None], count, 0),
        "translation": np.repeat(clip.translation[None], count, 0),
        "image_size": np.repeat(clip.image_size[None], count, 0),
    }
