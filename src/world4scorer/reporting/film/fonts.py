"""The letters of films: those that matplotlib brings along, so that films and figures match on every machine."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from PIL import ImageFont


@cache
def load_font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """A font of this size [pixels]; its digits are equally wide."""
    import matplotlib

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name, size)
