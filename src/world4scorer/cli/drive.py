"""Commands that drive in the city: drive, compare-drives, aggregate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import tyro

from world4scorer.cli.arguments import ExecutorFlags, Folder, OptionalFolder, Run, metavar
from world4scorer.cli.command_line import command_line
from world4scorer.cli.exit_codes import UsageError, require_city, require_torch
from world4scorer.jobs.executor_options import DEFAULT_EXECUTOR_OPTIONS
from world4scorer.jobs.run_folder import RunFolder, Weights
from world4scorer.planner.bundled import planner_folder

Drivers = Annotated[tuple[str, ...], metavar("DRIVER [DRIVER ...]")]
Routes = Annotated[tuple[str, ...], metavar("ROUTE [ROUTE ...]")]
OptionalCheckpoint = Annotated[Path | None, metavar("RUN|PLANNER")]
Drives = Annotated[Path, tyro.conf.Positional, metavar("DRIVES")]
OptionalName = Annotated[str | None, metavar("NAME")]


def drive(
    out: Folder,
    checkpoint: OptionalCheckpoint = None,
    weights: Weights = "best",
    data: OptionalFolder = None,
    suite: OptionalName = None,
    split: str = "city_test",
    routes: int = 28,
    drivers: Drivers = (),
    benchmark: Literal["v1", "v2"] = "v1",
    seed: int = 0,
    films: Routes = (),
    sheets: Routes = (),
    film_format: Literal["mp4", "webp", "gif"] = "mp4",
    film_height: int = 720,
    repeat: int = 0,
    record: OptionalName = None,
    disturbed: bool = False,
    executor: ExecutorFlags = DEFAULT_EXECUTOR_OPTIONS,
) -> int:
    """Drive a planner in the city's traffic, and other drivers for comparison.

    Routes with signals, turns, lane changes, crossing pedestrians, stopped vehicles and cut-ins; Bench2Drive's rules
    and scores. Can be interrupted and run again: finished drives are kept. Writes a record for each drive, results in
    the leaderboard's layout for each driver, and a table (JSON, Markdown, figure).

    Drivers: `framewise`, or `inertial`, `route`, `path`, `corridor`, `limit`, `start`, `progress`, `commands`,
    `prompt`, `creep`, also several joined by + (inertial+corridor), let the planner choose that way;
    `constant-velocity`, `ego-status`, `pdm-closed` and `sumo` need no planner.

    With --record NAME the drives are also written as logs into the city's dataset, as the split NAME with cameras: then
    `w4s prepare --split NAME`, banks, targets, training and pictures take them as they take the expert's logs.

    Example: w4s drive --checkpoint runs/city --out drives

    Args:
        out: Folder of the drives.
        checkpoint: Training run, folder of a planner, or released checkpoint.
        weights: Planner of a training run: the one with the best validation score, or the last.
        data: Dataset folder of the city; a training run knows its own, unless it was trained on clips.
        suite: Fixed routes with traffic of their own instead of those of a split: `city-220`, the benchmark on the
            test towns; `city-val`, 40 routes on the validation town; or `city-dev`, 40 on training towns. Made below
            the folder of the city.
        split: Name of a split of the city; the routes lead through its simulations.
        routes: Number of routes.
        drivers: Drivers; framewise, inertial, route and all that need no planner unless given.
        benchmark: Utility that the planner selects by; v2 is refused for planners trained on Bench2Drive, which lack
            one of its terms.
        seed: Seed of the routes; other than 0, a suite has other traffic and routes on the same towns.
        films: Routes to film with every driver, by name; `all` for all of them.
        sheets: Routes to draw as sheets of camera frames with a map, every driver a row and the first infraction
            enlarged; `all` for all, `scenarios` for the first driver's best route of each scenario on one sheet.
        film_format: Format of films; WebP and GIF need no player.
        film_height: Height of films [pixels].
        repeat: Drive this many of the routes a second time and check that the result is the same.
        record: Also write the drives as logs: name of the new split.
        disturbed: Start beside the route and push the ego now and then, so that it gets into trouble.
        executor: Where the work runs.
    """
    require_torch("w4s drive")  # drivers without a planner need it as well: all are defined together
    require_city("w4s drive")
    from world4scorer.driving.closed_loop.disturbance import DisturbanceConfig
    from world4scorer.driving.closed_loop.drive_config import DriveConfig
    from world4scorer.driving.closed_loop.drive_log import DriveLogWriter
    from world4scorer.driving.closed_loop.driver_spec import DriverSpec, default_drivers
    from world4scorer.driving.closed_loop.repeat import draw_drives, film_drives, repeat_drives
    from world4scorer.driving.closed_loop.run import drive_all, write_driver_results
    from world4scorer.driving.closed_loop.suites import find_suite
    from world4scorer.driving.results.comparison import compare_drivers

    run, planner, data = _find_planner(checkpoint, data, weights)
    names = drivers or default_drivers(planner is not None, run is not None)
    choices = [DriverSpec.parse(name, benchmark) for name in dict.fromkeys(names)]
    disturbance = DisturbanceConfig(seed=seed) if disturbed else None
    plan = DriveConfig(data, split, routes, seed, planner, run, benchmark, disturbance=disturbance)
    if suite is not None:
        fixed = find_suite(suite).varied(seed)
        plan = replace(plan, suite=fixed.name, split=fixed.config.shares[0].split, routes=fixed.count, seed=0)
    logs = None if record is None else DriveLogWriter(plan.world, record)
    drives = drive_all(plan, choices, out, executor.choose(), show=True, logs=logs)
    write_driver_results(drives)
    finding = compare_drivers(drives)
    source = checkpoint or data
    given = {
        "weights": weights,
        "suite": suite,
        "routes": routes,
        "split": split,
        "drivers": drivers,
        "benchmark": benchmark,
        "seed": seed,
        "record": record,
        "disturbed": disturbed,
    }
    command = command_line(["w4s", "drive", "--checkpoint" if checkpoint else "--data"], drive, source, given)
    path = finding.save(out, command)
    print(finding.markdown(command))
    print(f"written: {path}.json, .md, .png; records in {out}/DRIVER/")
    if record is not None:
        print(f"logs: split {record} of {plan.world}")
        print(f"next: w4s prepare --data {plan.world} --split {record} --store {plan.world}/store/{record}")
    if repeat:
        print(f"repeated: {repeat_drives(plan, drives, repeat)} drives, with the same results")
    for film in film_drives(plan, drives, films, film_format, film_height):
        print(f"film: {film}")
    for sheet in draw_drives(plan, drives, sheets) if sheets else ():
        print(f"sheet: {sheet}")
    return 0


def compare_drives(first: Drives, second: Drives, /, out: OptionalFolder = None) -> int:
    """Compare two drivers on the same routes, route by route.

    Driving Score, success, completion, collisions, blocked drives and routes left, each with the change and its 95 %
    interval. The drives may be of one `w4s drive` or of two with the same routes: before and after training, say.

    Example: w4s compare-drives before/framewise after/framewise

    Args:
        first: Drives of a driver: a folder OUT/DRIVER of `w4s drive`.
        second: Drives of another.
        out: Also write the table (JSON, Markdown) to this folder.
    """
    from world4scorer.driving.results.paired import compare_pair

    finding = compare_pair(first, second)
    command = f"w4s compare-drives {first} {second}"
    print(finding.markdown(command))
    if out is not None:
        print(f"written: {finding.save(out, command)}.json, .md")
    return 0


def aggregate(
    run: Run,
    /,
    out: Folder,
    rounds: int = 3,
    routes: int = 60,
    simulations: int = 4,
    driver: str = "framewise",
    imitation: Literal["off", "pdm-closed"] = "off",
    epochs: int = 1,
    learning_rate: float = 5e-4,
    scenes: int = 0,
    ego_numbers: Literal[0, 13, 21] = 0,
    undisturbed: bool = False,
    suite: str = "city-val",
    evaluation_routes: int = 28,
    least_gain: float = 1.0,
    target_encoder: str = "city",
    seed: int = 0,
    accelerator: str = "auto",
    devices: int = 1,
    executor: ExecutorFlags = DEFAULT_EXECUTOR_OPTIONS,
) -> int:
    """Train a planner further on states that it drives into itself.

    Rounds of: drive on training streets with disturbances, write the drives as logs, prepare them, fine-tune on logs
    and own scenes by the outcomes of all candidates, measure on validation streets. Ends when a round does not pay. Can
    be interrupted and run again. OUT/planner is the planner that drove best; drives are splits of the city's dataset.

    Example: w4s aggregate runs/city --out runs/own

    Args:
        run: Folder of a finished `w4s train` on a city.
        out: Folder of the rounds.
        rounds: Most rounds; more can be added later.
        routes: Routes that are driven in a round.
        simulations: Simulations that the routes of a round come from, others in each; 0 for all.
        driver: How the planner chooses while driving, as in `w4s drive`.
        imitation: Whom plans imitate in own scenes: nobody, or PDM-Closed.
        epochs: Passes through logs and own scenes in a round.
        learning_rate: Peak learning rate of a round.
        scenes: Scenes of the logs that a round trains on; 0 for all of the run.
        ego_numbers: From the first round on give the planner the route: 13 its point, 21 four points more; 0: as it is.
        undisturbed: Do not disturb the drives.
        suite: Routes that rounds are measured on; empty for routes of the validation split.
        evaluation_routes: Number of these routes, without a suite.
        least_gain: Points of Driving Score that a round must gain, or it is the last.
        target_encoder: Encoder of the run's future targets.
        seed: Seed of routes, disturbances and training.
        accelerator: Where to train: cpu, gpu, auto.
        devices: Processes that train, one per device; on CPUs they share the cores.
        executor: Where the work runs.
    """
    require_torch("w4s aggregate")
    require_city("w4s aggregate")
    from world4scorer.driving.aggregation.aggregate import aggregate as run_rounds
    from world4scorer.driving.aggregation.config import AggregateConfig
    from world4scorer.driving.aggregation.rounds import Aggregation
    from world4scorer.driving.closed_loop.disturbance import DisturbanceConfig
    from world4scorer.planner.training.run import Machine

    config = AggregateConfig(
        rounds=rounds,
        routes=routes,
        simulations=simulations,
        driver=driver,
        imitation=imitation,
        epochs=epochs,
        learning_rate=learning_rate,
        scenes=scenes,
        ego_numbers=ego_numbers,
        suite=suite,
        evaluation_routes=evaluation_routes,
        least_gain=least_gain,
        target_encoder=target_encoder,
        disturbance=None if undisturbed else DisturbanceConfig(),
        seed=seed,
    )
    work = Aggregation(run, out, config, executor.choose(), Machine(accelerator, devices), show=True)
    finding = run_rounds(work)
    command = f"w4s aggregate {run.name} --rounds {rounds} --routes {routes} --imitation {imitation}"
    path = finding.save(out, command)
    print(finding.markdown(command))
    print(f"written: {path}.json, .md; the planner that drove best: {RunFolder(out).planner}")
    return 0


def _find_planner(
    checkpoint: Path | None, data: Path | None, weights: Weights
) -> tuple[Path | None, Path | None, Path]:
    """Training run and planner of a checkpoint, if any, and the dataset folder of the city."""
    if checkpoint is None:
        if data is None:
            raise UsageError("--data: name the city; only a training run given as --checkpoint has its own")
        return None, None, data
    checkpoint = planner_folder(checkpoint)
    run = RunFolder(checkpoint)
    if run.data_file.is_file():
        from world4scorer.planner.training.run_files import read_run

        own = None
        if not run.trained_on_clips:
            _, trained = read_run(checkpoint)
            own = trained.val_data or trained.data
        planner = run.finished_planner(weights)
        city = data or own
        if city is None:
            raise UsageError(f"--data: {checkpoint} was trained on clips; name the city it drives in")
        return None if run.trained_on_clips else checkpoint, planner, city
    if data is None:
        raise UsageError(f"--data: {checkpoint} is a planner without a training run; name the city it drives in")
    return None, checkpoint, data
