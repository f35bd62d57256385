"""Clips written by hand, in CARLA's own words: nothing of ours helps to make them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from math import cos, pi, radians, sin
from pathlib import Path

CAMERAS = ("rgb_front", "rgb_back", "rgb_front_left", "rgb_front_right")
NAME = "TurnLeft_Town05_Route68_Weather8"
RADIUS = 20.0
SPEED = 5.0


def left_turn(frame: int) -> dict:
    """A car whose middle goes along a circle to the left; CARLA's y axis points to the right of its x axis."""
    turned = SPEED * 0.1 * frame / RADIUS
    x, y, yaw = RADIUS * sin(turned), -RADIUS * (1 - cos(turned)), -turned
    return {
        "x": x,
        "y": y,
        "theta": (yaw + pi / 2) % (2 * pi),
        "speed": SPEED,
        "acceleration": [0.0, -(SPEED**2) / RADIUS, 9.8],
        "x_command_near": 20.0,
        "y_command_near": -20.0,
        "x_command_far": 20.0,
        "y_command_far": -60.0,
        "next_command": 1,
        "bounding_boxes": [
            {
                "class": "ego_vehicle",
                "id": "7",
                "location": [x, y, 0.0],
                "rotation": [0.0, 0.0, yaw * 180 / pi],
                "extent": [2.45, 0.92, 0.75],
                "world2ego": [],
            },
            box("vehicle", 30.0, 3.0, yaw=90.0),
            box("walker", -10.0, -4.0, half=(0.2, 0.3)),
            box("traffic_light", 5.0, 5.0),
            box("traffic_sign", 5.0, 6.0),
            box("dragon", 5.0, 7.0),
        ],
        "sensors": {},
    }


def box(kind: str, x: float, y: float, *, yaw: float = 0.0, half=(2.0, 1.0), z: float = 0.8) -> dict:
    place = [x, y, z]
    return {
        "class": kind,
        "id": "1",
        "location": place,
        "center": place,
        "rotation": [0.0, 0.0, yaw],
        "extent": [*half, 0.8],
    }


def write_clip(
    folder: Path,
    frames: int = 61,
    moment: Callable[[int], dict] = left_turn,
    name: str = NAME,
    images: int | None = None,
) -> Path:
    clip = folder / name
    (clip / "anno").mkdir(parents=True)
    for frame in range(frames):
        (clip / "anno" / f"{frame:05d}.json.gz").write_bytes(gzip.compress(json.dumps(moment(frame)).encode()))
    for camera in CAMERAS:
        (clip / "camera" / camera).mkdir(parents=True)
        for frame in range(frames if images is None else images):
            (clip / "camera" / camera / f"{frame:05d}.jpg").write_bytes(b"not looked at")
    return clip


def yaw_matrix(degrees: float, x: float, y: float, z: float) -> list[list[float]]:
    sine, cosine = sin(radians(degrees)), cos(radians(degrees))
    return [[cosine, -sine, 0, x], [sine, cosine, 0, y], [0, 0, 1, z], [0, 0, 0, 1]]
