"""Time to open a store and to load scenes from it, and its size, on made-up scenes.

    python benchmarks/store.py

Writes results/store.json and results/store.md. Loading is by random token, with every shard open and in the page cache,
as in training.
"""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import tyro

from world4scorer.datasets.store import SceneStore, write_shard
from world4scorer.engine.scene import Layer, PolygonMap, Scene, Tracks

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Options:
    """What to measure."""

    shards: int = 12
    scenes: int = 84
    """Scenes of each shard."""
    tracks: int = 60
    polygons: int = 250
    """Polygons around the ego; a tenth of them changes from one scene to the next."""
    vertices: int = 40
    """Vertices of each polygon."""
    repeats: int = 3


def make_log(name: str, options: Options, rng: np.random.Generator) -> list[Scene]:
    """Return the scenes of one log: an ego that moves through a strip of polygons."""
    step = max(1, options.polygons // 10)
    angles = np.linspace(0, 2 * np.pi, options.vertices, endpoint=False)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1) * 3.0
    layers = [Layer.LANE, Layer.LANE_CONNECTOR, Layer.ROADBLOCK, Layer.INTERSECTION]
    pool = [
        (str(i), layers[i % 4], [np.add(ring, (587_000.0 + 2.0 * i / step, 4_475_000.0 + i % step))])
        for i in range(options.polygons + step * options.scenes)
    ]
    line = np.stack([587_000.0 + np.arange(300.0), np.full(300, 4_475_000.0), np.zeros(300)], axis=1)
    return [
        make_scene(f"{name}_{i}", name, i, pool[i * step : i * step + options.polygons], line, options, rng)
        for i in range(options.scenes)
    ]


def make_scene(token, log_name, number, polygons, line, options, rng) -> Scene:
    """Return one scene with separate tracks for the v2 metrics, most of them the same boxes."""
    count = options.tracks
    start = np.add(rng.normal(0, 30, (count, 1, 7)), (587_000.0 + 2 * number, 4_475_000, 0, 0, 0, 0, 0))
    boxes = start + rng.normal(0, 0.1, (count, 51, 7)).cumsum(axis=1)
    boxes[..., 3:5] = rng.uniform(1, 5, (count, 1, 2))
    first = rng.integers(0, 30, (count, 1))
    time_step = np.arange(51)
    valid = (time_step >= first) & (time_step < first + rng.integers(10, 60, (count, 1)))
    names = tuple(f"{number // 8 + i:016x}" for i in range(count))
    tracks = Tracks(names, rng.integers(0, 3, count), boxes, valid)
    second = Tracks(tracks.ids, tracks.type, boxes[:, :41], valid[:, :41])
    ego = np.zeros(11)
    ego[:2] = 587_000.0 + 2 * number, 4_475_000.0
    reference = np.stack([ego[0] + np.arange(51) * 0.5, np.full(51, ego[1]), np.zeros(51)], axis=1)
    past = np.repeat(ego[None], 4, axis=0)
    return Scene(
        token=token, log_name=log_name, time_us=1_000_000 + 500_000 * number, ego_state=ego, centerline=line,
        map=PolygonMap.from_polygons(polygons), route_lane_ids=tuple(p[0] for p in polygons[:20]), tracks=tracks,
        reference=reference, past_states=past, past_time_us=np.arange(4) * 500_000, human_future=np.zeros((8, 3)),
        tracks_v2=second, reference_v2=reference[:41],
    )  # fmt: skip


def measure(folder: Path, options: Options) -> dict[str, float]:
    """Write, open and load; milliseconds unless named otherwise."""
    rng = np.random.default_rng(0)
    writing = 0.0
    template = make_log("template", options, rng)
    for number in range(options.shards):
        name = f"log{number:05d}"
        scenes = [replace(scene, token=f"{name}_{i}", log_name=name) for i, scene in enumerate(template)]
        writing += _seconds(lambda name=name, scenes=scenes: write_shard(folder, name, scenes))
    (folder / "index").unlink(missing_ok=True)
    without_index = _seconds(lambda: SceneStore(folder))
    opening = min(_seconds(lambda: SceneStore(folder)) for _ in range(options.repeats))
    store = SceneStore(folder)
    first = [_seconds(lambda name=name: next(store.scenes(name))) for name in store.logs]
    tokens = rng.permutation(store.tokens)[:5000].tolist()
    for token in tokens:
        store[token]
    loading = min(_seconds(lambda: [store[token] for token in tokens]) for _ in range(options.repeats))
    return {
        "scenes": len(store),
        "shards": len(store.logs),
        "tracks": options.tracks,
        "polygons": options.polygons,
        "bytes_per_scene": store.bytes / len(store),
        "open": 1e3 * opening,
        "open_without_index": 1e3 * without_index,
        "load_random": 1e3 * loading / len(tokens),
        "load_first_of_shard": 1e3 * float(np.median(first)),
        "write_with_fsync": 1e3 * writing / len(store),
        "verify_mb_per_s": store.bytes / _seconds(store.verify) / 1e6,
    }


def _seconds(function) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


TITLES = {
    "scenes": "scenes",
    "shards": "files",
    "tracks": "tracks of a scene",
    "polygons": "polygons of a scene",
    "bytes_per_scene": "bytes a scene",
    "open": "open the store [ms]",
    "open_without_index": "open it, index made anew [ms]",
    "load_random": "load a scene, random order [ms]",
    "load_first_of_shard": "load the first of a file [ms]",
    "write_with_fsync": "write a scene, flushed to the disk [ms]",
    "verify_mb_per_s": "verify [MB/s]",
}


def markdown(rows: list[dict[str, float]]) -> str:
    """Lay the results out as a table."""
    lines = ["# The scene store", "", "Made by `python benchmarks/store.py`, with files in the page cache.", ""]
    lines += ["| | small scenes | busy streets |", "|---|--:|--:|"]
    for name, title in TITLES.items():
        cells = (f"{row[name]:,.0f}" if row[name] >= 100 else f"{row[name]:.3g}" for row in rows)
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(out: Path = ROOT / "results" / "store") -> None:
    """Measure a large store of small scenes and a smaller one of busy streets, and write the tables."""
    rows = []
    for options in (Options(shards=1200, tracks=2, polygons=20), Options(shards=24, tracks=60, polygons=250)):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure(Path(folder), options))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")
    out.with_suffix(".md").write_text(markdown(rows))
    print(out.with_suffix(".md").read_text())


if __name__ == "__main__":
    tyro.cli(main)
