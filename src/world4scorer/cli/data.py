"""Commands of `Data`: check-data, split, prepare."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from world4scorer.cli.arguments import (
    ExecutorFlags,
    Folder,
    OptionalFile,
    OptionalFolder,
    Split,
    metavar,
)
from world4scorer.cli.exit_codes import INPUT_ERROR
from world4scorer.jobs.executor_options import DEFAULT_EXECUTOR_OPTIONS
from world4scorer.jobs.run_folder import RunFolder

if TYPE_CHECKING:
    from world4scorer.datasets.prepare.fill_store import PrepareReport
    from world4scorer.jobs.executors import Executor


def check_data(
    data: Folder, split: Split, images: bool = True, executor: ExecutorFlags = DEFAULT_EXECUTOR_OPTIONS
) -> int:
    """Report which parts of a NAVSIM dataset are there, and what they suffice for.

    For scoring: logs and maps. For training: images. For future targets: the front image two seconds ahead.

    Example: w4s check-data --data openscene --split navtest

    Args:
        data: Dataset folder with navsim_logs, maps and sensor_blobs.
        split: Name of a split (navtrain, navtest, mini, ...), or the path of its YAML file.
        images: Check images too; --no-images checks logs and maps only.
        executor: Where the work runs.
    """
    from world4scorer.datasets.navsim.splits import find_split
    from world4scorer.datasets.prepare.check_data import check_data as check

    report = check(data, find_split(split, data), executor.choose(), images=images)
    print("\n".join(report.lines()))
    if report.can_score:
        return 0
    print(f"w4s: {data}: not enough to score {split}", file=sys.stderr)
    return INPUT_ERROR


def split(
    name: Annotated[str, tyro.conf.Positional, metavar("SPLIT")],
    /,
    data: Folder,
    validation: float = 0.05,
    seed: int = 3,
    log_lists: OptionalFile = None,
    out: OptionalFolder = None,
    executor: ExecutorFlags = DEFAULT_EXECUTOR_OPTIONS,
) -> int:
    """Cut a validation split out of a training split, by logs.

    Writes SPLIT_train.yaml and SPLIT_val.yaml in the devkit's form. Training validates on the second, so that the test
    split decides nothing: neither weights nor which checkpoint is reported.

    Example: w4s split navtrain --data openscene --validation 0.05 --seed 3

    Args:
        name: Name of the split to cut, or the path of its YAML file.
        data: Dataset folder with navsim_logs.
        validation: Share of the logs for validation.
        seed: Seed of the draw.
        log_lists: YAML file with `train_logs` and `val_logs`, such as the devkit's; instead of a draw.
        out: Folder of the split files; DATA/config/train_test_split unless given.
        executor: Where the work runs.
    """
    from world4scorer.datasets.navsim.filters import write_split
    from world4scorer.datasets.navsim.splits import find_split
    from world4scorer.datasets.navsim.validation_split import cut_by_lists, cut_by_share, tokens_by_log
    from world4scorer.jobs.data_folder import DataFolder

    found = find_split(name, data)
    tokens = tokens_by_log(data, found, executor.choose())
    parts = (
        cut_by_share(found, tokens, validation, seed) if log_lists is None else cut_by_lists(found, tokens, log_lists)
    )
    for part in parts:
        path = write_split(DataFolder(data).splits if out is None else out, part)
        logs = part.filter.log_names or ()
        print(f"{path}: {len(logs):,} logs, {sum(len(tokens[log]) for log in logs):,} scenes")
    return 0


def prepare(
    data: Folder,
    split: Split,
    store: Folder,
    executor: ExecutorFlags = DEFAULT_EXECUTOR_OPTIONS,
    synthetic: OptionalFolder = None,
    shared: bool = False,
) -> int:
    """Prepare the scenes of a NAVSIM split for scoring.

    Can be interrupted and run again: finished logs are kept.

    Example: w4s prepare --data openscene --split navtest --store scenes

    Args:
        data: Dataset folder with navsim_logs, maps and sensor_blobs.
        split: Name of a split (navtrain, navtest, mini, ...), or the path of its YAML file.
        store: Scene store to make.
        executor: Where the work runs.
        synthetic: Folder of a two-stage split's second-stage scenes; DATA/SPLIT/synthetic_scene_pickles unless given.
        shared: Share the work with the same command on other machines that see the same folders.
    """
    print(fill_store(data, split, store, executor.choose(), synthetic, shared))
    return 0


def fill_store(
    data: Path, split: str, store: Path, executor: Executor, synthetic: Path | None = None, shared: bool = False
) -> PrepareReport:
    """Prepare the scenes of a split that are missing in a store, with the route points that a city knows."""
    from world4scorer.city.world.global_plan import city_routes
    from world4scorer.datasets.navsim.splits import find_split
    from world4scorer.datasets.prepare.fill_store import prepare as prepare_store
    from world4scorer.datasets.prepare.samples import add_route_points
    from world4scorer.datasets.prepare.source import NavsimSource, find_synthetic

    found = find_split(split, data)
    source = NavsimSource(data, found, synthetic=find_synthetic(data, found, synthetic), routes=city_routes(data))
    missing = source.missing_logs()
    if missing:
        print(
            f"w4s: {len(missing)} logs of {found.name} are not on disk ({missing[0]}, ...); preparing the others",
            file=sys.stderr,
        )
    tokens = found.filter.tokens
    expected = None if tokens is None else len(tokens)
    report = prepare_store(source, store, executor, data=data, expected_scenes=expected, shared=shared)
    if source.routes is not None:
        add_route_points(data, found, store, source.routes, executor)
    return report


def prepare_missing_store(
    source: Path, split: str | None, data: Path | None = None, store: Path | None = None, workers: int | None = None
) -> None:
    """Prepare the store of a split that a run is asked about, where there is none; anything else is left alone."""
    if split is None or not RunFolder(source).exists or find_spec("torch") is None:
        return  # pools that are there already need neither torch nor a store to be made
    from world4scorer.jobs.executors import as_executor
    from world4scorer.planner.training.run_files import looked_at, read_run

    seen = looked_at(read_run(source)[1], data, split, store)
    if not seen.val_store.is_dir():
        print(f"scene store: preparing {seen.val_store}", file=sys.stderr)
        fill_store(seen.val_data or seen.data, split, seen.val_store, as_executor(workers))
