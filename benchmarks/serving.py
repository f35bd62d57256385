"""How long does a request to the planner server take, beside a pass of its model alone?

    python benchmarks/serving.py                        # the city preset, random weights; a minute
    python benchmarks/serving.py --planner PLANNER      # the folder of a planner instead

Writes results/serving.json and results/serving.md. A real process of `w4s serve` and this client talk through a Unix
socket and through a port. Passes of the model alone, timed as `w4s profile` times them, and requests take turns, so
that whatever else the machine does weighs on both: in each round twenty of the one, then twenty of the other, after two
to warm up, as they drive each other out of the processor's caches. What serving adds is the median over rounds of the
difference of their medians. Both work with one thread. On a busy machine the clock measures the others' work as well,
so processor time, of client and server together, stands beside it (Linux). Then the parts of a request, in processor
time, within this process.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
import tyro

from world4scorer import __version__
from world4scorer.driving.closed_loop.planner_agent import AgentOptions, PlannerAgent
from world4scorer.driving.serving.client import PlannerClient
from world4scorer.driving.serving.protocol import Message, MessageKind, encode
from world4scorer.driving.serving.requests import read_decide
from world4scorer.driving.serving.session import CAMERAS, bench2drive_rig
from world4scorer.engine.routes.commands import RoadOption
from world4scorer.engine.routes.route import Route
from world4scorer.planner.model.config import PRESETS
from world4scorer.planner.model.plan_sampling import Cameras
from world4scorer.planner.planner import Planner
from world4scorer.planner.profiling.profile import latency

ROOT = Path(__file__).resolve().parents[1]
SIZES = {"city, RGB": (112, 196, 3), "Bench2Drive, BGRA": (900, 1600, 4)}
"""Height, width, channels of the four images."""
SELECTIONS: dict[str, dict[str, float]] = {"utility": {}, "all re-ranking": {"inertial": 1.0, "route": 4.0}}
IN_A_ROW, WARM_UP = 20, 2
"""Passes and requests of a round; `latency` warms up twice as well."""
LINE = np.column_stack([np.arange(1000.0), np.zeros(1000)])
"""A route of a kilometre."""


@dataclass(frozen=True)
class Options:
    """What to measure."""

    planner: Path | None = None
    """Folder of a planner; the city preset with random weights unless given."""
    rounds: int = 7
    """In which passes and requests take turns."""
    out: Path = ROOT / "results"
    """Folder of serving.json and serving.md."""


@contextmanager
def server(planner: Path, *where: str) -> Iterator[tuple[str, int]]:
    """A server process: its address and its number."""
    words = ["serve", "--checkpoint", str(planner), "--threads", "1", "--quiet", *where]
    process = subprocess.Popen([sys.executable, "-m", "world4scorer", *words], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        ready = process.stdout.readline()
        if ": serving " not in ready:
            raise RuntimeError("the server did not start")
        yield ready.partition(": serving ")[0], process.pid
    finally:
        process.terminate()
        process.wait()


def pictures(size: tuple[int, int, int]) -> list[np.ndarray]:
    """Four images of noise."""
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, size, dtype=np.uint8) for _ in CAMERAS]


def moment(number: int) -> dict[str, Any]:
    """A car that drives along the line at 4 m/s."""
    motion = {"pose": [2.0 * number, 0.0, 0.0], "velocity": [4.0, 0.0], "acceleration": [0.0, 0.0]}
    return {"time": number / 2, "command": RoadOption.LANE_FOLLOW.value, **motion}


def processor_seconds(process: int) -> float:
    """That all threads of a process have worked; NaN where the system does not tell."""
    files = list(Path(f"/proc/{process}/task").glob("*/schedstat"))
    return sum(int(file.read_text().split()[0]) for file in files) * 1e-9 if files else float("nan")


def requests(address: str, pid: int, planner: Planner, rounds: int, images: list[np.ndarray]) -> list[dict[str, Any]]:
    """Milliseconds of a request by selection, of a pass beside it, and of what is added."""
    rows = []
    with PlannerClient(address, "benchmark") as client:
        for selection, asked in SELECTIONS.items():
            client.begin(selection, LINE, options=asked)
            passes, took, worked = [], [], []
            numbers = iter(range(10**9))
            for _ in range(rounds):
                passes.append(latency(planner, repeats=IN_A_ROW))
                before = time.process_time()
                latency(planner, repeats=IN_A_ROW)
                alone = (time.process_time() - before) / (IN_A_ROW + WARM_UP)
                for _ in range(WARM_UP):
                    client.decide(images, **moment(next(numbers)))
                before, times = time.process_time() + processor_seconds(pid), []
                for _ in range(IN_A_ROW):
                    start = time.perf_counter()
                    client.decide(images, **moment(next(numbers)))
                    times.append(time.perf_counter() - start)
                took.append(statistics.median(times))
                worked.append((time.process_time() + processor_seconds(pid) - before) / IN_A_ROW - alone)
            rows.append(
                {
                    "selection": selection,
                    "pass_ms": 1e3 * statistics.median(passes),
                    "request_ms": 1e3 * statistics.median(took),
                    "added_ms": 1e3 * statistics.median(r - p for r, p in zip(took, passes, strict=True)),
                    "processor_added_ms": 1e3 * statistics.median(worked),
                }
            )
    return rows


def parts(planner: Planner, images: list[np.ndarray], rounds: int) -> dict[str, float]:
    """Milliseconds of the parts of a request, in this process."""
    channels = "BGRA" if images[0].shape[-1] == 4 else "RGB"
    arrays = dict(zip(CAMERAS, images, strict=True))
    frame = Message(MessageKind.DECIDE, {**moment(0), "channels": channels}, arrays)
    names = tuple(arrays)
    observation = read_decide(frame, names, False).observation
    agent = PlannerAgent(planner, AgentOptions(inertial=1.0, route=4.0), bench2drive_rig(*images[0].shape[:2]))
    agent.begin("parts", Route(LINE))
    views = agent.views(observation)
    status = torch.zeros(1, planner.config.ego_numbers)
    eyes = torch.eye(3).expand(1, len(names), 3, 3)
    zeros = (torch.zeros_like(views), status, Cameras(eyes, eyes, torch.zeros(1, len(names), 3)))
    moments = iter(range(10**9))

    def decide() -> None:
        request = Message(MessageKind.DECIDE, {**moment(next(moments)), "channels": channels}, small)
        agent.decide(read_decide(request, names, False).observation, views)

    small = dict.fromkeys(names, np.zeros((16, 16, images[0].shape[-1]), np.uint8))
    steps: dict[str, Callable[[], Any]] = {
        "describe the frame": lambda: encode(frame),
        "check it, order the channels": lambda: read_decide(frame, names, False),
        "resize and normalise the images": lambda: agent.views(observation),
        "pass of the model": lambda: planner(*zeros),
        "pass, utility, both re-rankings": decide,
    }
    found = {}
    for name, step in steps.items():
        times = []
        for _ in range(rounds):
            start = time.process_time()
            step()
            times.append(time.process_time() - start)
        found[name] = 1e3 * statistics.median(times[2:])
    return found


def markdown(result: dict[str, Any]) -> str:
    """The results for people."""
    machine = result["machine"]
    lines = [
        "# Planner server: speed",
        "",
        f"Made by `{result['command']}` on {result['date']} with world4scorer {result['version']}, Python "
        f"{machine['python']}, torch {machine['torch']}, {machine['cores']} cores, load {machine['load']}.",
        "",
        f"{result['planner']}, {result['plans']} plans, one thread. Four images a request. Pass: the model alone, as "
        "`w4s profile` times it, in turn with the requests. Added: median over rounds of request - pass, medians of 20 "
        "each.",
        "",
        "| images | through | selection | pass [ms] | request [ms] | added [ms] | added, of processor time [ms] |",
        "|---|---|---|--:|--:|--:|--:|",
    ]
    for row in result["requests"]:
        names = ("pass_ms", "request_ms", "added_ms", "processor_added_ms")
        numbers = " | ".join(f"{row[name]:.2f}" for name in names)
        lines.append(f"| {row['images']} | {row['through']} | {row['selection']} | {numbers} |")
    names = list(next(iter(result["parts"].values())))
    lines += [
        "",
        "Parts of a request within one process, processor time [ms]; the rest is the way through the socket:",
        "",
    ]
    lines += ["| images | " + " | ".join(names) + " |", "|---|" + "--:|" * len(names)]
    for images, found in result["parts"].items():
        lines.append(f"| {images} | " + " | ".join(f"{found[name]:.2f}" for name in names) + " |")
    return "\n".join([*lines, ""])


def main(options: Options) -> None:
    """Measure, print, write."""
    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = []
    with TemporaryDirectory() as folder:
        torch.manual_seed(0)
        planner = (
            Planner(PRESETS["city-vit"]()) if options.planner is None else Planner.from_pretrained(options.planner)
        )
        planner.save_pretrained(Path(folder) / "planner")
        for where in (("--socket", f"{folder}/planner.sock"), ("--port", "0")):
            with server(Path(folder) / "planner", *where) as (address, pid):
                for name, size in SIZES.items():
                    rounds = options.rounds if size[0] < 500 else max(5, options.rounds // 5)
                    about = {"images": name, "through": "Unix socket" if address.startswith("unix:") else "port"}
                    rows += [about | row for row in requests(address, pid, planner, rounds, pictures(size))]
    words = [] if options.planner is None else ["--planner", options.planner.name]
    words += [] if options.rounds == Options.rounds else ["--rounds", str(options.rounds)]
    result = {
        "command": " ".join(["python benchmarks/serving.py", *words]),
        "date": datetime.date.today().isoformat(),
        "version": __version__,
        "machine": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "cores": os.cpu_count(),
            "arch": platform.machine(),
            "load": round(os.getloadavg()[0], 1),
        },
        "planner": "city preset, random weights" if options.planner is None else options.planner.name,
        "plans": planner.config.proposals,
        "requests": rows,
        "parts": {name: parts(planner, pictures(size), min(30, options.rounds)) for name, size in SIZES.items()},
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "serving.json").write_text(json.dumps(result, indent=1) + "\n")
    (options.out / "serving.md").write_text(markdown(result))
    print(markdown(result))


if __name__ == "__main__":
    main(tyro.cli(Options))
