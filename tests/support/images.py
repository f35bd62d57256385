"""Camera images of made-up logs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def write_image(sensors: Path, path: str, pixels: NDArray[np.uint8]) -> None:
    """Write an image (H, W, 3) as JPEG to the path that a camera names below the sensor folder."""
    (sensors / path).parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(sensors / path, format="JPEG", quality=90)
