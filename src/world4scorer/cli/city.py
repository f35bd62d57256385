"""The subcommands of `w4s city`. Each imports what it needs when it runs.

w4s city make --preset quick --out city
w4s city info city
w4s city dense city
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Final, Literal

from world4scorer.cli.arguments import (
    HIDE_DEFAULT,
    ExecutorFlags,
    Folder,
    OptionalCount,
    OptionalFile,
    PositionalFolder,
    metavar,
)
from world4scorer.jobs.executor_options import DEFAULT_EXECUTOR_OPTIONS

Preset = Literal["tiny", "quick", "standard", "large"]
Share = Annotated[float, metavar("SHARE")]
OptionalPreset = Annotated[Preset | None, HIDE_DEFAULT]


def make(
    out: Folder,
    preset: Preset = "quick",
    seed: int = 0,
    height: OptionalCount = None,
    width: OptionalCount = None,
    all_cameras: bool = False,
    devkit_maps: bool = False,
    two_stage: bool = False,
    perturbed: Share = 0.0,
    executor: ExecutorFlags = DEFAULT_EXECUTOR_OPTIONS,
) -> int:
    """Make a city: streets, traffic, an expert, cameras.

    Written as a NAVSIM dataset. Can be interrupted and run again: finished parts are kept. Same preset and seed, same
    bytes.

    Example: w4s city make --preset quick --out city

    Args:
        out: Folder of the dataset.
        preset: tiny: seconds, for tests. quick: 8,000 training scenes, minutes. standard: 35,000, for results. large:
            150,000 with 200,000 frames, for pretraining.
        seed: Seed of traffic, egos, scenery and weather.
        height: Height of images [pixels]; the preset's unless given.
        width: Width of images [pixels]; the preset's unless given. The paper's model takes 1148 x 672.
        all_cameras: Render all eight cameras instead of four.
        devkit_maps: Name the maps as the NAVSIM devkit does, so that it can read the dataset. It knows four maps: other
            towns are left out, and their scenes come from Berlin.
        two_stage: Also write follow-up scenes of the last split, the two-stage split city_two_stage, like navhard; of a
            finished city only these.
        perturbed: Share of training scenes that are added a second time, seen from a pose up to 0.5 m and 15 degrees
            beside the expert's, at up to 20 % another speed; validation and test scenes stay as they are.
        executor: Where the work runs.
    """
    from world4scorer.city.world import config
    from world4scorer.city.world.make import make_city
    from world4scorer.datasets.navsim.cameras import CAMERAS

    base = config.PRESETS[preset]
    chosen = config.preset(
        preset,
        seed=seed,
        height=base.height if height is None else height,
        width=base.width if width is None else width,
        cameras=CAMERAS if all_cameras else base.cameras,
        devkit_maps=devkit_maps,
        perturbed=perturbed,
    )
    start = time.monotonic()
    manifest = make_city(chosen, out, workers=executor.choose(), show_progress=True)
    frames = sum(split["frames"] for split in manifest["splits"].values())
    took = time.monotonic() - start
    print(f"{out}: {frames:,} frames in {took:.0f} s ({frames / max(took, 1e-9):.0f} a second)")
    for name, split in manifest["splits"].items():
        places = ", ".join(split["places"])
        print(f"  {name}: {split['situations']['frames']:,} scenes of {split['logs']} logs in {places}")
    for place, scenes in manifest.get("places", {}).items():
        if scenes["scenes"] < scenes["wanted"]:
            print(f"  {place}: {scenes['scenes']:,} scenes of {scenes['wanted']:,} wanted; its traffic offers no more")
    name = next(iter(manifest["splits"]))
    if two_stage:
        from world4scorer.city.follow_ups.make import make_two_stage

        split = make_two_stage(chosen, out)
        name, scenes = split.name, len(split.second_stage_tokens)
        print(f"  {name}: {len(split.two_stage)} groups, {scenes} follow-up scenes")
    print(f"next: w4s prepare --data {out} --split {name} --store {out}/store/{name}")
    return 0


def info(root: PositionalFolder, /, out: OptionalFile = None) -> int:
    """Describe a city dataset: places, splits, situations, weather, size.

    Example: w4s city info city

    Args:
        root: Folder of the dataset.
        out: Also write a file (.json or .md).
    """
    from world4scorer.city.world.info import city_info
    from world4scorer.city.world.info_report import write_info
    from world4scorer.cli.console_tables import print_city

    found = city_info(root)
    if out is not None:
        write_info(found, out)
    print_city(found)
    return 0


def dense(
    root: PositionalFolder, /, preset: OptionalPreset = None, executor: ExecutorFlags = DEFAULT_EXECUTOR_OPTIONS
) -> int:
    """Render views with dense labels, for pretraining an encoder.

    Maps, semantic classes and depths of every frame; training frames also from shifted poses and in a second weather.
    Of a city, or of a preset's simulations in a folder without logs. Can be interrupted and run again: finished
    simulations are kept.

    Example: w4s city dense city

    Args:
        root: Folder of a city, or with --preset a new one.
        preset: Preset to simulate where the folder holds no city; large is meant for pretraining.
        executor: Where the work runs.
    """
    from world4scorer.city.dense.make import make_dense_views
    from world4scorer.city.streets.errors import CityError
    from world4scorer.city.world import config
    from world4scorer.city.world.manifest import read_config, read_manifest
    from world4scorer.jobs.data_folder import DataFolder

    is_city = DataFolder(root).is_city
    if not is_city and preset is None:
        raise CityError(f"{root}: holds no city; make one with `w4s city make`, or choose a --preset to simulate")
    if is_city and preset is not None:
        raise CityError(f"{root}: holds a city, whose simulations are used; leave --preset out, or choose a new folder")
    chosen = config.preset(preset) if preset is not None else read_config(read_manifest(root))
    start = time.monotonic()
    folder = make_dense_views(chosen, root, workers=executor.choose(), show_progress=True)
    files = len(list(folder.glob("*/*.arrow")))
    print(f"{folder}: {files} simulations, {time.monotonic() - start:.0f} s")
    print(f"next: w4s pretrain --data {root} --out encoder")
    return 0


SUBCOMMANDS: Final[dict[str, Callable[..., int]]] = {"make": make, "info": info, "dense": dense}
