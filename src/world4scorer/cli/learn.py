"""Verbs that need the extra `train`: pretrain, probe, targets, train, compare, import, export, profile."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import tyro

from world4scorer.cli.arguments import (
    UNSET,
    AnyPath,
    Encoder,
    File,
    Folder,
    GivenFolder,
    MaybeCount,
    MaybeFile,
    MaybeFolder,
    MaybePath,
    MaybeSize,
    Run,
    Split,
    called,
)
from world4scorer.cli.exit_codes import WrongCommand
from world4scorer.planner.pretraining.config import PretrainConfig

Preset = Literal["paper", "baseline", "city"]
MaybePreset = Annotated[Preset | None, UNSET]
Precision = Literal["fp32", "bf16", "fp16"]
MaybeCheckpoint = Annotated[Path | None, tyro.conf.Positional, called("CHECKPOINT")]


def pretrain(
    data: Folder,
    out: Folder,
    split: Split = "city_train",
    config: Annotated[PretrainConfig, tyro.conf.arg(name="")] = PretrainConfig(),  # noqa: B008, frozen
    threads: int = 1,
) -> int:
    """Pretrain a small image encoder without labels.

    On the views of a split. May be killed and run again.

    Example: w4s pretrain --data city --out encoder

    Args:
        data: Dataset folder with navsim_logs, maps and sensor_blobs.
        out: Folder of the encoder: config.json, model.safetensors, pretraining.json, checkpoint.
        split: Name of a split, or the path of its YAML file; only frames of its logs are seen.
        config: The recipe.
        threads: Of torch; the same number gives the same bits.
    """
    needs_torch("w4s pretrain")
    import torch

    from world4scorer.planner.pretraining.pretrain import pretrain as run

    torch.set_num_threads(threads)
    report = run(data, split, out, config, show_progress=True)
    assert report is not None
    print(
        f"{out}: {report.steps:,} steps on {report.views:,} views in {report.seconds:.0f} s, "
        f"loss {report.first_loss:.3f} -> {report.last_loss:.3f}"
    )
    print(f"next: w4s probe --encoder {out} --data {data} --out report")
    return 0


def probe(
    data: Folder,
    encoder: Encoder,
    out: AnyPath,
    stores: MaybeFolder = None,
    train_split: Split = "city_train",
    test_split: Split = "city_val",
    most: int = 3000,
) -> int:
    """Ask linear probes what an encoder sees.

    Beside it stand the same ViT with random weights, and plain pixels.

    Example: w4s probe --encoder city --data city --out report

    Args:
        data: Dataset folder with navsim_logs, maps and sensor_blobs.
        encoder: "city" or "city-contrast", bundled, or a folder of `w4s pretrain`.
        out: Report without suffix: .json, .md and .png are written.
        stores: Folder of scene stores, one for each split; DATA/store unless given.
        train_split: Probes learn here.
        test_split: Probes are asked here.
        most: Scenes that probes learn from, at most.
    """
    needs_torch("w4s probe")
    import json

    from world4scorer.planner.model.image_encoder import load_encoder
    from world4scorer.planner.pretraining.pretrain import REPORT_FILE
    from world4scorer.planner.pretraining.probe_report import probe_report, table

    made = Path(encoder) / REPORT_FILE
    result = probe_report(
        load_encoder(encoder),
        data,
        data / "store" if stores is None else stores,
        train_split,
        test_split,
        out,
        command=f"w4s probe --encoder {encoder} --data DATA --out {out.name}",
        pretraining=json.loads(made.read_text()) if made.is_file() else None,
        most=most,
    )
    print("\n".join(table(result)))
    return 0


def targets(
    data: Folder,
    split: Split,
    out: File,
    encoder: Encoder = "city",
    frame: Literal["future", "current"] = "future",
    pooling: Literal["patches", "all", "class"] = "patches",
    centre: bool = False,
    store: MaybeFolder = None,
    workers: int = 1,
    device: str = "cpu",
) -> int:
    """Make future targets: what an encoder sees two seconds later.

    In the front view, by a frozen encoder, for each scene. May be killed and run again: finished logs are kept.

    Example: w4s targets --data city --split city_train --out targets.arrow

    Args:
        data: Dataset folder with navsim_logs, maps and sensor_blobs.
        split: Name of a split (navtrain, navtest, mini, ...), or the path of its YAML file.
        out: File of the targets (.arrow).
        encoder: "city" or "city-contrast", bundled, a folder of `w4s pretrain`, or a file or folder of DINOv2 weights.
        frame: The frame two seconds ahead, or, as a control, the scene's own.
        pooling: Mean over patches; mean over all tokens, as in the released cache; or the class token.
        centre: Take the mean of all targets off when they are read.
        store: Scene store: only its scenes, instead of all moments of the split.
        workers: Processes.
        device: Of torch: cpu, cuda, cuda:1, ...
    """
    needs_torch("w4s targets")
    needs_device(device)
    from world4scorer.jobs.executors import choose_executor
    from world4scorer.jobs.files import check_file
    from world4scorer.planner.targets.make_targets import make_targets

    check_file(out)
    print(
        make_targets(
            data,
            split,
            encoder,
            out,
            frame=frame,
            pooling=pooling,
            centre=centre,
            store=store,
            executor=choose_executor("serial" if workers == 1 else "processes", workers=workers),
            device=device,
            show_progress=True,
        )
    )
    return 0


def train(words: Sequence[str]) -> int:
    """Train a planner: generator, predictor, score heads, readout."""
    needs_torch("w4s train")
    from world4scorer.cli.train_options import run

    return run(words)


def compare(run: Run, /, out: AnyPath, blind_scenes: int = 8192, pools: MaybeFile = None) -> int:
    """Put a run's planner beside what it must be better than.

    On its validation split. Trains the controls on the same data: a scorer without images on the planner's own pools,
    and an MLP of the ego status. Minutes.

    Example: w4s compare runs/city --out table

    Args:
        run: Folder of a finished `w4s train`.
        out: Where results go: OUT.md, OUT.json, OUT.png.
        blind_scenes: Training scenes of the scorer without images, at most.
        pools: Also keep the planner's plans in these scenes (.npz), for example for `w4s bank histogram`.
    """
    needs_torch("w4s compare")
    from world4scorer.evaluation.scores.comparison import compare as compare_run
    from world4scorer.jobs.files import check_folder

    if pools is not None and pools.suffix != ".npz":
        raise WrongCommand(f"--pools {pools}: must end in .npz")
    check_folder(out.parent)
    comparison = compare_run(run, blind_scenes, pools_file=pools)
    command = f"w4s compare {run.name} --out {out.name}"
    comparison.save(out, command)
    print(comparison.markdown(command))
    return 0


def import_planner(
    checkpoint: MaybeCheckpoint = None,
    /,
    *,
    out: Folder,
    heads: MaybeCount = None,
    vit_heads: MaybeCount = None,
    image_size: MaybeSize = None,
    dinov2: MaybePath = None,
    preset: Preset = "paper",
    seed: int = 3,
    overwrite: bool = False,
) -> int:
    """Make the folder of a planner from a released checkpoint.

    Or start one with DINOv2 weights (--dinov2). Nothing is written unless all of it is sound.

    Example: w4s import epoch23.ckpt --out planner

    Args:
        checkpoint: Released checkpoint (.ckpt) or safetensors file, or the folder of a planner.
        out: Folder for config.json and model.safetensors.
        heads: Attention heads of the decoders, which released files do not tell; 1 unless given.
        vit_heads: Attention heads of the ViT; 6 unless given.
        image_size: Height and width of a view in pixels, if not the shape nearest to the paper's.
        dinov2: DINOv2 weights, a file or a folder, under timm's names or Hugging Face's.
        preset: With --dinov2, the model to start.
        seed: With --dinov2, of everything that is not pretrained.
        overwrite: Replace another planner in that folder.
    """
    needs_torch("w4s import")
    from world4scorer.planner.conversion import description, read_planner, save_planner, start_planner

    if (checkpoint is None) == (dinov2 is None):
        raise WrongCommand("give either a checkpoint or --dinov2")
    if dinov2 is not None:
        if (heads, vit_heads, image_size) != (None, None, None):
            raise WrongCommand("--heads, --vit-heads and --image-size belong to checkpoints; --preset says them")
        planner = start_planner(preset, dinov2, seed)
    else:
        assert checkpoint is not None
        planner = read_planner(checkpoint, heads, vit_heads, image_size)
    save_planner(planner, out, overwrite)
    print(description(planner))
    print(f"written: {out}")
    return 0


def export_planner(folder: GivenFolder, /, *, out: File, overwrite: bool = False) -> int:
    """Write a planner as a safetensors file under the released names.

    Example: w4s export planner --out planner.safetensors

    Args:
        folder: Folder of a planner.
        out: File (.safetensors).
        overwrite: Replace another file.
    """
    needs_torch("w4s export")
    from world4scorer.planner.conversion import read_planner, save_released

    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder; `w4s import` makes one from a checkpoint")
    planner = read_planner(folder)
    save_released(planner, out, overwrite)
    tensors = sum(parameter.numel() for parameter in planner.parameters())
    print(f"written: {out}, {tensors:,} parameters")
    return 0


def profile(
    preset: MaybePreset = None,
    planner: MaybeFolder = None,
    passes: int = 0,
    precision: tuple[Precision, ...] = ("fp32",),
    compile: bool = False,
    device: str = "cpu",
    threads: MaybeCount = None,
    json: MaybeFile = None,
) -> int:
    """Count a model's parameters, operations and memory; or time it.

    Example: w4s profile --preset paper --passes 10

    Args:
        preset: A named model; the paper's unless given.
        planner: Folder of a planner instead.
        passes: Passes of one frame to time for each precision; 0 only counts, which takes no arithmetic.
        precision: To time in: fp32, bf16, fp16.
        compile: Time what torch.compile makes of it.
        device: Of torch: cpu, cuda, cuda:1, ...
        threads: Of the processor while timing; torch's choice unless given.
        json: Also write everything to this file.
    """
    needs_torch("w4s profile")
    import torch

    from world4scorer.jobs.tensor_files import write_bytes
    from world4scorer.planner.model.config import PRESETS
    from world4scorer.planner.planner import Planner
    from world4scorer.planner.profiling import profile as counting
    from world4scorer.planner.profiling.profile_report import as_json, measure, print_profile

    if preset is not None and planner is not None:
        raise WrongCommand("give either --preset or --planner")
    if passes < 0:
        raise WrongCommand(f"--passes {passes}: not below 0")
    if passes == 0 and compile:
        raise WrongCommand("--compile: nothing is timed without --passes")
    if threads is not None:
        if threads < 1:
            raise WrongCommand(f"--threads {threads}: at least 1")
        torch.set_num_threads(threads)
    model = None if planner is None else Planner.from_pretrained(planner)
    config = PRESETS[preset or "paper"]() if model is None else model.config
    counted = counting.profile(config)
    measured = []
    if passes:
        needs_device(device)
        model = (Planner(config) if model is None else model).to(device)
        measured = measure(model, precision, passes, compile)
    print_profile(config, counted, measured)
    if json is not None:
        write_bytes(as_json(config, counted, measured).encode(), json)
    return 0


def needs_torch(verb: str) -> None:
    """Say how to install what a verb needs, where it is missing."""
    for name in ("torch", "transformers", "safetensors", "lightning", "tensorboard"):
        if find_spec(name) is None:
            raise ValueError(f"{verb} needs {name}: pip install 'world4scorer[train]'")


def needs_device(device: str) -> None:
    """Raise a ValueError for a device that torch does not have here."""
    import torch

    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"--device {device}: {str(error).splitlines()[0]}") from error
