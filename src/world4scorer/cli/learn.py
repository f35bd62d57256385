"""Commands of `Learn`: targets, pretrain, probe, train, diagram."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from world4scorer.cli.arguments import (
    HIDE_DEFAULT,
    AnyPath,
    Encoder,
    ExecutorFlags,
    File,
    Folder,
    OptionalFolder,
    Split,
    metavar,
)
from world4scorer.cli.exit_codes import UsageError, require_device, require_torch
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executor_options import DEFAULT_EXECUTOR_OPTIONS

OptionalPreset = Annotated[Literal["paper", "baseline", "city", "city-vit"] | None, HIDE_DEFAULT]
OptionalRun = Annotated[Path | None, metavar("RUN")]


def targets(
    data: Folder,
    split: Split,
    out: File,
    encoder: Encoder = "city",
    frame: Literal["future", "current"] = "future",
    pooling: Literal["patches", "all", "class"] = "patches",
    centre: bool = False,
    store: OptionalFolder = None,
    executor: ExecutorFlags = DEFAULT_EXECUTOR_OPTIONS,
    device: str = "cpu",
) -> int:
    """Make future targets: features of the view two seconds later.

    Features of the front view, by a frozen encoder, for each scene. Can be interrupted and run again: finished logs are
    kept.

    Example: w4s targets --data city --split city_train --out targets.arrow

    Args:
        data: Dataset folder with navsim_logs, maps and sensor_blobs.
        split: Name of a split (navtrain, navtest, mini, ...), or the path of its YAML file.
        out: File of the targets (.arrow).
        encoder: "city", "city-masked" or "city-contrast", bundled, a folder of `w4s pretrain`, or DINOv2 weights.
        frame: The frame two seconds ahead, or, as a control, the scene's own.
        pooling: Mean over patches; mean over all tokens, as in the released cache; or the class token.
        centre: Subtract the mean of all targets when they are read.
        store: Scene store: only its scenes, instead of all frames of the split.
        executor: Where the work runs.
        device: Torch device: cpu, cuda, cuda:1, ...
    """
    require_torch("w4s targets")
    require_device(device)
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
            executor=executor.choose("serial", device),
            device=device,
            show_progress=True,
        )
    )
    return 0


def pretrain(words: Sequence[str]) -> int:
    """Pretrain an image encoder of the city."""
    require_torch("w4s pretrain")
    from world4scorer.cli.pretrain_options import run

    return run(words)


def probe(
    data: Folder,
    encoder: Encoder,
    out: AnyPath,
    stores: OptionalFolder = None,
    train_split: Split = "city_train",
    test_split: Split = "city_val",
    most: int = 3000,
) -> int:
    """Evaluate an encoder with linear probes and maps.

    Linear probes need scene stores of both splits, maps need views with dense labels (`w4s city dense`). Compared with
    the same encoder with random weights, with plain pixels, and with the bundled ViT.

    Example: w4s probe --encoder city --data city --out report

    Args:
        data: Dataset folder with navsim_logs, maps and sensor_blobs, or with dense views alone.
        encoder: "city", "city-masked" or "city-contrast", bundled, or a folder of `w4s pretrain`.
        out: Report without suffix: .json, .md and .png are written.
        stores: Folder of scene stores, one for each split; DATA/store unless given.
        train_split: Split that probes are trained on.
        test_split: Split that probes are tested on.
        most: Maximum number of scenes that probes are trained on, and of frames whose maps are measured.
    """
    require_torch("w4s probe")

    from world4scorer.jobs.files import read_json
    from world4scorer.planner.pretrained.image_encoder import MASKED, DenseImageEncoder, load_encoder
    from world4scorer.planner.pretraining.probe_report import probe_report
    from world4scorer.planner.pretraining.training_loop import REPORT_FILE

    made, probed = Path(encoder) / REPORT_FILE, load_encoder(encoder)
    found = probe_report(
        probed,
        data,
        DataFolder(data).stores if stores is None else stores,
        train_split,
        test_split,
        out,
        command=f"w4s probe --encoder {encoder} --data DATA --out {out.name}",
        others={MASKED: load_encoder(MASKED)} if isinstance(probed, DenseImageEncoder) else None,
        pretraining=read_json(made, remedy="run `w4s pretrain` again") if made.is_file() else None,
        most=most,
    )
    print("\n".join(one.markdown() for one in found), end="")
    return 0


def train(words: Sequence[str]) -> int:
    """Train a planner: generator, predictor, score heads, readout."""
    require_torch("w4s train")
    from world4scorer.cli.train_options import run

    return run(words)


def diagram(
    out: Folder,
    preset: OptionalPreset = None,
    run: OptionalRun = None,
    format: Literal["png", "svg", "pdf"] = "png",
) -> int:
    """Draw a model and how it learns: gradient routes and an overview.

    From a configuration: sizes and parameters are read off its network, which losses train which parts is asked of
    autograd on a small network of the same structure. Writes OUT/gradient_routes and OUT/overview.

    Example: w4s diagram --preset paper --out figures

    Args:
        out: Folder of the figures.
        preset: Named training configuration; the paper's unless given.
        run: Training run whose configuration is drawn instead.
        format: Format of the figures.
    """
    require_torch("w4s diagram")
    from world4scorer.drawing.birdseye import save
    from world4scorer.jobs.files import check_file
    from world4scorer.planner.diagrams.gradient_figure import draw_gradient_routes
    from world4scorer.planner.diagrams.overview_figure import draw_overview
    from world4scorer.planner.training.config import PRESETS
    from world4scorer.planner.training.run_files import read_config

    if preset is not None and run is not None:
        raise UsageError("give either --preset or --run")
    name = preset or "paper"
    config, title = (PRESETS[name](), f"preset {name}") if run is None else (read_config(run), f"run {run.name}")
    for figure, draw, words in (
        ("gradient_routes", draw_gradient_routes, "Gradient routes"),
        ("overview", draw_overview, "Overview"),
    ):
        path = out / f"{figure}.{format}"
        check_file(path)
        save(draw(config, f"{words}: {title}"), path)
        print(f"written: {path}")
    return 0
