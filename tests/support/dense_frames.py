"""Views with dense labels that need no city: a coloured block in the front view decides what the map holds."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

from world4scorer.city.render.cameras import DEFAULT_CAMERAS, CameraRig
from world4scorer.datasets.dense.labels import CELLS, COARSE_CELLS, DenseLabels, MapBit
from world4scorer.datasets.dense.views_file import DenseFrame, DenseViews, ViewGeometry, write_dense_views
from world4scorer.planner.model.dense_encoder_config import DenseEncoderConfig

HEIGHT, WIDTH, CROP = 64, 96, 16
"""Pixels of an image, and rows of it that are not used."""
NARROW = DenseEncoderConfig(fine=8, middle=8, patch_width=12, lifted=4, sharp=2, map_width=8, map_inner=8, place=2)
"""Widths of a small encoder."""


def small_geometry() -> ViewGeometry:
    rig = CameraRig.default().select(DEFAULT_CAMERAS)
    intrinsics = rig.intrinsics(HEIGHT, WIDTH)
    intrinsics[:, 1, 2] -= CROP
    return ViewGeometry(HEIGHT, WIDTH, CROP, intrinsics.tolist(), rig.rotation.tolist(), rig.translation.tolist())


def random_labels(rng: np.random.Generator) -> DenseLabels:
    shape = small_geometry().label_shape
    return DenseLabels(
        rng.integers(0, 14, shape, np.uint8),
        rng.integers(0, 256, shape, np.uint8),
        rng.integers(0, 256, CELLS, np.uint8),
        rng.integers(0, 256, COARSE_CELLS, np.uint8),
        rng.integers(-127, 128, (*COARSE_CELLS, 2), np.int8),
    )


def learnable_labels(wide: bool) -> DenseLabels:
    """A street ahead, wide or narrow, that leads straight on."""
    shape = small_geometry().label_shape
    bits, direction = np.zeros(CELLS, np.uint8), np.zeros(COARSE_CELLS, np.uint8)
    half = 24 if wide else 8
    bits[:, 64 - half : 64 + half] = MapBit.DRIVABLE | MapBit.LANE
    direction[:, 32 - half // 2 : 32 + half // 2] = 128
    flat = np.full(shape, 3 if wide else 5, np.uint8)
    return DenseLabels(flat, np.full(shape, 100, np.uint8), bits, direction, np.zeros((*COARSE_CELLS, 2), np.int8))


def coloured_views(rng: np.random.Generator, wide: bool) -> list[bytes]:
    files = []
    for _ in DEFAULT_CAMERAS:
        pixels = rng.integers(60, 90, (HEIGHT, WIDTH, 3), dtype=np.uint8)
        pixels[30:, :] = (200, 40, 40) if wide else (40, 40, 200)
        stream = io.BytesIO()
        Image.fromarray(pixels).save(stream, format="JPEG", quality=90)
        files.append(stream.getvalue())
    return files


def write_frames(path: Path, frames: int, seed: int = 0, log: str = "log") -> DenseViews:
    """A file of frames; every second one has a twin."""
    rng = np.random.default_rng(seed)
    with write_dense_views(path, small_geometry()) as append:
        for number in range(frames):
            wide = bool(rng.random() < 0.5)
            twins = coloured_views(rng, wide) if number % 2 else None
            pose = np.array([number, 0.0, 0.1])
            labels = learnable_labels(wide)
            append([DenseFrame(f"{log}-{number}", log, pose, coloured_views(rng, wide), twins, labels)])
    return DenseViews.open([path])
