"""Small long work of every kind: what is resumable writes files into a folder, the same ones each time."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.carla_clips import write_clip
from tests.support.scenes import make_log
from world4scorer.cli.demo.run import run_stages
from world4scorer.cli.demo.stages import OUT, Stage
from world4scorer.datasets.prepare.fill_store import prepare
from world4scorer.datasets.store import SceneStore, write_shard
from world4scorer.datasets.store.index import INDEX_NAME
from world4scorer.driving.clips.drivable import GridPainter
from world4scorer.driving.clips.prepare import prepare_clips
from world4scorer.engine.outcomes import epdms, label, pdms
from world4scorer.engine.scene.scene import Scene
from world4scorer.evaluation.pools import LogPool, PoolFolder
from world4scorer.evaluation.pools.outcome_files import judge_pools
from world4scorer.jobs.executors import SerialExecutor
from world4scorer.jobs.files import read_json, write_json
from world4scorer.jobs.resumable import Settings, resumable
from world4scorer.planner.bank import BankConfig, make_bank

LOGS = ("alpha", "beta")
FRAMES = 2
PLANS = 3
PARTS = ("parts/.*.tmp",)

Work = Callable[[Path, Path], Any]
"""Writes into the second folder, from inputs in the first."""


class Source:
    """Made-up scenes, as a source of a store."""

    def log_names(self) -> list[str]:
        return list(LOGS)

    def scenes(self, log_name: str) -> Iterable[Scene]:
        return _scenes(log_name)

    def options(self) -> Mapping[str, Any]:
        return {"split": "mini"}

    def upgrade(self, log_name: str, shard: Any) -> Iterable[Any]:
        raise AssertionError("nothing is older than it is")


@cache
def _scenes(log_name: str) -> list[Scene]:
    return make_log(log_name, FRAMES, seed=LOGS.index(log_name))


def load_kernels() -> None:
    """Load what is compiled, so that forked children need not."""
    scene = _scenes(LOGS[0])[0]
    plans = np.zeros((1, 8, 3))
    label(scene, plans), pdms(scene, plans), epdms(scene, plans)


def make_inputs(folder: Path) -> Path:
    """What the work reads."""
    for name in LOGS:
        write_shard(folder / "store", name, _scenes(name), {"options": {"split": "mini"}})
    SceneStore(folder / "store")
    write_clip(folder / "clips")
    grid = GridPainter("Town05", np.array([-30.0, -30.0]), np.array([30.0, 30.0])).finish()
    grid.cells[:] = True
    grid.save(folder / "maps" / "Town05.npz")
    return folder


def fill_store(inputs: Path, out: Path) -> None:
    """`w4s prepare`."""
    prepare(Source(), out, SerialExecutor(), show_progress=False)
    SceneStore(out)


def fill_bank(inputs: Path, out: Path) -> None:
    """`w4s bank make`."""
    make_bank(inputs / "store", out, BankConfig(seed=5, proposals=24), SerialExecutor())


def fill_clips(inputs: Path, out: Path) -> None:
    """`w4s b2d prepare`."""
    prepare_clips(inputs / "clips", inputs / "maps", out, 20, SerialExecutor())


def fill_pools(inputs: Path, out: Path) -> None:
    """`w4s pools` and the outcomes that `w4s evaluate` adds."""
    store = SceneStore(inputs / "store")
    about = {"planner": "drawn", "split": "mini", "store": "store", "weights": "drawn", "frames": 2 * FRAMES}
    pools = PoolFolder.begin(out, about)
    with resumable(out, "making these pools"):
        for name in LOGS:
            if not pools.path(name).is_file():
                pools.write(_pool(name))
    for _ in judge_pools(pools, store):
        pass


def _pool(name: str) -> LogPool:
    rng = np.random.default_rng(LOGS.index(name))
    plans = rng.normal(0, 3, (FRAMES, PLANS, 8, 3)).astype(np.float32)
    utility = rng.normal(size=(FRAMES, PLANS)).astype(np.float32)
    times = np.array([scene.time_us for scene in _scenes(name)])
    return LogPool(name, tuple(scene.token for scene in _scenes(name)), times, plans, utility, utility, None, None)


def fill_settings(inputs: Path, out: Path) -> None:
    """What every command does: settings, then one file per task."""
    with resumable(out, "counting", ValueError, Settings(out / "settings.json", {"seed": 3}), leftovers=PARTS) as job:
        tasks = [out / "parts" / f"{number}.json" for number in range(3)]
        job.run_missing(SerialExecutor(), _square, tasks, "squares", "numbers", is_done=Path.is_file)
        write_json(out / "sum.json", {"sum": sum(read_json(task)["square"] for task in tasks)})


def _square(path: Path) -> None:
    write_json(path, {"square": int(path.stem) ** 2})


def fill_demo(inputs: Path, out: Path) -> None:
    """The ledger of `w4s demo`, with stages that only write what they are to make."""
    made = [Path(OUT) / name / "made.json" for name in ("city", "run")]
    stages = [
        Stage(path.parent.name, "A stage.", ("nothing",), path, tuple(one.parent.name for one in made[:number]), 1.0)
        for number, path in enumerate(made)
    ]

    def run(stage: Stage, log: Path) -> int:
        with resumable(stage.made.parent, "running this stage"):
            write_json(stage.made, {"stage": stage.name})
        return 0

    with redirect_stdout(io.StringIO()):
        run_stages(stages, out, "tiny", run)


LEDGERS: dict[str, Work] = {"demo": fill_demo}
"""Stopped at every step by the tests."""
WORK: dict[str, Work] = {
    "prepare": fill_store,
    "bank": fill_bank,
    "clips": fill_clips,
    "pools": fill_pools,
    "settings": fill_settings,
}


NOT_COMPARED = (INDEX_NAME, "*.ckpt", "checkpoint.pt", "history.jsonl", "events.out.*", "stages.json", "store/own_*/*")
"""Files that hold times: of other files, or how long something took. Stores of drives hold those of their logs; the
banks made from them hold digests of their scenes."""
DURATIONS = (b'"duration_system":', b'"seconds":')
"""The same, in the record of a drive and in the report of a pretraining."""
VARYING = re.compile(rb'(?:%b|"checksum":) [^\n]*' % b"|".join(DURATIONS))
"""Lines of JSON that hold them, and the checksum over them."""


def content(folder: Path) -> dict[str, str]:
    """Files of a folder by path, as text; without empty lock files, what holds times, and the path of the folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if any(path.match(pattern) for pattern in NOT_COMPARED):
            continue
        if path.is_file() and path.stat().st_size:
            kept, own = path.read_bytes(), os.fsencode(folder)
            if any(text in kept for text in (own, *DURATIONS)):
                kept = VARYING.sub(b"", kept.replace(own, b""))
            found[path.relative_to(folder).as_posix()] = kept.hex()
    return found


def same(found: Mapping[str, str], expected: Mapping[str, str]) -> str:
    """What differs, as text; empty if nothing does."""
    missing, extra = sorted(expected.keys() - found.keys()), sorted(found.keys() - expected.keys())
    other = sorted(name for name in expected.keys() & found.keys() if expected[name] != found[name])
    return "" if not (missing or extra or other) else json.dumps({"missing": missing, "extra": extra, "other": other})
