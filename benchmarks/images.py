"""Reading camera images for training: JPEGs of NAVSIM's size to four views of the paper's, 672 x 1148.

    python benchmarks/images.py
    pip install simplejpeg && python benchmarks/images.py    # also libjpeg-turbo with scaled decoding

Writes results/images.json and results/images.md. Pictures are noise with the spectrum of natural images (amplitude
falls with frequency), saved as JPEG. Times are of one core, the least of several rounds, in processor time. How many
cores does a GPU host need for 60 scenes a second, four views each?
"""

from __future__ import annotations

import io
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
import tyro
from PIL import Image

from world4scorer.planner.model import paper
from world4scorer.planner.model.images import fit_view, normalise, read_view

ROOT: Final = Path(__file__).resolve().parents[1]
SCENES_A_SECOND: Final = 60
"""Need of a GPU host."""
WIDTH, HEIGHT = 1920, 1080
"""NAVSIM's images."""


@dataclass(frozen=True)
class Options:
    """What to measure."""

    images: int = 8
    rounds: int = 5
    quality: int = 85
    """Of the JPEGs."""
    out: Path = ROOT / "results" / "images"


def picture(seed: int) -> Image.Image:
    """Noise like a photograph: amplitudes fall with frequency, colours vary less than brightness."""
    rng = np.random.default_rng(seed)
    rows, columns = np.fft.fftfreq(HEIGHT)[:, None], np.fft.rfftfreq(WIDTH)
    fall = np.maximum(np.hypot(rows, columns), 1.0 / WIDTH) ** -1.5

    def plane() -> Any:
        spectrum = np.fft.rfft2(rng.normal(size=(HEIGHT, WIDTH))) * fall
        values = np.fft.irfft2(spectrum, (HEIGHT, WIDTH))
        return values / values.std()

    light = plane()
    planes = np.stack([light + 0.2 * plane() for _ in range(3)], -1)
    return Image.fromarray(np.clip(127 + 50 * planes, 0, 255).astype(np.uint8))


def seconds(work: Callable[[Path], Any], paths: list[Path], rounds: int) -> float:
    """Processor time of one image; the least of all rounds."""
    found = []
    for _ in range(rounds + 1):
        start = time.process_time()
        for path in paths:
            work(path)
        found.append((time.process_time() - start) / len(paths))
    return min(found[1:])


def variants() -> dict[str, Callable[[Path], Any]]:
    """Ways to read a view."""
    config = paper()
    ways: dict[str, Callable[[Path], Any]] = {
        "as training reads them (Pillow)": lambda path: read_view(path, config),
        "Pillow, without resizing": lambda path: np.asarray(Image.open(path)),
    }
    if find_spec("simplejpeg") is not None:
        import simplejpeg

        height = config.image_height + config.crop_top

        def turbo(path: Path, **options: Any) -> Any:
            return fit_view(Image.fromarray(simplejpeg.decode_jpeg(path.read_bytes(), **options)), config)

        ways["simplejpeg"] = turbo
        ways["simplejpeg, decoded at 5/8"] = lambda path: turbo(path, min_height=height, min_width=config.image_width)
    return ways


def main(options: Options) -> None:
    """Measure and write."""
    torch.set_num_threads(1)
    config = paper()
    views = config.cameras
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.jpg" for number in range(options.images)]
        for number, path in enumerate(paths):
            stream = io.BytesIO()
            picture(number).save(stream, "JPEG", quality=options.quality)
            path.write_bytes(stream.getvalue())
        size = sum(path.stat().st_size for path in paths) / len(paths)
        exact = read_view(paths[0], config).astype(float)
        rows = []
        for name, way in variants().items():
            found = np.asarray(way(paths[0]))
            each = seconds(way, paths, options.rounds)
            rows.append(
                {
                    "way": name,
                    "ms": 1e3 * each,
                    "scenes_a_second": 1.0 / (views * each),
                    "cores": SCENES_A_SECOND * views * each,
                    "difference": float(np.abs(found - exact).mean()) if found.shape == exact.shape else None,
                }
            )
        scene = torch.from_numpy(np.stack([read_view(path, config) for path in (paths * views)[:views]]))
        to_floats = seconds(lambda _: normalise(scene), paths[:1], options.rounds)
    content = {"bytes": size, "views": views, "rows": rows, "normalise_ms": 1e3 * to_floats, "need": SCENES_A_SECOND}
    options.out.with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n")
    lines = [
        "# Reading images",
        "",
        f"Made by `python benchmarks/images.py`: JPEGs of {WIDTH} x {HEIGHT} ({size / 1e3:.0f} kB each) to {views} "
        f"views of {config.image_width} x {config.image_height}; processor time of one core. The need is "
        f"{SCENES_A_SECOND} scenes a second. The difference is to what training reads, in steps of 255. To floats, "
        f"which the training process does for all views of a scene: {1e3 * to_floats:.1f} ms.",
        "",
        "| | ms an image | scenes a second, one core | cores for the need | mean difference |",
        "|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        difference = "" if row["difference"] is None else f"{row['difference']:.2f}"
        lines.append(
            f"| {row['way']} | {row['ms']:.1f} | {row['scenes_a_second']:.1f} | {row['cores']:.1f} | {difference} |"
        )
    options.out.with_suffix(".md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main(tyro.cli(Options))
