"""Commands of `Data`: check-data, prepare."""

from __future__ import annotations

import sys

from world4scorer.cli.arguments import Executor, Folder, OptionalAddress, OptionalCount, OptionalFolder, Split
from world4scorer.cli.exit_codes import INPUT_ERROR


def check_data(data: Folder, split: Split, images: bool = True, workers: OptionalCount = None) -> int:
    """Report which parts of a NAVSIM dataset are there, and what they suffice for.

    For scoring: logs and maps. For training: images. For future targets: the front image two seconds ahead.

    Example: w4s check-data --data openscene --split navtest

    Args:
        data: Dataset folder with navsim_logs, maps and sensor_blobs.
        split: Name of a split (navtrain, navtest, mini, ...), or the path of its YAML file.
        images: Check images too; --no-images checks logs and maps only.
        workers: Processes; one for each core unless given.
    """
    from world4scorer.datasets.navsim.splits import find_split
    from world4scorer.datasets.prepare.check_data import check_data as check
    from world4scorer.jobs.executors import choose_executor

    report = check(data, find_split(split, data), choose_executor(workers=workers), images=images)
    print("\n".join(report.lines()))
    if report.can_score:
        return 0
    print(f"w4s: {data}: not enough to score {split}", file=sys.stderr)
    return INPUT_ERROR


def prepare(
    data: Folder,
    split: Split,
    store: Folder,
    executor: Executor = "processes",
    workers: OptionalCount = None,
    ray_address: OptionalAddress = None,
    synthetic: OptionalFolder = None,
) -> int:
    """Prepare the scenes of a NAVSIM split for scoring.

    Can be interrupted and run again: finished logs are kept.

    Example: w4s prepare --data openscene --split navtest --store scenes

    Args:
        data: Dataset folder with navsim_logs, maps and sensor_blobs.
        split: Name of a split (navtrain, navtest, mini, ...), or the path of its YAML file.
        store: Scene store to make.
        executor: Where the work runs.
        workers: Processes, or tasks on the cluster; one for each core unless given.
        ray_address: Address of a running Ray cluster; implies --executor ray.
        synthetic: Folder of a two-stage split's second-stage scenes; DATA/SPLIT/synthetic_scene_pickles unless given.
    """
    from world4scorer.city.world.global_plan import city_routes
    from world4scorer.datasets.navsim.splits import find_split
    from world4scorer.datasets.prepare.fill_store import prepare as prepare_store
    from world4scorer.datasets.prepare.samples import add_route_points
    from world4scorer.datasets.prepare.source import NavsimSource, find_synthetic
    from world4scorer.jobs.executors import choose_executor

    found = find_split(split, data)
    source = NavsimSource(data, found, synthetic=find_synthetic(data, found, synthetic), routes=city_routes(data))
    missing = source.missing_logs()
    if missing:
        print(
            f"w4s: {len(missing)} logs of {found.name} are not on disk ({missing[0]}, ...); preparing the others",
            file=sys.stderr,
        )
    tokens = found.filter.tokens
    chosen = choose_executor(executor, workers=workers, ray_address=ray_address)
    report = prepare_store(source, store, chosen, expected_scenes=None if tokens is None else len(tokens))
    if source.routes is not None:
        add_route_points(data, found, store, source.routes, chosen)
    print(report)
    return 0
