"""What comparing checksums costs: the share of the time that files take to be loaded, by kind of file.

    python benchmarks/checksums.py

Writes results/checksums.json and results/checksums.md. Files are in the page cache, which is the worst case: a disk
takes longer to give them, a checksum does not. Times are of the processor, so that other programs do not count. Each
file is loaded as its user loads it for the first time in a process: opened, then every scene once. Made-up content in
the sizes of real files.
"""

from __future__ import annotations

import hashlib
import json
import platform
import tempfile
import time
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import tyro
import xxhash
from store import Options, make_log

from world4scorer import Planner
from world4scorer.datasets.store import SceneStore, write_shard
from world4scorer.evaluation.pools.pool_files import FORMAT as POOLS_FORMAT
from world4scorer.evaluation.pools.pool_files import LogPool, PoolFolder
from world4scorer.jobs import checksums
from world4scorer.jobs.array_files import write_array
from world4scorer.jobs.files import read_json, write_json
from world4scorer.jobs.tensor_files import read_checkpoint, write_checkpoint
from world4scorer.planner.bank import CandidateBank
from world4scorer.planner.bank.candidate_bank import BANK_FILES, TOKENS
from world4scorer.planner.features.feature_cache import BLOCK, FeatureCache
from world4scorer.planner.targets.future_targets import FutureTargets, TargetNotes, write_file

ROOT = Path(__file__).resolve().parents[1]
REPEATS = 21
HASHED_BYTES = 8 << 20
LARGE_BYTES = 112 << 20
BATCH = 16
"""Scenes of a training batch."""
FEATURE_SHAPES = ((4, 64, 12, 28), (32, 40, 20))
"""Patches and map features of a scene: about those of the city's encoder."""

Load = Callable[[], Any]


def store(folder: Path, tracks: int, polygons: int) -> Load:
    """A store of six logs; all scenes."""
    rng = np.random.default_rng(0)
    for name in (f"log{i}" for i in range(6)):
        write_shard(folder, name, make_log(name, Options(tracks=tracks, polygons=polygons), rng))
    SceneStore(folder)
    return lambda: [None for _ in SceneStore(folder).scenes()]


def bank(folder: Path) -> Load:
    """A bank of 4,000 scenes; a draw for each."""
    rng, count = np.random.default_rng(0), 4000
    tokens = [f"{i:016x}" for i in range(count)]
    arrays = {
        TOKENS: np.array([token.encode() for token in tokens]),
        BANK_FILES["candidates"]: rng.normal(size=(count, 64, 8, 3)).astype(np.float32),
        BANK_FILES["subscores"]: rng.integers(0, 2, (count, 64, 7)).astype(np.float32),
        BANK_FILES["mask"]: np.ones((count, 64), np.bool_),
    }
    for name, array in arrays.items():
        with write_array(folder / name, array.dtype, array.shape) as append:
            append(array)

    def load() -> None:
        pack = CandidateBank.open(folder)
        for start in range(0, count, BATCH):
            pack.draw_batch(tokens[start : start + BATCH], seeds=range(start, start + BATCH))

    return load


def targets(folder: Path) -> Load:
    """Targets of 20,000 scenes with 768 features; all of them, by batches."""
    rng, count = np.random.default_rng(0), 20_000
    tokens = [f"{i:016x}" for i in range(count)]
    features = rng.normal(size=(count, 768)).astype(np.float16)
    write_file(folder / "targets.arrow", tokens, features, np.ones(count, np.bool_), TargetNotes())

    def load() -> None:
        found = FutureTargets.open(folder / "targets.arrow")
        for start in range(0, count, BATCH):
            found.features(tokens[start : start + BATCH])

    return load


def features(folder: Path) -> Load:
    """A block of features; all scenes, as tensors of float32."""
    rng, tokens = np.random.default_rng(0), [f"{i:016x}" for i in range(BLOCK)]
    width = sum(int(np.prod(shape)) for shape in FEATURE_SHAPES)
    with write_array(folder / "00000.npy", "<f2", (BLOCK, width)) as append:
        for _ in range(BLOCK):
            append(rng.normal(size=(1, width)))

    def load() -> None:
        cache = FeatureCache(folder, tokens, FEATURE_SHAPES)
        for token in tokens:
            for part in cache.read(token):
                torch.from_numpy(np.array(part)).float()

    return load


def planner(folder: Path) -> Load:
    """The bundled planner."""
    Planner.from_pretrained("city").save_pretrained(folder)
    return lambda: Planner.from_pretrained(folder)


def checkpoint(folder: Path) -> Load:
    """A checkpoint of 60 MB in 200 tensors."""
    write_checkpoint({str(i): torch.randn(75_000) for i in range(200)}, folder / "last.ckpt")
    return lambda: read_checkpoint(folder / "last.ckpt")


def pools(folder: Path) -> Load:
    """Pools of ten logs of 40 frames with 64 plans and their states."""
    rng = np.random.default_rng(0)
    made = PoolFolder.begin(folder, {"format": POOLS_FORMAT, "planner": "drawn"})
    for name in (f"log{i}" for i in range(10)):
        utility = rng.normal(size=(40, 64)).astype(np.float32)
        plans, states = (rng.normal(size=(40, 64, *shape)).astype(np.float32) for shape in ((8, 3), (256,)))
        tokens = tuple(f"{name}_{i}" for i in range(40))
        made.write(LogPool(name, tokens, np.arange(40) * 500_000, plans, utility, utility, None, states))
    return lambda: [float(np.sum(log.states, dtype=np.float32)) for log in PoolFolder(folder)]


def settings(folder: Path) -> Load:
    """A JSON file that names 20,000 scenes."""
    write_json(folder / "about.json", {"tokens": [f"{i:016x}" for i in range(20_000)]})
    return lambda: read_json(folder / "about.json")


KINDS: dict[str, Callable[[Path], Load]] = {
    "scene store, empty streets": lambda folder: store(folder, 2, 20),
    "scene store, busy streets": lambda folder: store(folder, 60, 250),
    "candidate bank": bank,
    "future targets": targets,
    "cached features": features,
    "planner": planner,
    "training checkpoint": checkpoint,
    "pools": pools,
    "JSON": settings,
}


def measure(load: Load) -> tuple[float, float]:
    """Seconds of a load, and the share of it that would be saved without comparing checksums: medians of several."""
    load()
    found: tuple[list[float], list[float]] = [], []
    for _ in range(REPEATS):
        for seconds, compare in zip(found, (checksums.is_intact, lambda source: True), strict=True):
            with patch.object(checksums, "is_intact", compare):
                start = time.process_time()
                load()
                seconds.append(time.process_time() - start)
    plain, without = map(median, found)
    return plain, (plain - without) / plain


def bounds() -> dict[str, float]:
    """Gigabytes a second of what comparing a large file cannot do without, and of the least that its user does."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "content"
        path.write_bytes(np.random.default_rng(0).bytes(LARGE_BYTES))
        mapped = np.memmap(path, np.uint64, "r")
        buffer = bytearray(checksums.CHUNK)

        def copy() -> None:
            with open(path, "rb", buffering=0) as stream:
                while stream.readinto(buffer):
                    pass

        return {
            "copied from the page cache": _speed(copy, LARGE_BYTES),
            "hashed by XXH3 where it is mapped": _speed(lambda: xxhash.xxh3_64(mapped).digest(), LARGE_BYTES),
            "summed by NumPy where it is mapped": _speed(lambda: mapped.sum(), LARGE_BYTES),
        }


def _speed(function: Callable[[], Any], size: int) -> float:
    """Gigabytes a second, at best."""
    taken = []
    for _ in range(REPEATS):
        start = time.process_time()
        function()
        taken.append(time.process_time() - start)
    return size / min(taken) / 1e9


def hashes() -> dict[str, float]:
    """Gigabytes a second of what could be used instead."""
    content = np.random.default_rng(0).bytes(HASHED_BYTES)
    candidates: dict[str, Callable[[bytes], Any]] = {
        "XXH3, 64 bits": lambda data: xxhash.xxh3_64(data).digest(),
        "CRC-32 (zlib)": zlib.crc32,
        "SHA-256": lambda data: hashlib.sha256(data).digest(),
        "BLAKE2b": lambda data: hashlib.blake2b(data).digest(),
    }
    return {name: _speed(partial(function, content), HASHED_BYTES) for name, function in candidates.items()}


def markdown(content: dict[str, Any]) -> str:
    """Lay the results out as tables."""
    lines = [
        "# The cost of checksums",
        "",
        "Made by `python benchmarks/checksums.py`, with files in the page cache; times of the processor. Checksums: "
        "what would be saved without comparing them.",
        "",
    ]
    lines += ["| | MB | loading [ms] | of it checksums [ms] | share |", "|---" + "|--:" * 4 + "|"]
    lines += [
        f"| {row['kind']} | {row['bytes'] / 1e6:.1f} | {1e3 * row['seconds']:.1f} "
        f"| {1e3 * row['seconds'] * row['share']:.1f} | {row['share']:.1%} |"
        for row in content["kinds"]
    ]
    tables = {
        f"Hashes, on {HASHED_BYTES >> 20} MiB, {content['machine']}": content["hashes"],
        f"A file of {LARGE_BYTES >> 20} MiB, which no cache of the processor holds": content["bounds"],
    }
    for title, speeds in tables.items():
        lines += ["", f"{title}:", "", "| | GB/s |", "|---|--:|"]
        lines += [f"| {name} | {speed:.1f} |" for name, speed in speeds.items()]
    return "\n".join(lines) + "\n"


def main(out: Path = ROOT / "results" / "checksums") -> None:
    """Measure every kind of file and write the tables."""
    torch.set_num_threads(1)
    rows = []
    for kind, prepare in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            load = prepare(Path(folder))
            seconds, share = measure(load)
            size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
            rows.append({"kind": kind, "bytes": size, "seconds": seconds, "share": share})
    content = {"machine": platform.machine(), "kinds": rows, "hashes": hashes(), "bounds": bounds()}
    out.with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n")
    out.with_suffix(".md").write_text(markdown(content))
    print(out.with_suffix(".md").read_text())


if __name__ == "__main__":
    tyro.cli(main)
