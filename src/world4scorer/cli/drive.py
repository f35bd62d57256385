"""`w4s drive`: a planner and other drivers in the city's reactive traffic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from world4scorer.cli.arguments import Folder, OptionalCount, OptionalFolder, metavar
from world4scorer.cli.command_line import command_line
from world4scorer.cli.exit_codes import UsageError, require_torch
from world4scorer.jobs.run_folder import RunFolder, Weights
from world4scorer.planner.bundled import planner_folder

Drivers = Annotated[tuple[str, ...], metavar("DRIVER [DRIVER ...]")]
Routes = Annotated[tuple[str, ...], metavar("ROUTE [ROUTE ...]")]
OptionalCheckpoint = Annotated[Path | None, metavar("RUN|PLANNER")]


def drive(
    out: Folder,
    checkpoint: OptionalCheckpoint = None,
    weights: Weights = "best",
    data: OptionalFolder = None,
    split: str = "city_test",
    routes: int = 28,
    drivers: Drivers = (),
    benchmark: Literal["v1", "v2"] = "v1",
    seed: int = 0,
    films: Routes = (),
    sheets: Routes = (),
    film_format: Literal["mp4", "webp", "gif"] = "mp4",
    film_height: int = 720,
    workers: OptionalCount = None,
) -> int:
    """Drive a planner in the city's traffic, and other drivers for comparison.

    Routes with signals, turns, lane changes, crossing pedestrians, stopped vehicles and cut-ins; Bench2Drive's rules
    and scores. Can be interrupted and run again: finished drives are kept. Writes a record for each drive, results in
    the leaderboard's layout for each driver, and a table (JSON, Markdown, figure).

    Drivers: `framewise`, or `inertial`, `route`, `commands`, `creep`, also several joined by + (inertial+route), let
    the planner choose that way; `constant-velocity`, `ego-status`, `pdm-closed` and `sumo` need no planner.

    Example: w4s drive --checkpoint runs/city --out drives

    Args:
        out: Folder of the drives.
        checkpoint: Training run, folder of a planner, or released checkpoint.
        weights: Planner of a training run: the one with the best validation score, or the last.
        data: Dataset folder of the city; a training run knows its own, unless it was trained on clips.
        split: Name of a split of the city; the routes lead through its simulations.
        routes: Number of routes.
        drivers: Drivers; framewise, inertial, route and all that need no planner unless given.
        benchmark: Utility that the planner selects by; v2 is refused for planners trained on Bench2Drive, which lack
            one of its terms.
        seed: Seed of the routes.
        films: Routes to film with every driver, by name; `all` for all of them.
        sheets: Routes to draw as sheets of camera frames with a map, every driver a row and the first infraction
            enlarged; `all` for all, `scenarios` for the first driver's best route of each scenario on one sheet.
        film_format: Format of films; WebP and GIF need no player.
        film_height: Height of films [pixels].
        workers: Processes; one for each core unless given.
    """
    from world4scorer.driving.closed_loop.comparison import compare_drivers
    from world4scorer.driving.closed_loop.driver_spec import EGO_STATUS, DriverSpec, default_drivers
    from world4scorer.driving.closed_loop.repeat import draw_drives, film_drives
    from world4scorer.driving.closed_loop.run import DriveConfig, drive_all, write_driver_results

    run, planner, data = _find_planner(checkpoint, data, weights)
    names = drivers or default_drivers(planner is not None, run is not None)
    choices = [DriverSpec.parse(name, benchmark) for name in dict.fromkeys(names)]
    if any(choice.options is not None or choice.name == EGO_STATUS for choice in choices):
        require_torch("w4s drive")
    from world4scorer.jobs.executors import choose_executor

    plan = DriveConfig(data, split, routes, seed, planner, run, benchmark)
    executor = choose_executor("serial" if workers == 1 else "processes", workers=workers)
    drives = drive_all(plan, choices, out, executor, show=True)
    write_driver_results(drives)
    finding = compare_drivers(drives)
    source = checkpoint or data
    given = {
        "weights": weights,
        "routes": routes,
        "split": split,
        "drivers": drivers,
        "benchmark": benchmark,
        "seed": seed,
    }
    command = command_line(["w4s", "drive", "--checkpoint" if checkpoint else "--data"], drive, source, given)
    path = finding.save(out, command)
    print(finding.markdown(command))
    print(f"written: {path}.json, .md, .png; records in {out}/DRIVER/")
    for film in film_drives(plan, drives, films, film_format, film_height):
        print(f"film: {film}")
    for sheet in draw_drives(plan, drives, sheets) if sheets else ():
        print(f"sheet: {sheet}")
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
