"""The subcommands of `w4s bank`. Each imports what it needs when it runs.

w4s bank make --store scenes --out bank
w4s bank info bank
w4s bank import candidates.pkl --store scenes --out bank
w4s bank histogram bank --generated pool.pkl --store scenes --out histogram.png
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import tyro

from world4scorer.cli.arguments import (
    ExecutorFlags,
    File,
    Files,
    Folder,
    OptionalCount,
    OptionalFile,
    OptionalFolder,
    PositionalFolder,
    PositionalPath,
)
from world4scorer.cli.exit_codes import UsageError
from world4scorer.jobs.executor_options import DEFAULT_EXECUTOR_OPTIONS
from world4scorer.planner.bank.config import BankConfig


def make(
    store: Folder,
    out: Folder,
    config: Annotated[BankConfig, tyro.conf.arg(name="")] = BankConfig(),  # noqa: B008 - tyro makes flags of its fields
    executor: ExecutorFlags = DEFAULT_EXECUTOR_OPTIONS,
) -> int:
    """Make a bank: perturbed copies of logged trajectories.

    For every scene they are labelled, selected and packed. Can be interrupted and run again: finished logs are kept.
    Same store and settings, same bytes.

    Example: w4s bank make --store scenes --out bank

    Args:
        store: Scene store.
        out: Folder of the bank.
        config: Sizes, quota and ranges of the perturbations.
        executor: Where the work runs.
    """
    from world4scorer.planner.bank.make import make_bank

    print(f"{out}: {make_bank(store, out, config, executor.choose(), show_progress=True)}")
    _print_info(out)
    return 0


def info(pack: PositionalFolder, /, out: OptionalFile = None) -> int:
    """Summarise a bank: candidates per scene, quota, families, scores.

    Example: w4s bank info bank

    Args:
        pack: Folder of the bank; published ones too.
        out: Also write a file (.json or .md).
    """
    _print_info(pack, out)
    return 0


def import_(
    file: PositionalPath,
    /,
    out: Folder,
    store: OptionalFolder = None,
    relabel: bool = False,
    executor: ExecutorFlags = DEFAULT_EXECUTOR_OPTIONS,
) -> int:
    """Import candidates as a bank.

    Example: w4s bank import candidates.pkl --store scenes --out bank

    Args:
        file: Pickled dict or .npz of plans (K, 8, 3) by token, to label; or a bank, to copy with its labels.
        out: Folder of the bank.
        store: Scene store; needed to label.
        relabel: Relabel the candidates of a bank.
        executor: Where the work runs.
    """
    from world4scorer.planner.bank.published import copy_bank, label_plans

    if file.is_dir() and not relabel:
        report = copy_bank(file, out)
    elif store is None:
        raise UsageError("--store: needed to label these candidates")
    else:
        report = label_plans(file, store, out, executor.choose(), show_progress=True)
    print(f"{out}: {report}")
    _print_info(out)
    return 0


def histogram(
    pack: PositionalFolder, /, generated: Files, store: Folder, out: File, threads: OptionalCount = None
) -> int:
    """Plot the PDMS of generated plans and of the bank.

    Also writes the numbers as JSON and Markdown.

    Example: w4s bank histogram bank --generated pool.pkl --store scenes --out histogram.png

    Args:
        pack: Folder of the bank.
        generated: Folders of `w4s pools`, pool dumps (.pkl), or .npz with tokens and plans (n, K, 8, 3).
        store: Scene store to score the generated plans in.
        out: Picture (.png, .pdf or .svg).
        threads: Threads; one for each core unless given.
    """
    from world4scorer.datasets.store import SceneStore
    from world4scorer.engine.outcomes.batch import set_threads
    from world4scorer.evaluation.pools.pool_files import PoolFolder, is_pools
    from world4scorer.planner.bank.candidate_bank import CandidateBank
    from world4scorer.planner.bank.histogram import compare_with_bank
    from world4scorer.planner.bank.histogram_figure import write_comparison
    from world4scorer.planner.bank.plan_files import read_plans

    if threads is not None:
        set_threads(threads)
    given = (PoolFolder(path).plans() if is_pools(path) else read_plans(path) for path in generated)
    plans = {token: pool for some in given for token, pool in some.items()}
    found = compare_with_bank(CandidateBank.open(pack), plans, SceneStore(store))
    words = ["w4s", "bank", "histogram", pack, "--generated", *generated, "--store", store, "--out", out]
    write_comparison(found, out, shlex.join(str(word) for word in words))
    for name, spread in (("generated", found.generated), ("bank", found.bank)):
        print(
            f"{name:10s} {spread.candidates:9,} candidates  PDMS {100 * spread.pdms:5.1f}  unsafe {spread.unsafe:.1%}"
        )
    print(f"{out}: {found.scenes:,} scenes, {found.left_out:,} generated ones left out that the bank does not have")
    return 0


def _print_info(folder: Path, out: Path | None = None) -> None:
    from world4scorer.cli.console_tables import print_bank
    from world4scorer.planner.bank.candidate_bank import CandidateBank
    from world4scorer.planner.bank.report import write_statistics
    from world4scorer.planner.bank.statistics import bank_statistics

    pack = CandidateBank.open(folder)
    found = bank_statistics(pack)
    if out is not None:
        write_statistics(pack, found, out)
    print_bank(pack, found)


SUBCOMMANDS: Final[dict[str, Callable[..., int]]] = {
    "make": make,
    "info": info,
    "import": import_,
    "histogram": histogram,
}
