"""Scene stores of splits that commands are asked about: filled by `w4s prepare`, or where one is missing."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from world4scorer.city.world.global_plan import city_routes
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.fill_store import PrepareReport
from world4scorer.datasets.prepare.fill_store import prepare as prepare_store
from world4scorer.datasets.prepare.samples import add_route_points
from world4scorer.datasets.prepare.source import NavsimSource, synthetic_by_log
from world4scorer.jobs.executors import Executor, local_executor
from world4scorer.jobs.run_folder import RunFolder


def fill_store(data: Path, split: str, store: Path, executor: Executor, synthetic: Path | None = None) -> PrepareReport:
    """Prepare the scenes of a split that are missing in a store, with the route points that a city knows."""
    found = find_split(split, data)
    by_log = {} if synthetic is None else synthetic_by_log(synthetic)
    source = NavsimSource(data, found, synthetic=by_log, routes=city_routes(data))
    missing = source.missing_logs()
    if missing:
        print(
            f"w4s: {len(missing)} logs of {found.name} are not on disk ({missing[0]}, ...); preparing the others",
            file=sys.stderr,
        )
    tokens = found.filter.tokens
    report = prepare_store(source, store, executor, expected_scenes=None if tokens is None else len(tokens))
    if source.routes is not None:
        add_route_points(data, found, store, source.routes, executor)
    return report


def prepare_missing_store(
    source: Path, split: str | None, data: Path | None = None, store: Path | None = None, workers: int | None = None
) -> None:
    """Prepare the store of a split that a run is asked about, where there is none; anything else is left alone."""
    if split is None or not RunFolder(source).exists or find_spec("torch") is None:
        return  # pools that are there already need neither torch nor a store to be made
    from world4scorer.planner.training.run_files import looked_at, read_run

    seen = looked_at(read_run(source)[1], data, split, store)
    if not seen.val_store.is_dir():
        print(f"scene store: preparing {seen.val_store}", file=sys.stderr)
        fill_store(seen.val_data or seen.data, split, seen.val_store, local_executor(workers))
