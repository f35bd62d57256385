"""Commands of `Look`: show, film, explore, frames."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import tyro

from world4scorer.cli.arguments import (
    HIDE_DEFAULT,
    Benchmark,
    OptionalCount,
    OptionalFile,
    OptionalFolder,
    OptionalNumber,
    OptionalPath,
    OptionalSplit,
    RunOrPools,
    metavar,
)
from world4scorer.cli.exit_codes import UsageError
from world4scorer.jobs.run_folder import RunFolder, Weights

if TYPE_CHECKING:
    from world4scorer.evaluation.scores.pictures import PoolPictures, StorePictures
    from world4scorer.reporting.explorer.explored_run import ExploredRun

ShowSource = Annotated[Path, tyro.conf.Positional, metavar("RUN|POOLS|STORE")]
FilmSource = Annotated[Path, tyro.conf.Positional, metavar("RUN|POOLS|LOG")]
ExploreSources = Annotated[tuple[Path, ...], tyro.conf.Positional, metavar("RUN|POOLS|STORE [RUN|POOLS]")]
LogNames = Annotated[tuple[str, ...], metavar("NAME [NAME ...]")]
Tokens = Annotated[tuple[str, ...], tyro.conf.Positional, metavar("TOKEN [TOKEN ...]")]
OptionalLog = Annotated[str | None, metavar("NAME")]
OptionalSelection = Annotated[Literal["reranked", "framewise"] | None, HIDE_DEFAULT]

PICTURES: Final = (".png", ".svg", ".pdf")


def show(
    source: ShowSource,
    tokens: Tokens = (),
    /,
    out: OptionalPath = None,
    submission: OptionalFile = None,
    selection: OptionalSelection = None,
    plan: OptionalCount = None,
    metric: Benchmark = "epdms-v2.2",
    thumbnail: bool = False,
    cameras: bool = False,
    split: OptionalSplit = None,
    weights: Weights = "best",
    store: OptionalFolder = None,
    data: OptionalFolder = None,
) -> int:
    """Draw scenes in bird's-eye view, with plans and the reason of each zero.

    Map, traffic, route, human, reference. For a run or pools, all plans by utility and the choice with its rollout; for
    a scene store, one plan.

    Example: w4s show runs/city TOKEN --cameras

    Args:
        source: Training run, folder of pools, or scene store.
        tokens: Tokens of the scenes to draw.
        out: Picture (.png, .svg, .pdf), or a folder for TOKEN.png of each; TOKEN.png here unless given.
        submission: For a store: draw this submission's plan; the human's unless given.
        selection: For pools: which choice is drawn; reranked unless given, always framewise with pdms-v1.1.
        plan: For pools: show scores and reasons of this plan instead of the choice.
        metric: Which outcomes to show.
        thumbnail: Small pictures without text beside them.
        cameras: Show the camera images above the picture.
        split: Whose pools of a run to show; those of the validation split unless given.
        weights: Whose pools of a run: those of the best planner, if there are some, or of the last.
        store: Scene store of a run or pools, if it is not where they say.
        data: Dataset folder with the images, if it is not where the pools say.
    """
    from world4scorer.drawing.birdseye import save
    from world4scorer.evaluation.scores.pictures import Cameras

    pictures = _pictures(source, submission, selection, plan, metric, split, store, weights)
    if not tokens:
        raise UsageError(f"{source}: which moments? {_token_hint(source, pictures)}")
    if cameras and thumbnail:
        raise UsageError("--cameras: not possible with --thumbnail")
    images = Cameras.of_pictures(pictures, data) if cameras else None
    for token, path in zip(tokens, _paths(tokens, out), strict=True):
        shown = pictures.show(token, thumbnail, None if images is None else images.images(token))
        save(shown.figure, path)
        print("\n".join([f"{path}: {shown.lines[0]}", *shown.lines[1:]]))
    return 0


def _pictures(
    source: Path,
    submission: Path | None,
    selection: OptionalSelection,
    plan: int | None,
    metric: Benchmark,
    split: str | None,
    store: Path | None,
    weights: Weights,
) -> PoolPictures | StorePictures:
    from world4scorer.evaluation.pools.pool_files import is_pools
    from world4scorer.evaluation.scores.pictures import PoolPictures, StorePictures

    if is_pools(source) or RunFolder(source).exists:
        if submission is not None:
            raise UsageError(f"--submission: belongs to a scene store; {source} has plans of its own")
        if metric == "pdms-v1.1" and selection == "reranked":
            raise UsageError("--selection reranked: belongs to EPDMS; with --metric pdms-v1.1 choices are framewise")
        return PoolPictures.open(source, split, store, selection, metric, plan, weights)
    pictures = StorePictures.open(source, submission, metric)
    if split is not None or store is not None or plan is not None or selection is not None:
        raise UsageError(
            f"--split, --store, --plan and --selection belong to runs and pools; {source} is a scene store"
        )
    return pictures


def _token_hint(source: Path, pictures: PoolPictures | StorePictures) -> str:
    from world4scorer.evaluation.scores.pictures import StorePictures

    if isinstance(pictures, StorePictures):
        return f"Name tokens after it, e.g. w4s show {source} {pictures.store.tokens[0]}"
    return (
        f"Name tokens after it, e.g. w4s show {source} {pictures.pools.tokens[0]}. `w4s evaluate {source}` lists all "
        f"{len(pictures.pools):,} with their scores in {source}/evaluation/frames.csv"
    )


def _paths(tokens: tuple[str, ...], out: Path | None) -> list[Path]:
    if out is not None and out.suffix.lower() in PICTURES:
        if len(tokens) > 1:
            raise UsageError(f"--out {out}: one picture, but {len(tokens)} tokens; give a folder")
        return [out]
    if out is not None and out.suffix and not out.is_dir():
        raise UsageError(f"--out {out}: pictures are {', '.join(PICTURES)}; or give a folder")
    folder = Path() if out is None else out
    return [folder / f"{token}.png" for token in tokens]


def film(
    source: FilmSource,
    /,
    log: OptionalLog = None,
    out: OptionalFile = None,
    selection: OptionalSelection = None,
    start: float = 0.0,
    duration: OptionalNumber = None,
    height: int = 720,
    speed: float = 1.0,
    split: OptionalSplit = None,
    weights: Weights = "best",
    store: OptionalFolder = None,
    data: OptionalFolder = None,
) -> int:
    """Film a log: cameras, bird's-eye view, and a planner's decisions.

    Without --log, a run or pools show the log whose ego accelerates most on average, forwards, backwards and sideways.

    Example: w4s film runs/city --out drive.webp

    Args:
        source: Path of a log (DATA/navsim_logs/SPLIT/NAME.pkl), dataset folder, training run, or folder of pools.
        log: Name of the log, if the source has several.
        out: The film (.mp4, .webp or .gif); NAME.mp4 here unless given.
        selection: For a run or pools: which choice is drawn; reranked unless given.
        start: Start in the log [s].
        duration: Length of the filmed part [s]; up to the end of the log unless given.
        height: Height of the film [pixels].
        speed: Playback speed; 2 plays twice as fast.
        split: Whose pools of a run to show, those of the validation split unless given; for a dataset, the folder of
            logs, if the log is in several.
        weights: Whose pools of a run: those of the best planner, if there are some, or of the last.
        store: Scene store of a run or pools, if it is not where they say.
        data: Dataset folder, if it is not where the pools say.
    """
    from world4scorer.datasets.store import SceneStore
    from world4scorer.evaluation.pools.open import kept_pools
    from world4scorer.evaluation.pools.pool_files import is_pools
    from world4scorer.evaluation.pools.scored import ScoredPools
    from world4scorer.reporting.film.decisions import Decisions, find_log
    from world4scorer.reporting.film.log_film import film_log

    decisions, data_split = None, None
    if is_pools(source) or RunFolder(source).exists:
        pools = ScoredPools.open(kept_pools(source, split, weights), store)
        root, log, data_split = find_log(pools, log, data)
        decisions = Decisions(pools, SceneStore(pools.about["store"]), selection or "reranked")
    else:
        if selection is not None or store is not None or data is not None:
            raise UsageError(f"--selection, --store and --data belong to runs and pools; {source} is neither")
        root, data_split = source, split
        if source.suffix == ".pkl":
            if split is not None or log is not None or len(source.resolve().parents) < 3:
                raise UsageError(
                    f"{source}: give DATA/navsim_logs/SPLIT/NAME.pkl alone, or a dataset folder and --log NAME"
                )
            if not source.is_file():
                raise ValueError(f"{source}: no such log")
            root, log, data_split = source.resolve().parents[2], source.stem, source.resolve().parent.name
        elif log is None:
            raise UsageError(f"{source}: which log? Name it with --log, or give the path of its pickle")
    out = Path(f"{log}.mp4") if out is None else out
    report = film_log(
        root,
        log,
        out,
        data_split=data_split,
        decisions=decisions,
        start=start,
        duration=duration,
        height=height,
        speed=speed,
        show_progress=True,
    )
    print(report)
    return 0


def explore(
    sources: ExploreSources,
    /,
    out: OptionalFile = None,
    logs: LogNames = (),
    port: OptionalCount = None,
    browser: bool = True,
    split: OptionalSplit = None,
    weights: Weights = "best",
    store: OptionalFolder = None,
    data: OptionalFolder = None,
) -> int:
    """Explore a run in the browser: frames, plans, reasons, re-ranking live.

    Serves a page on this machine until it is stopped (Ctrl-C), or with --out writes one file that opens from disk. Two
    runs or pools are shown side by side on the same frames. Of a scene store, the human's plans are shown.

    Example: w4s explore runs/city

    Args:
        sources: Training run, folder of pools or scene store; or two of them to compare.
        out: Write the page into one file (.html) of at most 25 MB instead of serving it.
        logs: With --out: the logs to take; unless given, those of the report's scenes and as many others as fit.
        port: Port of the server; a free one unless given.
        browser: Open the page in a browser.
        split: Whose pools of a run; those of the validation split unless given.
        weights: Whose pools of a run: those of the best planner, if there are some, or of the last.
        store: Scene store of the pools, if it is not where they say.
        data: Dataset folder with the camera images, if it is not where the pools say.
    """
    from world4scorer.reporting.explorer.explored_run import ExploredRun
    from world4scorer.reporting.explorer.single_file import write_single_file

    if not 1 <= len(sources) <= 2:
        raise UsageError(f"{len(sources)} sources; give one, or two to compare")
    if out is None and logs:
        raise UsageError("--logs: belongs to --out; a server shows all logs")
    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--out {out}: the page is an HTML file; name it .html")
    runs = [ExploredRun.open(source, split, weights, store, data) for source in sources]
    if len(runs) == 2 and set(runs[0].pools.tokens).isdisjoint(runs[1].pools.tokens):
        raise ValueError(f"{sources[0]} and {sources[1]}: no frame in common; give two of the same split")
    if out is not None:
        print(write_single_file(runs, out, logs, show_progress=True))
        return 0
    _serve(runs, 0 if port is None else port, browser)
    return 0


def _serve(runs: list[ExploredRun], port: int, browser: bool) -> None:
    from world4scorer.reporting.explorer.server import ExplorerServer

    with ExplorerServer(runs, port) as server:
        print(f"{server.address} shows {runs[0].pools.describe()} Stop with Ctrl-C.", flush=True)
        if browser and _has_screen():
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("stopped")


def _has_screen() -> bool:
    """Whether a browser would open in a window: one in the terminal would take it over."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def frames(
    source: RunOrPools,
    /,
    out: OptionalFolder = None,
    split: OptionalSplit = None,
    weights: Weights = "best",
    store: OptionalFolder = None,
    data: OptionalFolder = None,
) -> int:
    """Write every frame as JSON, for a viewer in a browser.

    One file per frame of a planner's pools, and an index. Can be interrupted and run again: finished frames are kept.

    Example: w4s frames runs/city

    Args:
        source: Training run, or folder of pools.
        out: Folder; SOURCE/frames/SPLIT unless given.
        split: Whose pools of a run; those of the validation split unless given.
        weights: Whose pools of a run: those of the best planner, if there are some, or of the last.
        store: Scene store of the pools, if it is not where they say.
        data: Dataset folder with the camera images, if it is not where the pools say.
    """
    from world4scorer.evaluation.pools.open import kept_pools
    from world4scorer.reporting.explorer.write import write_frames

    pools = kept_pools(source, split, weights)
    frames_folder = RunFolder(source).frames
    folder = frames_folder if pools == source else frames_folder / pools.name
    print(write_frames(pools, folder if out is None else out, store, data, show_progress=True))
    return 0
