"""A dataset of a few tiny pictures in NAVSIM's layout: coloured blocks on a street-like gradient, four cameras."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.support.images import write_image
from world4scorer.datasets.navsim.annotations import Annotations
from world4scorer.datasets.navsim.cameras import VIEWS, Camera
from world4scorer.datasets.navsim.filters import SceneFilter, Split, write_split
from world4scorer.datasets.navsim.log_writer import FrameRecord, write_log
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.planner.model.config import ModelConfig

SPLIT, FOLDER = "tiny_train", "trainval"
HISTORY = 4
SMALL = ModelConfig(
    image_height=42, image_width=56, crop_top=14, vit_width=24, vit_layers=1, vit_heads=2, registers=2, lora_rank=0
)


def picture(generator: np.random.Generator) -> np.ndarray:
    pixels = np.empty((56, 56, 3))
    pixels[:] = np.linspace(200, 60, 56)[:, None, None]
    top, left = generator.integers(14, 40, 2)
    pixels[top : top + 14, left : left + 14] = generator.integers(0, 255, 3)
    return pixels.astype(np.uint8)


def make_dataset(root: Path, logs: int = 2, frames: int = 14, skipped: int | None = None) -> Path:
    """`skipped` is the number of a key frame that the first log lacks."""
    generator = np.random.default_rng(0)
    layout = DataFolder(root)
    names = [f"log-{number}" for number in range(logs)]
    for number, name in enumerate(names):
        records = []
        for index in range(frames):
            if number == 0 and index == skipped:
                continue
            token = f"{number:08x}{index:08x}"
            cameras = [
                Camera(view, f"{name}/{view}/{token}.jpg", np.eye(3), np.zeros(3), np.eye(3), np.zeros(5))
                for view in VIEWS
            ]
            for camera in cameras:
                write_image(layout.sensors(FOLDER), camera.path, picture(generator))
            records.append(
                FrameRecord(
                    token=token,
                    time_us=1_630_000_000_000_000 + 500_000 * index + int(generator.integers(-300, 300)),
                    scene_name="scene",
                    scene_token=name,
                    map_location="us-ma-boston",
                    ego_pose=np.array([index, 0.0, 0.0]),
                    velocity=np.array([2.0, 0.0]),
                    acceleration=np.zeros(2),
                    command=1,
                    roadblock_ids=["1"],
                    traffic_lights=[],
                    annotations=Annotations.none(),
                    cameras=cameras,
                )
            )
        write_log(layout.log(FOLDER, name), name, records)
    chosen = SceneFilter(
        num_history_frames=HISTORY, num_future_frames=1, frame_interval=1, has_route=False, log_names=tuple(names)
    )
    write_split(layout.splits, Split(SPLIT, FOLDER, chosen))
    return root
