"""Verbs of the closed loop: drive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from world4scorer.cli.arguments import Folder, MaybeCount, MaybeFolder, called
from world4scorer.cli.command_line import told

Drivers = Annotated[tuple[str, ...], called("DRIVER [DRIVER ...]")]
Routes = Annotated[tuple[str, ...], called("ROUTE [ROUTE ...]")]
MaybeCheckpoint = Annotated[Path | None, called("RUN|PLANNER")]


def drive(
    out: Folder,
    checkpoint: MaybeCheckpoint = None,
    data: MaybeFolder = None,
    split: str = "city_test",
    routes: int = 28,
    drivers: Drivers = (),
    benchmark: Literal["v1", "v2"] = "v1",
    seed: int = 0,
    films: Routes = (),
    film_format: Literal["mp4", "webp", "gif"] = "mp4",
    film_height: int = 720,
    workers: MaybeCount = None,
) -> int:
    """Let a planner drive in the city's traffic, beside other drivers.

    Routes with signals, turns, lane changes, crossing pedestrians, stopped vehicles and cut-ins; Bench2Drive's rules
    and scores. May be killed and run again: finished drives are kept. Writes a record for each drive, results in the
    leaderboard's layout for each driver, and a table (JSON, Markdown, figure).

    Drivers: `framewise`, or `inertial`, `route`, `commands`, `creep`, also several joined by + (inertial+route), let
    the planner choose that way; `constant-velocity`, `ego-status`, `pdm-closed` and `sumo` need no planner.

    Example: w4s drive --checkpoint runs/city --out drives

    Args:
        out: Folder of the drives.
        checkpoint: Training run, folder of a planner, or released checkpoint.
        data: Dataset folder of the city; a training run knows its own, unless it was trained on clips.
        split: Name of a split of the city; the routes lead through its simulations.
        routes: How many.
        drivers: Who drives; framewise, inertial, route and all that need no planner unless given.
        benchmark: Whose utility the planner chooses by; v2 is refused for planners trained on Bench2Drive, who lack one
            of its terms.
        seed: Of the choice of routes.
        films: Routes to film with every driver, by name; `all` for all of them.
        film_format: Of films; WebP and GIF need no player.
        film_height: Of films [pixels].
        workers: Processes; one for each core unless given.
    """
    from world4scorer.cli.learn import needs_torch
    from world4scorer.driving.closed_loop.choice import DEFAULT, EGO_STATUS, OTHERS, DriverChoice
    from world4scorer.driving.closed_loop.comparison import compare_drivers
    from world4scorer.driving.closed_loop.run import Plan, drive_all, film_drives, write_driver_results

    run, planner, data = _found(checkpoint, data)
    names = drivers or tuple(name for name in DEFAULT if (planner or name in OTHERS) and (run or name != EGO_STATUS))
    choices = [DriverChoice.parse(name, benchmark) for name in dict.fromkeys(names)]
    if any(choice.options is not None or choice.name == EGO_STATUS for choice in choices):
        needs_torch("w4s drive")
    from world4scorer.jobs.executors import choose_executor

    plan = Plan(data, split, routes, seed, planner, run, benchmark)
    executor = choose_executor("serial" if workers == 1 else "processes", workers=workers)
    drives = drive_all(plan, choices, out, executor, show=True)
    write_driver_results(drives)
    finding = compare_drivers(drives)
    source = checkpoint or data
    given = {"routes": routes, "split": split, "drivers": drivers, "benchmark": benchmark, "seed": seed}
    command = told(["w4s", "drive", "--checkpoint" if checkpoint else "--data"], drive, source, given)
    path = finding.save(out, command)
    print(finding.markdown(command))
    print(f"written: {path}.json, .md, .png; records in {out}/DRIVER/")
    for film in film_drives(plan, drives, films, film_format, film_height):
        print(f"film: {film}")
    return 0


def _found(checkpoint: Path | None, data: Path | None) -> tuple[Path | None, Path | None, Path]:
    """Training run, planner and city that are meant."""
    from world4scorer.cli.exit_codes import WrongCommand

    if checkpoint is None:
        if data is None:
            raise WrongCommand("--data: say which city; a training run given as --checkpoint knows its own")
        return None, None, data
    if (checkpoint / "data.json").is_file():
        from world4scorer.planner.training.run import PLANNER
        from world4scorer.planner.training.run_files import read_run, trained_on_clips

        verb, own = "w4s b2d train", None
        if not (clips := trained_on_clips(checkpoint)):
            _, trained = read_run(checkpoint)
            verb, own = "w4s train", trained.val_data or trained.data
        if not (checkpoint / PLANNER).is_dir():
            raise ValueError(f"{checkpoint / PLANNER}: no such folder; this run is not finished, run `{verb}` again")
        city = data or own
        if city is None:
            raise WrongCommand(f"--data: {checkpoint} was trained on clips; say which city it drives in")
        return None if clips else checkpoint, checkpoint / PLANNER, city
    if data is None:
        raise WrongCommand(f"--data: {checkpoint} is a planner without a training run; say which city it drives in")
    return None, checkpoint, data
