"""Subcommands of `w4s b2d` that make clips and vocabularies, and train on them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from world4scorer.cli.arguments import (
    HIDE_DEFAULT,
    ExecutorFlags,
    File,
    Folder,
    OptionalCount,
    OptionalEncoder,
    OptionalFile,
    OptionalFolder,
    OptionalNumber,
    PositionalFile,
    PositionalFolder,
    Split,
    metavar,
)
from world4scorer.cli.exit_codes import UsageError, require_torch
from world4scorer.jobs.executor_options import DEFAULT_EXECUTOR_OPTIONS

Preset = Literal["paper", "city"]
OptionalName = Annotated[str | None, metavar("NAME")]
OptionalPrecision = Annotated[Literal["fp32", "bf16", "fp16", "bf16-products", "bf16-vit"] | None, HIDE_DEFAULT]


def map_(opendrive: PositionalFile, /, out: File, town: OptionalName = None) -> int:
    """Make the drivable area of a town from its OpenDRIVE file.

    CARLA's own client reads the file, without a server.

    Example: w4s b2d map Town05.xodr --out maps/Town05.npz

    Args:
        opendrive: OpenDRIVE file of the town (.xodr), as CARLA has it in CarlaUE4/Content/Carla/Maps/OpenDrive.
        out: File of the map (.npz), called as the town: clips look for it under that name.
        town: Name of the town, if not the file's.
    """
    from world4scorer.driving.clips.drivable import CELL
    from world4scorer.driving.clips.opendrive_map import opendrive_grid
    from world4scorer.jobs.files import check_file

    _must_end_in(out, ".npz")
    check_file(out)
    grid = opendrive_grid(opendrive, town)
    grid.save(out)
    size = " x ".join(f"{cells * CELL:,.0f}" for cells in grid.cells.shape)
    print(f"{out}: {grid.town}, {size} m, {grid.cells.sum() * CELL**2:,.0f} m2 of it drivable")
    return 0


def prepare(
    clips: PositionalFolder,
    /,
    maps: Folder,
    out: Folder,
    every: int = 5,
    executor: ExecutorFlags = DEFAULT_EXECUTOR_OPTIONS,
) -> int:
    """Prepare Bench2Drive's clips: routes, boxes, drivable areas.

    Images stay where they are. Can be interrupted and run again: finished clips are kept. Unusable clips are left
    out and listed.

    Example: w4s b2d prepare Bench2Drive --maps maps --out prepared

    Args:
        clips: Folder that the clips were unpacked to.
        maps: Folder with TOWN.npz of each town, see `w4s b2d map`.
        out: Folder of the prepared clips.
        every: Frames of 0.1 s between training samples.
        executor: Where the work runs.
    """
    from world4scorer.driving.clips.prepare import prepare_clips

    print(f"{out}: {prepare_clips(clips, maps, out, every, executor.choose(), show_progress=True)}")
    return 0


def vocab(prepared: PositionalFolder, /, out: File, shapes: int = 256, seed: int = 0) -> int:
    """Make a vocabulary of plans: path shapes of experts, speed targets.

    Same clips and seed, same shapes.

    Example: w4s b2d vocab prepared --out vocabulary.npz

    Args:
        prepared: Folder of prepared clips.
        out: File of the vocabulary (.npz).
        shapes: Number of path shapes.
        seed: Seed of the clusters.
    """
    from world4scorer.driving.bench2drive.build_vocabulary import build_vocabulary
    from world4scorer.driving.bench2drive.clip_samples import samples_of
    from world4scorer.driving.clips.prepared import PreparedClips
    from world4scorer.engine.scene.indices import PLAN_POSES
    from world4scorer.jobs.files import check_file

    _must_end_in(out, ".npz")
    check_file(out)
    futures = samples_of(PreparedClips.open(prepared), route_point=False).future[:, :PLAN_POSES]
    vocabulary = build_vocabulary(futures, shapes, seed, str(prepared))
    vocabulary.save(out)
    notes = vocabulary.notes
    print(
        f"{out}: {len(vocabulary.shapes)} shapes x {len(vocabulary.speeds)} speeds from {notes['paths']:,} paths; "
        f"{notes['left_out']:,} paths too short; a path of 1 m lies {100 * notes['mean_error']:.1f} cm from its shape"
    )
    return 0


def scan(prepared: PositionalFolder, /, clips: OptionalCount = None) -> int:
    """Compare distances of the route point, as the paper does.

    For each, how often the point lies on the side of a turn, and how often the route ends before it.

    Example: w4s b2d scan prepared --clips 60

    Args:
        prepared: Folder of prepared clips.
        clips: Number of clips; all unless given.
    """
    from world4scorer.driving.bench2drive.scan import as_table, scan_distances
    from world4scorer.driving.clips.prepared import PreparedClips

    print(as_table(scan_distances(PreparedClips.open(prepared), count=clips)))
    return 0


def train(
    prepared: PositionalFolder,
    /,
    out: Folder,
    vocab: OptionalFile = None,
    preset: Preset = "paper",
    settings: OptionalFile = None,
    route_blind: bool = False,
    from_planner: OptionalFolder = None,
    vit_weights: OptionalEncoder = None,
    targets: OptionalFile = None,
    target_encoder: OptionalEncoder = None,
    only_targets: bool = False,
    epochs: OptionalCount = None,
    batch: OptionalCount = None,
    learning_rate: OptionalNumber = None,
    precision: OptionalPrecision = None,
    seed: OptionalCount = None,
    validation: OptionalNumber = None,
    own: OptionalName = None,
    accelerator: str = "auto",
    devices: int = 1,
    nodes: int = 1,
    loaders: int = 0,
    label_threads: int = 2,
    threads: int = 0,
) -> int:
    """Train a planner on prepared clips.

    Can be interrupted and run again: it ends with the same weights. Missing or outdated future targets are made first.
    The paper trains twice: route-blind, then with the route point from that planner.

    Example: w4s b2d train prepared --vocab vocabulary.npz --from-planner runs/blind/planner --out runs/b2d

    Args:
        prepared: Folder of prepared clips.
        out: Folder of the run; OUT/planner holds the result.
        vocab: Vocabulary to draw plans from.
        preset: paper, or a small planner for clips of the city.
        settings: Configuration of another run (its config.json) instead of a preset.
        route_blind: Train without the route point.
        from_planner: Folder of a planner to start from; a route-blind one gets the route point.
        vit_weights: Initial weights of the ViT: "city", or DINOv2 weights, a file or a folder.
        targets: File of future targets (.arrow); PREPARED/targets.arrow unless given, made if missing.
        target_encoder: Encoder of missing future targets; --vit-weights unless given, or the city's.
        only_targets: Make the future targets and end: before a run on several machines, which cannot make them.
        epochs: Passes through the clips, if not the preset's.
        batch: Samples per step over all devices, if not the preset's.
        learning_rate: Peak learning rate, if not the preset's; not scaled with the batch.
        precision: Precision of training, if not the preset's.
        seed: Seed of weights, order and draws, if not the preset's.
        validation: Share of clips held out for validation; with preset paper 0, which trains on all clips, else 0.05.
        own: Beginning of the names of clips that the planner drove itself: their outcomes and futures are learnt, what
            was driven is not imitated.
        accelerator: Lightning accelerator: auto, cpu, gpu, ...
        devices: Processes on this machine, one per device.
        nodes: Machines.
        loaders: Processes per device that read images and judge plans of the vocabulary; 0 does it between steps.
        label_threads: Threads per device that judge generated plans.
        threads: Threads per device that compute the model on CPUs; 0 shares the cores evenly.
    """
    require_torch("w4s b2d train")
    from world4scorer.driving.bench2drive.clip_targets import prepare_targets
    from world4scorer.driving.bench2drive.config import PRESETS, changed
    from world4scorer.driving.bench2drive.train import ClipData, check_config, train_clips, validation_share
    from world4scorer.driving.clips.prepared import PreparedClips
    from world4scorer.planner.training.config import TrainConfig
    from world4scorer.planner.training.run import Machine, check_machine, check_start, is_global_zero, silence_lightning

    silence_lightning()
    machine = Machine(accelerator, devices, nodes, loaders, label_threads, threads)
    check_machine(machine)
    if settings is not None:
        config = TrainConfig.from_json(settings.read_bytes(), str(settings))
    else:
        config = PRESETS[preset](devices * nodes)
    config = changed(
        config,
        route_blind=route_blind,
        from_planner=from_planner,
        vit_weights=vit_weights,
        epochs=epochs,
        batch=batch,
        learning_rate=learning_rate,
        precision=precision,
        seed=seed,
    )
    check_config(config)
    check_start(config)
    clips = PreparedClips.open(prepared)
    if config.loss_weights.bank and vocab is None and not only_targets:
        raise UsageError("--vocab: needed, `w4s b2d vocab` makes it")
    default_encoder = "city-masked" if preset == "city" else ""
    file = prepare_targets(clips, config, targets, target_encoder, default_encoder, nodes, only_targets)
    first = is_global_zero()
    if only_targets:
        if first:
            print(f"targets: {file or 'not needed, their loss has no weight'}")
        return 0
    share = validation_share(out, preset) if validation is None else validation
    planner = train_clips(config, ClipData(prepared, vocab, file, share, own), out, machine)
    if first:
        print(f"planner: {planner}")
    return 0


def city_clips(
    data: Folder,
    out: Folder,
    split: Split = "city_train",
    clips: OptionalCount = None,
    seconds: OptionalNumber = None,
    executor: ExecutorFlags = DEFAULT_EXECUTOR_OPTIONS,
) -> int:
    """Drive in the embedded city and write clips in Bench2Drive's layout.

    Also writes OUT/maps for `w4s b2d prepare`. Can be interrupted and run again, also for more clips: finished clips
    are kept. Other options need another folder.

    Example: w4s b2d city-clips --data city --out clips

    Args:
        data: Dataset folder of the city.
        out: Folder for the clips.
        split: Name of a split, whose logs are driven.
        clips: Number of clips; all unless given.
        seconds: Length of each clip from its start [s]; all unless given.
        executor: Where the work runs.
    """
    from world4scorer.driving.clips.city_clips import MAPS, make_city_clips

    made = make_city_clips(data, out, split, clips, seconds, executor.choose(), show_progress=True)
    print(f"{out}: {len(made)} clips")
    print(f"next: w4s b2d prepare {out} --maps {out / MAPS} --out {out.with_name('prepared')}")
    return 0


def _must_end_in(path: Path, suffix: str) -> None:
    if path.suffix != suffix:
        raise UsageError(f"--out {path}: must end in {suffix}")
