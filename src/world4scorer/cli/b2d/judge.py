"""Subcommands of `w4s b2d` around drives in CARLA: the agent, its routes, its results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from world4scorer.cli.arguments import (
    File,
    Folder,
    OptionalFile,
    OptionalFolder,
    PositionalFile,
    PositionalPaths,
    metavar,
)
from world4scorer.cli.command_line import command_line
from world4scorer.cli.exit_codes import UsageError

RouteSetName = Annotated[str, metavar("FILE|N")]
Paths = Annotated[tuple[Path, ...], metavar("PATH [PATH ...]")]
Routes = Annotated[tuple[str, ...], metavar("ROUTE [ROUTE ...]")]
Address = Annotated[str, metavar("ADDRESS")]


def agent(out: Folder, server: Address = "127.0.0.1:4747", overwrite: bool = False) -> int:
    """Copy the agent for CARLA's leaderboard, with its configuration.

    One file that needs NumPy and nothing else, for Python 3.7 or newer, and a JSON file that tells it where the planner
    server is and how plans are to be chosen: with kept commands and route re-ranking.

    Example: w4s b2d agent --out Bench2Drive/leaderboard/team_code

    Args:
        out: Folder for both, such as the leaderboard's team_code.
        server: Where `w4s serve` listens: 127.0.0.1:PORT or unix:PATH.
        overwrite: Replace files that differ.
    """
    from world4scorer.driving.serving.address import Address
    from world4scorer.driving.serving.agent_file import DEFAULT_OPTIONS, copy_agent

    for path in copy_agent(out, {"server": str(Address.parse(server)), "options": DEFAULT_OPTIONS}, overwrite):
        print(f"written: {path}")
    return 0


def results(
    files: PositionalPaths,
    /,
    out: OptionalFolder = None,
    routes: RouteSetName = "220",
    metrics: OptionalFolder = None,
    corrected: bool = False,
    step: float = 0.1,
    abilities: OptionalFile = None,
    missing: bool = False,
    published: bool = False,
    draws: int = 10_000,
) -> int:
    """Merge results of routes and report driving scores.

    Driving Score, Success Rate, efficiency, smoothness, abilities and infractions per km, with intervals by bootstrap
    over routes. Of routes that crashed and were driven again the finished record counts. With --missing only the
    numbers of the routes that are still to be driven are printed, one a line.

    Example: w4s b2d results gpu0.json gpu1.json --routes b2d220.xml --out out

    Args:
        files: Result files of the leaderboard, or folders of them.
        out: Folder for tables (.md, .json), a row per route (.csv) and the merged results; only printed unless given.
        routes: The set: its XML file, or just a number of routes.
        metrics: Folder in which agents wrote SAVE_NAME/metric_info.json; without it there is no smoothness.
        corrected: Smoothness with yaw rates in rad/s and true yaw accelerations, unlike the published formula.
        step: Time between samples of those files [s]; 0.1 is the published formula's.
        abilities: Scenario types by ability (.json); a list after Bench2Drive's paper unless given.
        missing: Print the routes that are missing or crashed, and nothing else.
        published: Also print the paper's table of published methods.
        draws: Number of bootstrap draws over routes.
    """
    from world4scorer.evaluation.leaderboard.merge import merge, result_files
    from world4scorer.evaluation.leaderboard.route_set import route_set

    if (corrected or step != 0.1) and metrics is None:
        raise UsageError("--corrected and --step belong to smoothness, which needs --metrics")
    if missing and routes.isdecimal():
        raise UsageError("--missing: give the routes' XML file as --routes; a number of routes does not name them")
    merged = merge(result_files(files), route_set(routes))
    if missing:
        print("\n".join(merged.to_drive))
        return 0
    from world4scorer.evaluation.leaderboard.abilities import ABILITIES, read_abilities
    from world4scorer.evaluation.leaderboard.smoothness import formula, route_smoothness
    from world4scorer.evaluation.scores.route_results import results_finding, save_results
    from world4scorer.jobs.files import check_folder

    if out is not None:
        check_folder(out)
    smooth = {} if metrics is None else route_smoothness(merged.records, metrics, corrected, step)
    remarks = []
    if metrics is not None:
        remarks.append(f"Smoothness of {len(smooth)} routes, {formula(corrected, step)}.")
    types = ABILITIES if abilities is None else read_abilities(abilities)
    finding = results_finding(merged, smooth, types, draws, remarks)
    given = {"routes": routes, "metrics": metrics, "corrected": corrected, "step": step}
    given |= {"abilities": abilities, "draws": draws}
    others = [file.name for file in files[:-1]]
    command = command_line(["w4s", "b2d", "results", *others], results, files[-1], given)
    print(finding.markdown(command))
    if published:
        from world4scorer.cli.console_tables import print_published

        print_published("bench2drive")
    if out is not None:
        save_results(merged, finding, out, command, smooth)
        print(f"written: {out}/results.json, results.md, routes.csv, merged.json")
    return 0


def routes(file: PositionalFile, /, out: Folder, parts: int = 1, done: Paths = ()) -> int:
    """Split a set of routes into XML files for parallel runs.

    Routes that need another streaming radius get files of their own. With --done only routes that are missing or
    crashed are written, so that interrupted runs can be resumed.

    Example: w4s b2d routes b2d220.xml --parts 4 --out parts

    Args:
        file: XML file of the routes.
        out: Folder of the parts.
        parts: Files to write, beside those of other streaming radii.
        done: Result files so far, or folders of them: finished routes are left out.
    """
    from world4scorer.evaluation.leaderboard.merge import merge, result_files
    from world4scorer.evaluation.leaderboard.route_set import route_set, split_routes
    from world4scorer.jobs.files import check_folder

    check_folder(out)
    merged = merge(result_files(done), route_set(str(file)))
    finished = {record.route for record in merged.records if not record.crashed}
    written = split_routes(file, parts, out, finished)
    for path, numbers in written.items():
        print(f"{path}: {len(numbers)} routes")
    if not written:
        print(f"{file}: all {len(finished)} routes are finished")
    return 0


def sheets(
    files: PositionalPaths,
    /,
    routes: File,
    saves: Folder,
    out: Folder,
    sheets: Routes = ("scenarios",),
    name: str = "ours",
    against: Paths = (),
    against_saves: OptionalFolder = None,
    against_name: str = "baseline",
) -> int:
    """Draw drives in CARLA as sheets of camera frames with a map.

    From records of the leaderboard and what the agent wrote while driving: SAVE_NAME/metric_info.json, and images of
    the front camera in SAVE_NAME/rgb_front, which Bench2Drive's agents write, and ours with "images": true.

    Example: w4s b2d sheets run --routes b2d220.xml --saves saves --out sheets

    Args:
        files: Result files of the leaderboard, or folders of them.
        routes: XML file of the routes.
        saves: Folder that the agent wrote to: its metric_dir, or SAVE_PATH.
        out: Folder of the sheets.
        sheets: Routes to draw as sheets of camera frames with a map, every driver a row and the first infraction
            enlarged; `scenarios` for the best route of each scenario on one sheet.
        name: Name of the driver.
        against: Result files of another driver, or folders of them, to compare with.
        against_saves: Folder that the other driver's agent wrote to.
        against_name: Name of the other driver.
    """
    from world4scorer.drawing.birdseye import save
    from world4scorer.driving.bench2drive.route_sheets import CarlaDrives
    from world4scorer.driving.sheets.draw import draw_sheet
    from world4scorer.jobs.files import check_folder

    if bool(against) != (against_saves is not None):
        raise UsageError("--against and --against-saves: give both or neither")
    check_folder(out)
    drives = [CarlaDrives.open(name, files, saves, routes)]
    if against_saves is not None:
        drives.append(CarlaDrives.open(against_name, against, against_saves, routes))
    for route in dict.fromkeys(sheets):
        if route == "scenarios":
            figure = draw_sheet([drives[0].sheet_drive(best) for best in drives[0].best_by_scenario()])
        else:
            figure = draw_sheet([one.sheet_drive(route) for one in drives], compared=True)
        save(figure, out / f"{route}.png")
        print(f"sheet: {out / route}.png")
    return 0
