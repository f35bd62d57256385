"""The verbs of `w4s city`. Heavy imports happen inside the verb that needs them.

w4s city make --preset quick --out city
w4s city info city
w4s city film city/navsim_logs/trainval/berlin-west_000_v23_00555.pkl
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final, Literal

import tyro

from world4scorer.commands.arguments import Folder, GivenFolder, MaybeCount, MaybeFile, MaybeFolder, called

Preset = Literal["tiny", "quick", "standard"]
Log = Annotated[str, tyro.conf.Positional, called("LOG")]


def make(
    out: Folder,
    preset: Preset = "quick",
    seed: int = 0,
    height: MaybeCount = None,
    width: MaybeCount = None,
    all_cameras: bool = False,
    devkit_maps: bool = False,
    workers: MaybeCount = None,
) -> int:
    """Make a city: streets, traffic, an expert, cameras.

    Written as a NAVSIM dataset. May be stopped and run again: what is finished is kept. Same preset and seed, same
    bytes.

    Example: w4s city make --preset quick --out city

    Args:
        out: Folder of the dataset.
        preset: tiny: seconds, to try things. quick: 8,000 frames to train on, minutes. standard: about 40,000 frames.
        seed: Of traffic, egos, scenery and weather.
        height: Of images in pixels, if not the preset's.
        width: Of images in pixels, if not the preset's; 1148 x 672 is what the paper's model sees.
        all_cameras: Draw all eight cameras instead of four.
        devkit_maps: Write the maps under names that the NAVSIM devkit knows, so that it can read the dataset.
        workers: Processes; one for each core unless given.
    """
    from world4scorer.city import config
    from world4scorer.city.make import make_city
    from world4scorer.navsim.cameras import CAMERAS

    base = config.PRESETS[preset]
    chosen = config.preset(
        preset,
        seed=seed,
        height=base.height if height is None else height,
        width=base.width if width is None else width,
        cameras=CAMERAS if all_cameras else base.cameras,
        devkit_maps=devkit_maps,
    )
    start = time.monotonic()
    manifest = make_city(chosen, out, workers=workers, show_progress=True)
    frames = sum(split["frames"] for split in manifest["splits"].values())
    took = time.monotonic() - start
    print(f"{out}: {frames:,} frames in {took:.0f} s ({frames / max(took, 1e-9):.0f} a second)")
    for name, split in manifest["splits"].items():
        places = ", ".join(split["places"])
        print(f"  {name}: {split['situations']['frames']:,} scenes of {split['logs']} logs in {places}")
    first = next(iter(manifest["splits"]))
    print(f"next: w4s prepare --data {out} --split {first} --store {out}/store/{first}")
    return 0


def info(root: GivenFolder, /, out: MaybeFile = None) -> int:
    """Tell what a city dataset holds: places, splits, situations, weather, size.

    Example: w4s city info city

    Args:
        root: Folder of the dataset.
        out: Also write it to a file (.json or .md).
    """
    from world4scorer.city.info import city_info
    from world4scorer.city.info_report import print_city, write_info

    found = city_info(root)
    if out is not None:
        write_info(found, out)
    print_city(found)
    return 0


def film(log: Log, /, data: MaybeFolder = None, out: MaybeFile = None, height: int = 720, speed: float = 1.0) -> int:
    """Film a log of any dataset in NAVSIM's layout: its cameras and the view from above.

    Example: w4s city film city/navsim_logs/trainval/NAME.pkl

    Args:
        log: Path of the log (`DATA/navsim_logs/SPLIT/NAME.pkl`), or its name if --data is given.
        data: Dataset folder, if the log is given by name.
        out: The film (.mp4, .webp or .gif); NAME.mp4 here unless given.
        height: Of the film in pixels.
        speed: Of the film; 2 plays twice as fast as it was.
    """
    from world4scorer.film.log_film import film_log

    path = Path(log)
    if data is None and (path.suffix != ".pkl" or len(path.resolve().parents) < 3):
        raise ValueError(
            f"{log}: not the path of a log (DATA/navsim_logs/SPLIT/NAME.pkl); give --data to find a log by its name"
        )
    name = path.stem if path.suffix == ".pkl" else log
    out = Path(f"{name}.mp4") if out is None else out
    root = path.resolve().parents[2] if data is None else data
    split = path.resolve().parent.name if data is None else None
    print(film_log(root, name, out, data_split=split, height=height, speed=speed, show_progress=True))
    return 0


VERBS: Final[dict[str, Callable[..., int]]] = {"make": make, "info": info, "film": film}
