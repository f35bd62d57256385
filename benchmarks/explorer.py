"""How large is the explorer's page, how fast does it load, how long does an interaction take, and its data?

    python benchmarks/explorer.py runs/city

Needs Chromium, its driver and selenium. Writes results/explorer.json and results/explorer.md. Data: processor time of
making tables and scenes, one thread, a few logs. Page: Debian's headless Chromium without a GPU, loaded from one file
and from the server; of each interaction the work from the change of state to the last line of drawing, the median and
the longest of ten, with all frames of the file loaded.
"""

from __future__ import annotations

import gzip
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import tyro

from world4scorer.reporting.explorer.explored_run import ExploredRun
from world4scorer.reporting.explorer.server import ExplorerServer
from world4scorer.reporting.explorer.single_file import write_single_file

ROOT = Path(__file__).resolve().parents[1]
LOGS, ROUNDS = 6, 10
SHOWN, LOADED = "document.body.dataset.state === 'ready'", "document.body.dataset.tables === 'all'"
INTERACTIONS = {
    "a step in time": "explorer.set({step: (explorer.state.step + 1) % 41})",
    "the pointer over another plan": "explorer.hover((explorer.hovered + 1) % 40)",
    "another plan": "explorer.set({plan: (explorer.state.plan + 1) % 40})",
    "another frame": "explorer.move(1)",
    "another weight: choices of all frames": "explorer.set({weight: (explorer.state.weight + 0.3) % 3})",
    "a filter": "explorer.set({regret: (explorer.state.regret + 0.1) % 1})",
    "another order": "explorer.set({sort: explorer.state.sort === 'regret' ? 'score' : 'regret'})",
    "zoom": "explorer.set({view: `15,0,${5 + Math.random() * 10}`})",
}
"""What people do, as the page's own functions."""


def main(run: tyro.conf.Positional[Path]) -> None:
    """Measure a run and write."""
    explored = ExploredRun.open(run)
    found = {"data": measure_data(explored)}
    with tempfile.TemporaryDirectory() as folder, browser() as driver:
        report = write_single_file([explored], Path(folder) / "explorer.html")
        found["file"] = {"frames": report.frames, "MB": report.bytes / 1e6, **load(driver, report.path.as_uri())}
        found["interactions"] = {name: interact(driver, script) for name, script in INTERACTIONS.items()}
        with serving(explored) as address:
            frames = len(explored.pools)
            found["server"] = {"frames": frames, **load(driver, address)}
            found["interactions, served"] = {name: interact(driver, script) for name, script in INTERACTIONS.items()}
    lines = ["# Explorer", "", *markdown(found)]
    (ROOT / "results" / "explorer.md").write_text("\n".join(lines) + "\n")
    (ROOT / "results" / "explorer.json").write_text(json.dumps(found, indent=1) + "\n")
    print("\n".join(lines))


def measure_data(run: ExploredRun) -> dict[str, float]:
    """Time and size of a frame's data."""
    run.table(0), run.scenes(0)  # kernels and caches
    frames, seconds, sizes, compressed = 0, 0.0, 0, 0
    for log in range(min(LOGS, len(run.logs))):
        start = time.process_time()
        content = run.table(log) + run.scenes(log)
        seconds += time.process_time() - start
        frames += run.logs[log].rows.stop - run.logs[log].rows.start
        sizes += len(content)
        compressed += len(gzip.compress(content, 6))
    return {
        "frames": frames,
        "ms a frame": 1e3 * seconds / frames,
        "kB a frame": sizes / frames / 1e3,
        "kB a frame, compressed": compressed / frames / 1e3,
    }


def load(driver: Any, address: str) -> dict[str, float]:
    """Seconds until the first frame is drawn, and until the frames of all logs are listed."""
    driver.get("about:blank")
    start = time.monotonic()
    driver.get(address)
    return {
        "first frame, s": wait(driver, SHOWN) - start,
        "all frames, s": wait(driver, f"{SHOWN} && {LOADED}") - start,
    }


def interact(driver: Any, script: str) -> dict[str, float]:
    """Milliseconds of work for an interaction."""
    taken = []
    for _ in range(ROUNDS + 2):
        driver.execute_script(f"document.body.dataset.milliseconds = ''; {script}")
        wait(driver, f"{SHOWN} && document.body.dataset.milliseconds !== ''")
        taken.append(float(driver.execute_script("return document.body.dataset.milliseconds")))
        time.sleep(0.05)
    return {"median ms": statistics.median(taken[2:]), "longest ms": max(taken[2:])}


def wait(driver: Any, condition: str) -> float:
    """The time at which a condition holds."""
    while not driver.execute_script(f"return {condition}"):
        time.sleep(0.005)
    return time.monotonic()


@contextmanager
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


@contextmanager
def serving(run: ExploredRun) -> Iterator[str]:
    """The address of a server of the run."""
    with ExplorerServer([run]) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.address
        server.shutdown()


def markdown(found: dict[str, Any]) -> list[str]:
    """Tables of what was measured."""
    data, file, server = found["data"], found["file"], found["server"]
    lines = [
        "`python benchmarks/explorer.py RUN`; the standard city's validation split, 64 plans a frame; one core without",
        "a GPU, on a machine that was busy with other work.",
        "",
        "| | |",
        "|---|--:|",
        f"| data of a frame, made in | {data['ms a frame']:.1f} ms |",
        f"| size of these; compressed | {data['kB a frame']:.0f} kB; {data['kB a frame, compressed']:.0f} kB |",
        f"| one file of {file['frames']:,} frames | {file['MB']:.1f} MB |",
        "| from disk: first frame; all frames listed | "
        f"{file['first frame, s']:.1f} s; {file['all frames, s']:.1f} s |",
        f"| from the server, {server['frames']:,} frames: the same | "
        f"{server['first frame, s']:.1f} s; {server['all frames, s']:.1f} s |",
        "",
        f"| work of an interaction, median (longest) [ms] | {file['frames']:,} frames | {server['frames']:,} frames |",
        "|---|--:|--:|",
    ]
    for name in INTERACTIONS:
        both = [found[kind][name].values() for kind in ("interactions", "interactions, served")]
        cells = [f"{median:.0f} ({longest:.0f})" for median, longest in both]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    tyro.cli(main)
