"""Much at once: does memory stay flat and time grow with the work alone?

    python benchmarks/load.py                  # all of it; hours
    python benchmarks/load.py --scale 0.01     # a hundredth of it
    python benchmarks/load.py --scale 0.1 --parts clients    # one part; rows of the others are kept

A million candidates, 100,000 scenes in one store, 12,146 frames in one evaluation, 50 clients of a planner server for
ten minutes. Writes results/load.json and results/load.md: for each, time and memory after every tenth of the work.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import tyro
from serving import LINE, moment, pictures, server

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.scenes import make_log, make_plans  # noqa: E402
from world4scorer import epdms, label  # noqa: E402
from world4scorer.datasets.store import SceneStore, write_shard  # noqa: E402
from world4scorer.driving.serving.client import PlannerClient, ServerError  # noqa: E402
from world4scorer.evaluation.pools import LogPool, PoolFolder  # noqa: E402
from world4scorer.evaluation.pools.outcome_files import judge_pools  # noqa: E402
from world4scorer.planner.model.config import PRESETS  # noqa: E402
from world4scorer.planner.planner import Planner  # noqa: E402

CANDIDATES, SCENES, FRAMES, CLIENTS, MINUTES = 1_000_000, 100_000, 12_146, 50, 10.0
TENTHS: Final = 10
AT_ONCE: Final = 1000
"""Candidates judged in one call."""
LOG: Final = 100
"""Scenes of a log."""
PLANS: Final = 16
DRIVE: Final = 5
"""Requests of a drive, after which a client leaves its place to another."""
WAIT: Final = 0.2
"""Seconds until a client that found no place asks again."""
IMAGE: Final = (112, 196, 3)


@dataclass(frozen=True)
class Options:
    """How much of it."""

    scale: float = 1.0
    """Share of each amount."""
    parts: tuple[str, ...] = ("candidates", "scenes", "frames", "clients")
    out: Path = ROOT / "results" / "load"


class Progress(NamedTuple):
    """How much is done, and by which process: this one, unless it says another."""

    done: int
    process: int = os.getpid()


def memory(process: int) -> tuple[int, int]:
    """Memory of its own that a process has, and the most that it has had, with mapped files [MB]; of Linux."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    own, peak = (int(lines[name].split()[0]) // 1024 for name in ("RssAnon", "VmHWM"))
    return own, peak


def processor_seconds(process: int) -> float:
    """Time that a process has spent on processors, which other programs do not lengthen [s]; of Linux."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def candidates(folder: Path, scale: float) -> Iterator[Progress]:
    """Candidates of one scene, judged by both rules."""
    (scene,) = make_log("log", 1)
    plans = make_plans(scene, AT_ONCE, 0)
    calls = max(TENTHS, int(CANDIDATES * scale / AT_ONCE))
    for tenth in range(TENTHS):
        for _ in range(calls // TENTHS):
            label(scene, plans)
            epdms(scene, plans)
        yield Progress(calls // TENTHS * AT_ONCE * (tenth + 1))


def scenes(folder: Path, scale: float) -> Iterator[Progress]:
    """Scenes written to one store, then read."""
    logs = max(TENTHS, int(SCENES * scale / LOG))
    for tenth in range(TENTHS):
        for number in range(tenth * logs // TENTHS, (tenth + 1) * logs // TENTHS):
            write_shard(folder, f"log{number}", make_log(f"log{number}", LOG, seed=number))
        store = SceneStore(folder)
        for token in store.tokens[-LOG:]:
            store[token]
        yield Progress(len(store))


def frames(folder: Path, scale: float) -> Iterator[Progress]:
    """Frames of pools whose outcomes are computed in one evaluation."""
    logs = max(TENTHS, int(FRAMES * scale / LOG))
    about = {"planner": "drawn", "split": "mini", "store": "store", "weights": "drawn", "frames": logs * LOG}
    pools = PoolFolder.begin(folder / "pools", about)
    for number in range(logs):
        made = make_log(f"log{number}", LOG, seed=number)
        write_shard(folder / "store", f"log{number}", made)
        plans = np.stack([make_plans(scene, PLANS, place) for place, scene in enumerate(made)]).astype(np.float32)
        utility = np.random.default_rng(number).normal(size=(LOG, PLANS)).astype(np.float32)
        times = np.array([scene.time_us for scene in made])
        pools.write(LogPool(f"log{number}", tuple(s.token for s in made), times, plans, utility, utility))
    done = 0
    for log, _ in judge_pools(pools, SceneStore(folder / "store")):
        done += len(log.tokens)
        if done * TENTHS // (logs * LOG) != (done - len(log.tokens)) * TENTHS // (logs * LOG):
            yield Progress(done)


def clients(folder: Path, scale: float) -> Iterator[Progress]:
    """Requests of clients that all ask at once."""
    answered = [0] * CLIENTS
    images = pictures(IMAGE)
    until = time.monotonic() + 60 * MINUTES * scale

    def ask(client: int, address: str) -> None:
        while time.monotonic() < until:
            try:
                with PlannerClient(address, f"client {client}") as connection:
                    connection.begin("load", LINE)
                    for number in range(DRIVE):
                        connection.decide(images, **moment(number))
                        answered[client] += 1
            except ServerError as error:
                if error.code != "busy":
                    raise
                time.sleep(WAIT)

    Planner(PRESETS["city-vit"]()).save_pretrained(folder / "planner")
    with server(folder / "planner", "--port", "0") as (address, process):
        threads = [threading.Thread(target=ask, args=(client, address)) for client in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for _ in range(TENTHS):
            time.sleep(6 * MINUTES * scale)
            yield Progress(sum(answered), process)
        for thread in threads:
            thread.join()
    if not all(answered):
        raise RuntimeError(f"{answered.count(0)} of {CLIENTS} clients were never answered")


PARTS: Final[dict[str, Callable[[Path, float], Iterator[Progress]]]] = {
    "candidates": candidates,
    "scenes": scenes,
    "frames": frames,
    "clients": clients,
}


def main(options: Options) -> None:
    """Measure and write the table."""
    file = options.out.with_suffix(".json")
    known = json.loads(file.read_text())["rows"] if file.is_file() else []
    rows = [row for row in known if row["part"] not in options.parts]
    for name in options.parts:
        with tempfile.TemporaryDirectory() as folder:
            start, start_processor = time.monotonic(), processor_seconds(os.getpid())
            for progress in PARTS[name](Path(folder), options.scale):
                own, peak = memory(progress.process)
                before = start_processor if progress.process == os.getpid() else 0.0
                rows.append(
                    {
                        "part": name,
                        "scale": options.scale,
                        "done": progress.done,
                        "seconds": round(time.monotonic() - start, 1),
                        "processor_seconds": round(processor_seconds(progress.process) - before, 1),
                        "own_MB": own,
                        "peak_MB": peak,
                    }
                )
    content: dict[str, Any] = {"machine": platform.machine(), "rows": rows}
    file.write_text(json.dumps(content, indent=1) + "\n")
    lines = [
        "# Load",
        "",
        "Made by `python benchmarks/load.py --scale SCALE --parts PART`, where scale 1 is a million candidates, "
        "100,000 scenes, 12,146 frames, 50 clients for ten minutes. Processor time and memory are of the process that "
        "does the work (of the server, for clients). The peak includes pages of mapped files, which the system takes "
        "back when it needs them; other programs ran at the same time.",
        "",
    ]
    lines += ["| | scale | done | seconds | of a processor | own memory [MB] | peak [MB] |", "|---" + "|--:" * 6 + "|"]
    lines += [
        f"| {row['part']} | {row['scale']:g} | {row['done']:,} | {row['seconds']:,} | {row['processor_seconds']:,} "
        f"| {row['own_MB']:,} | {row['peak_MB']:,} |"
        for row in rows
    ]
    options.out.with_suffix(".md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main(tyro.cli(Options))
