"""Film files: MP4 (H.264), animated WebP, GIF; written frame by frame."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import chain, product
from pathlib import Path
from typing import IO, Any, Final

from PIL import Image, ImageChops, ImageColor

from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.drawing import style
from world4scorer.jobs.files import atomic_write

SUFFIXES: Final = (".mp4", ".webp", ".gif")
MP4_QUALITY: Final = 21
"""Constant rate factor of x264: 18 is visually lossless, 28 is poor."""
WEBP_QUALITY: Final = 82
"""0 to 100."""
MP4_EXTRA: Final = "city"
"""Extra that installs the MP4 encoder."""


def check_film(path: Path, fps: float) -> None:
    """Raise a DatasetError for an unsupported suffix or frame rate."""
    if path.suffix.lower() not in SUFFIXES:
        raise DatasetError(f"{path}: a film ends in {', '.join(SUFFIXES)}")
    if path.suffix.lower() == ".mp4":
        _video()
    if path.suffix.lower() == ".gif" and (round(100 / fps) < 2 or abs(100 / fps - round(100 / fps)) > 1e-6):
        raise DatasetError(f"{path}: GIF counts in hundredths of a second: 2, 4, 5, 10, 20, 25 or 50 pictures a second")


def write_film(path: Path, pictures: Iterable[Image.Image], fps: float) -> int:
    """Write RGB images of equal size at `fps` atomically; returns their number."""
    check_film(path, fps)
    write = {".mp4": _write_mp4, ".webp": _write_webp, ".gif": _write_gif}[path.suffix.lower()]
    with atomic_write(path) as stream:
        return write(stream, iter(pictures), fps)


def _video() -> Any:
    try:
        import av
    except ImportError:
        raise DatasetError(
            f"MP4 needs PyAV: `pip install 'world4scorer[{MP4_EXTRA}]'` or `pip install av`; "
            "or name the film .webp, which needs nothing more"
        ) from None
    return av


def _write_mp4(stream: IO[bytes], pictures: Iterator[Image.Image], fps: float) -> int:
    av = _video()
    count = 0
    # The index in front lets a browser play the film while it is still loading.
    with av.open(stream, "w", format="mp4", options={"movflags": "faststart"}) as film:
        video = None
        for picture in pictures:
            if video is None:
                video = film.add_stream("libx264", rate=Fraction(fps).limit_denominator(1001))
                video.width, video.height = picture.size
                video.pix_fmt = "yuv420p"
                video.options = {"crf": str(MP4_QUALITY), "preset": "veryfast", "tune": "animation"}
            for packet in video.encode(av.VideoFrame.from_image(picture)):
                film.mux(packet)
            count += 1
        if video is not None:
            for packet in video.encode():
                film.mux(packet)
    return count


def _write_gif(stream: IO[bytes], pictures: Iterator[Image.Image], fps: float) -> int:
    first = next(pictures)
    palette = _palette(first)
    count = 0

    def in_palette() -> Iterator[Image.Image]:
        nonlocal count
        for picture in chain([first], pictures):
            count += 1
            yield picture.quantize(palette=palette, dither=Image.Dither.NONE)

    frames = in_palette()
    next(frames).save(
        stream, format="GIF", save_all=True, append_images=frames, duration=round(1000 / fps), loop=0, optimize=False
    )
    return count


def _palette(first: Image.Image) -> Image.Image:
    """256 colours for the whole film, to avoid flicker.

    Colours of the drawing style, a coarse colour cube for camera images, and the rest from the first frame.
    """
    styled = [*style.TRACK_FILL.values(), *style.LAYER_FILL.values(), style.ROUTE, style.EGO, style.HUMAN]
    styled += [style.RED_LIGHT, style.CENTERLINE, style.GROUND, style.INK, style.FAINT, style.PAPER, style.FAULT]
    styled += style.utility_colours(range(8))
    fixed: list[tuple[int, ...]] = list(dict.fromkeys(ImageColor.getrgb(colour) for colour in styled))
    fixed += product((40, 100, 160, 220), repeat=3)
    chosen = first.quantize(256 - len(fixed), method=Image.Quantize.MEDIANCUT).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([*(channel for colour in fixed for channel in colour), *chosen])
    return palette


def _write_webp(stream: IO[bytes], pictures: Iterator[Image.Image], fps: float) -> int:
    """Write only the changed rectangle of each frame; Pillow would hold all frames in memory.

    Container format: https://developers.google.com/speed/webp/docs/riff_container.
    """
    last: Image.Image | None = None
    count, begin = 0, stream.tell()
    for picture in pictures:
        width, height = picture.size
        if last is None:
            stream.write(_chunk(b"RIFF", b"WEBP")[:12])
            animated = 2
            stream.write(_chunk(b"VP8X", bytes([animated, 0, 0, 0]) + _uint24(width - 1) + _uint24(height - 1)))
            stream.write(_chunk(b"ANIM", bytes(6)))  # black background, infinite loop
        left, top, right, low = _changed_box(last, picture)
        content = _webp_pixels(picture.crop((left, top, right, low)))
        start, end = round(count * 1000 / fps), round((count + 1) * 1000 / fps)
        place = _uint24(left // 2) + _uint24(top // 2) + _uint24(right - left - 1) + _uint24(low - top - 1)
        replace = 2
        stream.write(_chunk(b"ANMF", place + _uint24(end - start) + bytes([replace]) + content))
        last = picture
        count += 1
    end = stream.tell()
    stream.seek(begin + 4)
    stream.write((end - begin - 8).to_bytes(4, "little"))
    stream.seek(end)
    return count


def _changed_box(last: Image.Image | None, picture: Image.Image) -> tuple[int, int, int, int]:
    """Bounding box of changed pixels; WebP needs even left and top."""
    if last is None:
        return (0, 0, *picture.size)
    box = ImageChops.difference(last, picture).getbbox()
    left, top, right, low = box or (0, 0, 2, 2)
    return left - left % 2, top - top % 2, right, low


def _webp_pixels(picture: Image.Image) -> bytes:
    """The pixel chunk of an image's WebP encoding."""
    file = io.BytesIO()
    picture.save(file, format="WEBP", quality=WEBP_QUALITY, method=1)
    content = file.getvalue()
    at = 12
    while content[at : at + 4] not in (b"VP8 ", b"VP8L"):
        at += 8 + _even(int.from_bytes(content[at + 4 : at + 8], "little"))
    length = int.from_bytes(content[at + 4 : at + 8], "little")
    return content[at : at + 8 + _even(length)]


def _chunk(name: bytes, content: bytes) -> bytes:
    return name + len(content).to_bytes(4, "little") + content + bytes(_even(len(content)) - len(content))


def _uint24(number: int) -> bytes:
    return number.to_bytes(3, "little")


def _even(number: int) -> int:
    return number + number % 2
