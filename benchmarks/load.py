"""Much at once: does memory stay flat and time grow with the work alone?

    python benchmarks/load.py                  # all of it; hours
    python benchmarks/load.py --scale 0.01     # a hundredth of it
    python benchmarks/load.py --scale 0.1 --parts clients    # one part; rows of the others are kept

A million candidates; a store of 103,288 scenes, as many as navtrain has; an evaluation of 12,146 frames, as many as
navtest has, with 64 plans each, by all versions; 50 clients of a planner server for ten minutes. Scenes and plans are
the golden ones, each copy elsewhere in the world, so that no two share a polygon. Writes results/load.json and
results/load.md: for each, time and memory after every tenth of the work, files and bytes on the disk.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import tyro
from serving import LINE, moment, pictures, server

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.scene_factory import moved  # noqa: E402
from tests.support.scenes import make_log, make_plans  # noqa: E402
from world4scorer import Frame, epdms, label, read_exchange  # noqa: E402
from world4scorer.datasets.store import SceneStore, write_shard  # noqa: E402
from world4scorer.driving.serving.client import PlannerClient, ServerError  # noqa: E402
from world4scorer.evaluation.pools import LogPool, PoolFolder, ScoredPools  # noqa: E402
from world4scorer.evaluation.pools.outcome_files import judge_pools  # noqa: E402
from world4scorer.evaluation.pools.pool_files import digest_of_tokens  # noqa: E402
from world4scorer.evaluation.scores.pool_evaluation import evaluate_pools  # noqa: E402
from world4scorer.planner.model.config import PRESETS  # noqa: E402
from world4scorer.planner.planner import Planner  # noqa: E402

CANDIDATES, SCENES, FRAMES, CLIENTS, MINUTES = 1_000_000, 103_288, 12_146, 50, 10.0
TENTHS: Final = 10
AT_ONCE: Final = 1000
"""Candidates judged in one call."""
LOG: Final = 84
"""Scenes of a log."""
GOLDEN: Final = sorted((ROOT / "tests" / "golden" / "outcomes").glob("*_log*.npz"))
APART: Final = 1000.0
"""Distance between two copies of a golden log [m]."""
PAUSE_US: Final = 500_000
"""Time between the last frame of a copy and the first of the next [us]."""
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
    folder: Path | None = None
    """What has been written; None for nothing."""
    step: str = ""
    """What was done, where a part has several steps."""


def memory(process: int) -> tuple[int, int]:
    """Memory of its own that a process has, and the most that it has had, with mapped files [MB]; of Linux."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    own, peak = (int(lines[name].split()[0]) // 1024 for name in ("RssAnon", "VmHWM"))
    return own, peak


def processor_seconds(process: int) -> float:
    """Time that a process has spent on processors, which other programs do not lengthen [s]; of Linux."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def on_disk(folder: Path | None) -> dict[str, int]:
    """Files and bytes below a folder."""
    sizes = [] if folder is None else [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return {"files": len(sizes), "bytes": sum(sizes)}


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


def golden_log(golden: Sequence[Frame], number: int, frames: int) -> list[Frame]:
    """A log of copies of golden frames, one copy of their log after the other in time, each elsewhere."""
    span = golden[-1].scene.time_us - golden[0].scene.time_us + PAUSE_US
    made = []
    for place in range(frames):
        copy, frame = place // len(golden), golden[place % len(golden)]
        shift = np.array([APART * copy, APART * number])
        past = frame.scene.past_time_us
        scene = replace(
            moved(frame.scene, shift, 0.0),
            token=f"{number:08x}{place:08x}",
            log_name=f"log{number:05d}",
            time_us=frame.scene.time_us + copy * span,
            past_time_us=None if past is None else past + copy * span,
        )
        made.append(replace(frame, scene=scene))
    return made


def golden_logs(frames: int) -> Iterator[list[Frame]]:
    """Logs with so many frames in all, of the golden logs in turn."""
    golden = [read_exchange(path) for path in GOLDEN]
    for number, start in enumerate(range(0, frames, LOG)):
        yield golden_log(golden[number % len(golden)], number, min(LOG, frames - start))


def scenes(folder: Path, scale: float) -> Iterator[Progress]:
    """Scenes written to one store; then it is opened, and scenes in random order are read."""
    wanted = max(TENTHS * LOG, int(SCENES * scale))
    done = 0
    for log in golden_logs(wanted):
        write_shard(folder, log[0].scene.log_name, [frame.scene for frame in log])
        done += len(log)
        if done * TENTHS // wanted != (done - len(log)) * TENTHS // wanted:
            yield Progress(done, folder=folder, step="write")
    store = SceneStore(folder)
    yield Progress(len(store), folder=folder, step="index")
    store = SceneStore(folder)
    yield Progress(len(store), folder=folder, step="open")
    tokens = np.random.default_rng(0).permutation(store.tokens)[: max(TENTHS, wanted // TENTHS)]
    for token in tokens.tolist():
        store[token]
    yield Progress(len(tokens), folder=folder, step="read at random")


def frames(folder: Path, scale: float) -> Iterator[Progress]:
    """Frames of pools that are judged, then evaluated by all versions, framewise and re-ranked."""
    wanted = max(TENTHS * LOG, int(FRAMES * scale))
    tokens = [frame for number, start in enumerate(range(0, wanted, LOG)) for frame in _tokens(number, wanted - start)]
    about = {"planner": "golden", "split": "golden", "store": str(folder / "store"), "weights": "golden"}
    pools = PoolFolder.begin(folder / "pools", {**about, "frames": wanted, "tokens": digest_of_tokens(tokens)})
    for log in golden_logs(wanted):
        made = [frame.scene for frame in log]
        write_shard(folder / "store", made[0].log_name, made)
        plans = np.stack([frame.plans for frame in log]).astype(np.float32)
        utility = np.stack([frame.utilities for frame in log]).astype(np.float32)
        times = np.array([scene.time_us for scene in made])
        pools.write(LogPool(made[0].log_name, tuple(s.token for s in made), times, plans, utility, utility))
    yield Progress(wanted, folder=folder, step="write pools and store")
    done = 0
    for log, _ in judge_pools(pools, SceneStore(folder / "store")):
        done += len(log.tokens)
        if done * TENTHS // wanted != (done - len(log.tokens)) * TENTHS // wanted:
            yield Progress(done, folder=folder, step="judge")
    evaluate_pools(ScoredPools.open(folder / "pools")).save(folder / "evaluation", "benchmarks/load.py")
    yield Progress(wanted, folder=folder, step="evaluate")


def _tokens(number: int, left: int) -> list[str]:
    return [f"{number:08x}{place:08x}" for place in range(min(LOG, left))]


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
                        "step": progress.step,
                        **on_disk(progress.folder),
                    }
                )
    content: dict[str, Any] = {"machine": platform.machine(), "rows": rows}
    file.write_text(json.dumps(content, indent=1) + "\n")
    lines = [
        "# Load",
        "",
        "Made by `python benchmarks/load.py --scale SCALE --parts PART`, where scale 1 is a million candidates, "
        "103,288 scenes, 12,146 frames of 64 plans, 50 clients for ten minutes. Processor time and memory are of the "
        "process that does the work (of the server, for clients). The peak is since the process began, all its "
        "parts together, and includes pages of mapped files, which the "
        "system takes back when it needs them; other programs ran at the same time.",
        "",
    ]
    lines += ["| | scale | done | seconds | of a processor | own memory [MB] | peak [MB] | files | GB |"]
    lines += ["|---" + "|--:" * 8 + "|"]
    lines += [
        f"| {', '.join(filter(None, (row['part'], row.get('step'))))} | {row['scale']:g} | {row['done']:,} "
        f"| {row['seconds']:,} | {row['processor_seconds']:,} | {row['own_MB']:,} | {row['peak_MB']:,} "
        f"| {format(row['files'], ',') if row.get('files') else ''} | {_gigabytes(row)} |"
        for row in rows
    ]
    options.out.with_suffix(".md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def _gigabytes(row: dict[str, Any]) -> str:
    return f"{row['bytes'] / 1e9:.2f}" if row.get("bytes") else ""


if __name__ == "__main__":
    main(tyro.cli(Options))
