"""Commands of `Planners`: import, export, profile, serve."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import tyro

from world4scorer.cli.arguments import (
    HIDE_DEFAULT,
    Folder,
    OptionalCount,
    OptionalFile,
    OptionalFolder,
    OptionalPath,
    OptionalSize,
    PositionalFolder,
    metavar,
)
from world4scorer.cli.exit_codes import UsageError, require_device, require_torch
from world4scorer.jobs.run_folder import RunFolder, Weights
from world4scorer.planner.bundled import planner_folder

Preset = Literal["paper", "baseline", "city", "city-vit"]
OptionalPreset = Annotated[Preset | None, HIDE_DEFAULT]
Precision = Literal["fp32", "tf32", "bf16", "fp16"]
Weight = Annotated[float, metavar("WEIGHT")]
Speed = Annotated[float, metavar("M/S")]
OptionalRepository = Annotated[str | None, metavar("USER/REPO")]
OptionalRevision = Annotated[str | None, metavar("REVISION")]
OptionalCheckpoint = Annotated[Path | None, tyro.conf.Positional, metavar("CHECKPOINT")]


def import_planner(
    checkpoint: OptionalCheckpoint = None,
    /,
    *,
    out: Folder,
    heads: OptionalCount = None,
    vit_heads: OptionalCount = None,
    image_size: OptionalSize = None,
    dinov2: OptionalPath = None,
    preset: Preset = "paper",
    seed: int = 3,
    download: bool = False,
    revision: OptionalRevision = None,
    overwrite: bool = False,
) -> int:
    """Make a planner folder from a released checkpoint.

    Or from a repository of a Hugging Face hub (user/repo), an encoder's as well; or initialise one with DINOv2 weights
    (--dinov2). Writes nothing if anything is wrong.

    Example: w4s import epoch23.ckpt --out planner

    Args:
        checkpoint: Released checkpoint (.ckpt) or safetensors file, the folder of a planner, or a repository.
        out: Folder for config.json and model.safetensors.
        heads: Attention heads of the decoders, which released files do not contain; 1 unless given.
        vit_heads: Attention heads of the ViT; 6 unless given.
        image_size: Height and width of a view in pixels, if not the shape nearest to the paper's.
        dinov2: DINOv2 weights, a file or a folder, under timm's names or Hugging Face's.
        preset: With --dinov2, the model to initialise.
        seed: With --dinov2, seed of all other weights.
        download: Fetch the repository from the hub; otherwise it must be in the local cache.
        revision: Branch, tag or commit of the repository.
        overwrite: Replace another planner in that folder.
    """
    require_torch("w4s import")
    from world4scorer.planner.conversion import (
        copy_encoder,
        description,
        encoder_notes,
        read_planner,
        save_planner,
        start_planner,
    )
    from world4scorer.planner.hub import is_repository, repository_folder

    if (checkpoint is None) == (dinov2 is None):
        raise UsageError("give either a checkpoint or --dinov2")
    if dinov2 is not None:
        if (heads, vit_heads, image_size) != (None, None, None):
            raise UsageError("--heads, --vit-heads and --image-size belong to checkpoints; --preset sets them")
        planner = start_planner(preset, dinov2, seed)
    else:
        assert checkpoint is not None
        if is_repository(checkpoint):
            checkpoint = repository_folder(checkpoint, download, revision)
        elif download or revision is not None:
            raise UsageError(f"--download, --revision: {checkpoint} is not the name of a repository (user/repo)")
        if encoder_notes(checkpoint) is not None:
            copy_encoder(checkpoint, out, overwrite)
            print(f"written: {out}, an encoder")
            return 0
        planner = read_planner(checkpoint, heads, vit_heads, image_size)
    save_planner(planner, out, overwrite)
    print(description(planner))
    print(f"written: {out}")
    return 0


def export_planner(
    folder: PositionalFolder,
    /,
    *,
    out: OptionalFile = None,
    hub: OptionalRepository = None,
    private: bool = False,
    weights: Weights = "best",
    overwrite: bool = False,
) -> int:
    """Write a planner under the released names, or upload it to a hub.

    A model card is written from what the run has measured of these weights. Encoders can be uploaded as well.

    Example: w4s export planner --out planner.safetensors

    Args:
        folder: Folder of a planner, or of the run that trained it; with --hub also of an encoder.
        out: File (.safetensors).
        hub: Upload to this repository (user/repo) of a Hugging Face hub; needs a token that may write (HF_TOKEN).
        private: Make the repository a private one, if it is new.
        weights: Planner of a run: the one with the best validation score, or the last.
        overwrite: Replace another file.
    """
    require_torch("w4s export")
    from world4scorer.evaluation.pools.pool_files import digest_of_planner
    from world4scorer.evaluation.pools.scored import DIGEST_DIGITS
    from world4scorer.planner.conversion import encoder_notes, push_encoder, read_planner, save_released

    if (out is None) == (hub is None):
        raise UsageError("give either --out or --hub")
    folder = planner_folder(folder)
    notes = None if hub is None else encoder_notes(folder)
    if hub is not None and notes is not None:
        print(f"uploaded: {push_encoder(folder, hub, notes, private or None)}, an encoder")
        return 0
    run = folder if RunFolder(folder).exists else None
    if run is not None:
        folder = RunFolder(folder).finished_planner(weights)
    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder; `w4s import` makes one from a checkpoint")
    planner = read_planner(folder)
    tensors = sum(parameter.numel() for parameter in planner.parameters())
    if hub is not None:
        where = f"uploaded: {planner.push_to_hub(hub, run=run, private=private or None)}"
    else:
        assert out is not None
        save_released(planner, out, overwrite)
        where = f"written: {out}"
    print(f"{where}, {tensors:,} parameters, from {folder} ({digest_of_planner(folder)[:DIGEST_DIGITS]})")
    return 0


def profile(
    preset: OptionalPreset = None,
    planner: OptionalFolder = None,
    passes: int = 0,
    precision: tuple[Precision, ...] = ("fp32",),
    batch: int = 0,
    compile: bool = False,
    device: str = "cpu",
    threads: OptionalCount = None,
    published: bool = False,
    json: OptionalFile = None,
) -> int:
    """Count a model's parameters, operations and memory; or time it.

    Timed are a pass of one frame, its encoder and the rest, batches, and inertial re-ranking on the processor.

    Example: w4s profile --preset paper --passes 10 --precision fp32 tf32 fp16 --batch 32

    Args:
        preset: Named model; the paper's unless given.
        planner: Folder of a planner instead.
        passes: Timed passes of one frame for each precision; 0 only counts, without computing.
        precision: Precisions to time: fp32 (without TF32), tf32, bf16, fp16.
        batch: Also time batches of so many frames: throughput and peak memory.
        compile: Time the model compiled with torch.compile.
        device: Torch device: cpu, cuda, cuda:1, ...
        threads: Threads while timing; torch's default unless given.
        published: Also print the paper's table of published planners.
        json: Also write all numbers to this file.
    """
    require_torch("w4s profile")
    import torch

    from world4scorer.cli.console_tables import print_profile, print_published
    from world4scorer.jobs.tensor_files import write_bytes
    from world4scorer.planner.model.config import PRESETS
    from world4scorer.planner.planner import Planner
    from world4scorer.planner.profiling import profile as counting
    from world4scorer.planner.profiling.profile_report import as_json, measure
    from world4scorer.planner.profiling.reranking_time import reranking_time

    if preset is not None and planner is not None:
        raise UsageError("give either --preset or --planner")
    if passes < 0:
        raise UsageError(f"--passes {passes}: not below 0")
    if passes == 0 and (compile or batch):
        raise UsageError("--compile and --batch: nothing is timed without --passes")
    if batch < 0:
        raise UsageError(f"--batch {batch}: not below 0")
    if threads is not None:
        if threads < 1:
            raise UsageError(f"--threads {threads}: at least 1")
        torch.set_num_threads(threads)
    model = None if planner is None else Planner.from_pretrained(planner)
    config = PRESETS[preset or "paper"]() if model is None else model.config
    counted = counting.profile(config)
    measured, reranking = [], None
    if passes:
        require_device(device)
        model = (Planner(config) if model is None else model).to(device)
        measured, reranking = measure(model, precision, passes, compile, batch), reranking_time()
    print_profile(config, counted, measured, reranking)
    if published:
        print_published("compute")
    if json is not None:
        write_bytes(as_json(config, counted, measured, reranking).encode(), json)
    return 0


def serve(
    checkpoint: Folder,
    weights: Weights = "best",
    socket: OptionalFile = None,
    port: OptionalCount = None,
    inertial: Weight = 0.0,
    route: Weight = 0.0,
    route_rule: Literal["published", "equal-distance"] = "published",
    corridor: Weight = 0.0,
    start: Weight = 0.0,
    progress: Weight = 0.0,
    speed_limit: Speed = 0.0,
    keep_commands: bool = False,
    prompt: bool = False,
    benchmark: Literal["v1", "v2"] = "v1",
    fixed: bool = False,
    device: str = "cpu",
    threads: OptionalCount = None,
    quiet: bool = False,
) -> int:
    """Serve a planner on a socket: images and motion in, the selected plan out.

    For programs that run in another Python, such as CARLA's leaderboard. Several may drive at once. Listens on
    this machine only. Ctrl-C ends it.

    Example: w4s serve --checkpoint runs/b2d/planner --route 4 --keep-commands

    Args:
        checkpoint: Folder of a planner, or of the run that trained it.
        weights: Planner of a run: the one with the best validation score, or the last.
        socket: Path of a Unix socket, which this user alone can open, instead of a port.
        port: Port on 127.0.0.1, 0 for any; 4747 unless given.
        inertial: Weight of inertial re-ranking; the paper's is 1.
        route: Weight of route re-ranking; the paper's is 4.
        route_rule: Compare plans with the route at equal times, as published, or at equal distances travelled.
        corridor: Utility that plans lose for each metre outside a corridor around the route; 0.3 in the city.
        start: Utility that plans gain for moving off at once; 0.1 in the city.
        progress: Weight of progress in the utility; 0 for that of the benchmark, which is 5 in v1 and 15 in v2.
        speed_limit: Speed above which plans lose utility [m/s]; 0 for none.
        keep_commands: Take commands from the nodes of the route, each until it has been passed.
        prompt: Begin plans at once when at rest, without the wait at their beginning.
        benchmark: Utility that selects; v2 is refused for planners trained on Bench2Drive, which lack one of its terms.
        fixed: Refuse drives that request another selection.
        device: Torch device: cpu, cuda, cuda:1, ...
        threads: Threads; torch's default unless given.
        quiet: Print no lines about drives.
    """
    require_torch("w4s serve")
    require_device(device)
    import torch

    from world4scorer.driving.closed_loop.planner_agent import AgentOptions
    from world4scorer.driving.serving import address as places
    from world4scorer.driving.serving.server import PlannerServer
    from world4scorer.driving.serving.session import NO_LOG
    from world4scorer.driving.serving.start import load_served_planner, warm_up

    if socket is not None and port is not None:
        raise UsageError("give either --socket or --port")
    if threads is not None:
        if threads < 1:
            raise UsageError(f"--threads {threads}: at least 1")
        torch.set_num_threads(threads)
    wanted = places.Address(port=places.DEFAULT_PORT if port is None else port, path=socket)
    options = AgentOptions(
        benchmark, inertial, route, keep_commands, route_rule, speed_limit, corridor, start, progress, prompt
    )
    served = load_served_planner(checkpoint, options, fixed, device, weights)
    with places.listening(wanted) as (listener, where):
        warm_up(served)
        about = served.describe()
        size = f"{about['image_width']} x {about['image_height']}"
        _print_line(f"{where}: serving {checkpoint} ({served.digest[:12]}), {len(served.cameras)} cameras of {size}")
        PlannerServer(served, listener, NO_LOG if quiet else _print_line).run()
    return 0


def _print_line(line: str) -> None:
    """Print without buffering: clients wait for the first line."""
    print(line, flush=True)
