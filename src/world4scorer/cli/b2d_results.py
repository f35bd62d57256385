"""Verbs of `w4s b2d` about results of Bench2Drive's routes. Heavy imports happen inside the verb that needs them.

w4s b2d results gpu0.json gpu1.json --routes bench2drive220.xml --out results
w4s b2d routes bench2drive220.xml --parts 4 --out parts
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from world4scorer.cli.arguments import Folder, GivenFile, GivenPaths, MaybeFile, MaybeFolder, called
from world4scorer.cli.exit_codes import WrongCommand

if TYPE_CHECKING:
    from world4scorer.evaluation.leaderboard.merge import Results

RouteSetName = Annotated[str, called("FILE|N")]
Paths = Annotated[tuple[Path, ...], called("PATH [PATH ...]")]


def results(
    files: GivenPaths,
    /,
    out: MaybeFolder = None,
    routes: RouteSetName = "220",
    metrics: MaybeFolder = None,
    corrected: bool = False,
    step: float = 0.1,
    abilities: MaybeFile = None,
    missing: bool = False,
    draws: int = 10_000,
) -> int:
    """Merge results of routes and tell how well they were driven.

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
        step: Between samples of those files [s]; 0.1 is the published formula's.
        abilities: Scenario types by ability (.json); a list after Bench2Drive's paper unless given.
        missing: Print the routes that are missing or crashed, and nothing else.
        draws: Of the bootstrap over routes.
    """
    from world4scorer.evaluation.leaderboard.merge import merge, result_files
    from world4scorer.evaluation.leaderboard.route_set import route_set

    if (corrected or step != 0.1) and metrics is None:
        raise WrongCommand("--corrected and --step belong to smoothness, which needs --metrics")
    if missing and routes.isdecimal():
        raise WrongCommand("--missing: give the routes' XML file as --routes; a number of routes does not name them")
    merged = merge(result_files(files), route_set(routes))
    if missing:
        print("\n".join(merged.to_drive))
        return 0
    from world4scorer.cli.command_line import told
    from world4scorer.evaluation.leaderboard.abilities import ABILITIES, read_abilities
    from world4scorer.evaluation.scores.route_results import results_finding, save_results
    from world4scorer.jobs.files import check_folder

    if out is not None:
        check_folder(out)
    smooth = {} if metrics is None else _smoothness(merged, metrics, corrected, step)
    remarks = []
    if metrics is not None:
        remarks.append(f"Smoothness of {len(smooth)} routes, {_formula(corrected, step)}.")
    types = ABILITIES if abilities is None else read_abilities(abilities)
    finding = results_finding(merged, smooth, types, draws, remarks)
    given = {"routes": routes, "metrics": metrics, "corrected": corrected, "step": step}
    given |= {"abilities": abilities, "draws": draws}
    others = [file.name for file in files[:-1]]
    command = told(["w4s", "b2d", "results", *others], results, files[-1], given)
    print(finding.markdown(command))
    if out is not None:
        save_results(merged, finding, out, command, smooth)
        print(f"written: {out}/results.json, results.md, routes.csv, merged.json")
    return 0


def _formula(corrected: bool, step: float) -> str:
    return f"{'corrected units' if corrected else 'the published formula with its quirks'}, {step:g} s between samples"


def _smoothness(merged: Results, folder: Path, corrected: bool, step: float) -> dict[str, float]:
    """By route, for those whose agents wrote how they moved, for at least one chunk."""
    import math

    from world4scorer.evaluation.leaderboard.smoothness import METRIC_FILE, read_motion, smoothness

    if not folder.is_dir():
        raise ValueError(f"--metrics {folder}: no such folder")
    found = {}
    for record in merged.records:
        path = folder / (record.save_name or "") / METRIC_FILE
        if record.save_name and path.is_file():
            found[record.route] = smoothness(read_motion(path), corrected, step)
    if not found:
        raise ValueError(f"--metrics {folder}: no SAVE_NAME/{METRIC_FILE} of any record in it")
    return {route: share for route, share in found.items() if not math.isnan(share)}


def routes(file: GivenFile, /, out: Folder, parts: int = 1, done: Paths = ()) -> int:
    """Split a set of routes into XML files for runs beside each other.

    Routes that need another streaming radius get files of their own. With --done only routes that are missing or
    crashed are written, so that broken runs can go on.

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


VERBS: Final[dict[str, Callable[..., int]]] = {"results": results, "routes": routes}
