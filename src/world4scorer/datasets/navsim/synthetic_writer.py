"""Write second-stage scenes in the devkit's format: one pickle each, of builtins and NumPy arrays only."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from world4scorer.datasets.navsim.cameras import CAMERAS
from world4scorer.datasets.navsim.devkit_classes import dump_for_devkit
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.frames import COMMANDS
from world4scorer.datasets.navsim.log_writer import FrameRecord, raw_annotations, raw_camera
from world4scorer.datasets.navsim.synthetic import SYNTHETIC_TOKEN_LENGTH
from world4scorer.jobs.files import atomic_write


def write_synthetic_scene(
    folder: str | os.PathLike[str],
    token: str,
    records: Sequence[FrameRecord],
    *,
    log_name: str,
    original_scene: str,
    original_token: str,
    history: int = 4,
    cameras: Collection[str] = CAMERAS,
) -> Path:
    """Write `<token>.pkl`: frames in time order, of which number `history` is now; returns the path.

    `original_scene` is the frame of the log `log_name` at the same time, `original_token` the first-stage frame that
    the scene follows. Only frames up to now have images, of these `cameras`.
    """
    path = Path(folder) / f"{token}.pkl"
    if len(token) != SYNTHETIC_TOKEN_LENGTH:
        raise DatasetError(f"{path}: second-stage tokens have {SYNTHETIC_TOKEN_LENGTH} characters, this {len(token)}")
    if len(records) < history:
        raise DatasetError(f"{path}: {len(records)} frames, at least {history} are needed")
    frames = [_raw_frame(record, cameras if index < history else ()) for index, record in enumerate(records)]
    frames[history - 1]["token"] = token
    content = {
        "scene_metadata": {
            "log_name": log_name,
            "scene_token": token,
            "map_name": records[0].map_location,
            "initial_token": token,
            "num_history_frames": history,
            "num_future_frames": len(records) - history,
            "corresponding_original_scene": original_scene,
            "corresponding_original_initial_token": original_token,
        },
        "frames": frames,
        "extended_traffic_light_data": None,
        "extended_detections_tracks": None,
    }
    with atomic_write(path) as stream:
        dump_for_devkit(content, stream)
    return path


def _raw_frame(record: FrameRecord, cameras: Collection[str]) -> dict[str, Any]:
    boxes = raw_annotations(record.annotations)
    shown = {camera.name: raw_camera(camera) for camera in record.cameras if camera.name in cameras}
    return {
        "token": record.token,
        "timestamp": int(record.time_us),
        "roadblock_ids": [str(block) for block in record.roadblock_ids],
        "traffic_lights": [(int(connector), bool(red)) for connector, red in record.traffic_lights],
        "annotations": {
            "boxes": boxes["gt_boxes"],
            "names": boxes["gt_names"],
            "velocity_3d": boxes["gt_velocity_3d"],
            "instance_tokens": boxes["instance_tokens"],
            "track_tokens": boxes["track_tokens"],
        },
        "ego_status": {
            "ego_pose": np.asarray(record.ego_pose, np.float64),
            "ego_velocity": np.asarray(record.velocity, np.float32),
            "ego_acceleration": np.asarray(record.acceleration, np.float32),
            "driving_command": np.eye(len(COMMANDS), dtype=np.int64)[record.command],
            "in_global_frame": True,
        },
        "lidar_path": None,
        "camera_dict": {name.lower(): shown.get(name, {}) for name in CAMERAS},
    }
