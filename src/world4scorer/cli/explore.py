"""The command `explore`: a run in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from world4scorer.cli.arguments import OptionalCount, OptionalFile, OptionalFolder, OptionalSplit, metavar
from world4scorer.cli.exit_codes import UsageError
from world4scorer.jobs.run_folder import Weights

if TYPE_CHECKING:
    from world4scorer.reporting.explorer.explored_run import ExploredRun

Sources = Annotated[tuple[Path, ...], tyro.conf.Positional, metavar("RUN|POOLS|STORE [RUN|POOLS]")]
Logs = Annotated[tuple[str, ...], metavar("NAME [NAME ...]")]


def explore(
    sources: Sources,
    /,
    out: OptionalFile = None,
    logs: Logs = (),
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
    if out is not None:
        print(write_single_file(runs, out, logs, show_progress=True))
        return 0
    _serve(runs, 0 if port is None else port, browser)
    return 0


def _serve(runs: list[ExploredRun], port: int, browser: bool) -> None:
    from world4scorer.reporting.explorer.server import ExplorerServer

    with ExplorerServer(runs, port) as server:
        print(f"{server.address} shows {runs[0].pools.describe()} Stop with Ctrl-C.", flush=True)
        if browser:
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("stopped")
