"""Fonts of films: those bundled with matplotlib, so that films and figures match."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from PIL import ImageFont


@cache
def load_font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """Font of a size [pixels], with tabular digits."""
    import matplotlib

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name, size)
