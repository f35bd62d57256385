"""How fast are scenes prepared? Milliseconds a token on one core, stage by stage, and how the cost grows.

    python benchmarks/prepare.py [--data ../shared/golden/navsim/dataset] [--out results/prepare]

Without --data the compact golden dataset of the tests is used. Writes results/prepare.json and results/prepare.md. CPU
time of one process, kernels warm, best of several rounds; logs are read anew in every round.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.navsim_golden import DATA_SPLIT, LOCATION, unpack_compact  # noqa: E402
from world4scorer.datasets.navsim.annotations import Annotations  # noqa: E402
from world4scorer.datasets.navsim.city_map import CityMap  # noqa: E402
from world4scorer.datasets.navsim.filters import Split, Window, read_split, windows  # noqa: E402
from world4scorer.datasets.navsim.frames import LogFrame  # noqa: E402
from world4scorer.datasets.navsim.logs import log_paths, read_log  # noqa: E402
from world4scorer.datasets.navsim.map_reader import read_city_map  # noqa: E402
from world4scorer.datasets.pdm_closed.ego_box import box_centre  # noqa: E402
from world4scorer.datasets.pdm_closed.forecast import forecast  # noqa: E402
from world4scorer.datasets.pdm_closed.planner import plan_reference  # noqa: E402
from world4scorer.datasets.prepare.drivable import cut_map, find_areas  # noqa: E402
from world4scorer.datasets.prepare.fill_store import prepare  # noqa: E402
from world4scorer.datasets.prepare.route import load_route, locate, route_lanes  # noqa: E402
from world4scorer.datasets.prepare.scene_builder import BuiltScene, SceneBuilder  # noqa: E402
from world4scorer.datasets.prepare.source import NavsimSource  # noqa: E402
from world4scorer.datasets.prepare.starting_lane import starting_lane  # noqa: E402
from world4scorer.datasets.prepare.tracks import interpolate_tracks  # noqa: E402
from world4scorer.datasets.store import SceneStore  # noqa: E402
from world4scorer.engine.scene.packed import pack_map  # noqa: E402
from world4scorer.jobs.data_folder import DataFolder  # noqa: E402
from world4scorer.jobs.executors import SerialExecutor  # noqa: E402

OFFICIAL_MS = (330.0, 450.0)
"""CPU milliseconds a token of the official metric caching, v1.1 and v2.2 runs on a machine of this kind. Ours makes
the scenes of both versions at once."""
OFFICIAL_LOAD_MS = 41.0
"""CPU milliseconds to load one official metric cache on a machine of this kind."""
ROUNDS = 7


def quickest(function: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """CPU seconds of the quickest of several calls."""
    times = []
    for _ in range(rounds):
        start = process_time()
        function()
        times.append(process_time() - start)
    return min(times)


def all_windows(data: Path, split: Split) -> Iterator[Window]:
    """Read every log and cut it."""
    for path in log_paths(DataFolder(data).logs(DATA_SPLIT)):
        yield from windows(read_log(path), split.filter)


def whole(data: Path, split: Split, city: CityMap) -> dict[str, float]:
    """From log files to scenes."""
    preparer = SceneBuilder(city)

    def run() -> list[BuiltScene]:
        return [preparer.prepare(window) for window in all_windows(data, split)]

    count = len(run())
    return {"tokens": count, "ms_per_token": 1e3 * quickest(run) / count}


def forget(frame: LogFrame) -> LogFrame:
    """The frame without what it remembers between calls."""
    for name, value in vars(LogFrame).items():
        if isinstance(value, cached_property):
            vars(frame).pop(name, None)
    return frame


def stages(data: Path, split: Split, city: CityMap) -> list[dict[str, Any]]:
    """Where the time goes: the stages called by themselves."""
    cut = list(all_windows(data, split))
    preparer = SceneBuilder(city)
    done = [preparer.prepare(window) for window in cut]
    pairs = list(zip(cut, done, strict=True))
    lanes = [route_lanes(city, one.route) for one in done]

    def route(window: Window) -> None:
        logged = load_route(city, window[3].roadblock_ids, "")
        preparer._correct(logged, locate(city, window[3].ego_pose, logged))

    def start(window: Window, one: BuiltScene, on_route: tuple[int, ...]) -> None:
        starting_lane(city, one.drivable.areas, on_route, window[3].ego_pose)

    def around(window: Window) -> None:
        cut_map(city, find_areas(city, *box_centre(window[3].ego_pose)), ())

    def plan(one: BuiltScene) -> None:
        red = np.array([one.drivable.polygon_index[lane] for lane in one.forecast.red_lanes], np.int64)
        polygons = pack_map(one.drivable.polygons, one.scene.on_route)
        limit = city.lanes[one.starting_lane].speed_limit
        plan_reference(city, one.paths, limit, one.scene.ego_state, one.forecast, polygons, red)

    calls: dict[str, Callable[[], Any]] = {
        "read and check logs": lambda: list(all_windows(data, split)),
        "route: locate, correct": lambda: [route(window) for window in cut],
        "starting lane": lambda: [start(w, d, n) for (w, d), n in zip(pairs, lanes, strict=True)],
        "drivable map": lambda: [around(window) for window in cut],
        "tracks at 10 Hz": lambda: [interpolate_tracks([forget(frame) for frame in window[3:]]) for window in cut],
        "forecast": lambda: [forecast(city, w[3], n) for w, n in zip(cut, lanes, strict=True)],
        "reference plan": lambda: [plan(one) for one in done],
    }
    return [{"stage": name, "ms_per_token": 1e3 * quickest(call) / len(cut)} for name, call in calls.items()]


def crowded(frame: LogFrame, copies: int, random: np.random.Generator) -> LogFrame:
    """The frame with each thing standing there several times, up to 60 m away."""
    seen = frame.annotations
    if seen is None or copies == 1:
        return frame
    boxes, names = [seen.boxes], list(seen.track_tokens)
    for copy in range(1, copies):
        shifted = seen.boxes.copy()
        shifted[:, :2] += random.uniform(-60, 60, 2)
        boxes.append(shifted)
        names += [f"{name}/{copy}" for name in seen.track_tokens]
    times = (copies, 1)
    everything = Annotations(
        np.concatenate(boxes), np.tile(seen.type, copies), np.tile(seen.velocity, times), tuple(names), tuple(names)
    )
    return replace(frame, annotations=everything)


def growth(data: Path, split: Split, city: CityMap) -> list[dict[str, float]]:
    """Milliseconds a token, without reading, by the number of things around the ego."""
    cut = list(all_windows(data, split))[::3]
    rows = []
    for copies in (1, 3, 6, 12):
        made = {frame.token: crowded(frame, copies, np.random.default_rng(0)) for window in cut for frame in window}
        crowd = [tuple(made[frame.token] for frame in window) for window in cut]
        preparer = SceneBuilder(city)
        done = [preparer.prepare(window) for window in crowd]
        things = float(np.mean([len(one.scene.tracks.ids) for one in done]))

        def run(crowd: list[Window] = crowd, preparer: SceneBuilder = preparer) -> None:
            for window in crowd:
                preparer.prepare(window)

        rows.append({"things": round(things, 1), "ms_per_token": 1e3 * quickest(run, 5) / len(crowd)})
    return rows


def loading(data: Path, split: Split, folder: Path) -> dict[str, float]:
    """Milliseconds to load a prepared scene, ready for scoring, by random token; kept and first scene of a log."""
    prepare(NavsimSource(data, split), folder, SerialExecutor(), show_progress=False)
    store = SceneStore(folder)
    tokens = np.random.default_rng(0).permutation(store.tokens).tolist()

    def load() -> None:
        for token in tokens:
            _ = store[token].packed_map

    def cold() -> None:
        fresh = SceneStore(folder)
        for log in fresh.logs:
            _ = next(fresh.scenes(log)).packed_map

    load()
    return {
        "ms_per_scene": 1e3 * quickest(load) / len(tokens),
        "ms_first_of_log": 1e3 * quickest(cold) / len(store.logs),
        "bytes_per_scene": store.bytes / len(store),
    }


def report(result: dict[str, Any]) -> str:
    """The result as tables."""
    ours, load = result["whole"]["ms_per_token"], result["loading"]
    low, high = OFFICIAL_MS
    lines = [
        "# Preparing scenes",
        "",
        f"`python benchmarks/prepare.py`, {result['machine']}, one core, CPU time.",
        "",
        "| what | ms a token |",
        "|---|---|",
        f"| from log files to scenes of both versions ({result['whole']['tokens']} tokens) | {ours:.2f} |",
        f"| official metric caching, one version | {low:.0f} to {high:.0f} |",
        f"| ratio | {low / ours:.0f} to {high / ours:.0f} |",
        f"| load a stored scene, ready for scoring (random order) | {load['ms_per_scene']:.3f} |",
        f"| load the first scene of a log, store and file opened for it | {load['ms_first_of_log']:.2f} |",
        f"| load one official metric cache | {OFFICIAL_LOAD_MS:.0f} |",
        f"| ratio | {OFFICIAL_LOAD_MS / load['ms_per_scene']:.0f} |",
        "",
        "| stage | ms a token |",
        "|---|---|",
        *(f"| {row['stage']} | {row['ms_per_token']:.2f} |" for row in result["stages"]),
        "",
        "Stages are timed by themselves; building and checking the scene makes up the rest.",
        "",
        "| things around the ego | ms a token, reading left out |",
        "|---|---|",
        *(f"| {row['things']:.0f} | {row['ms_per_token']:.2f} |" for row in result["growth"]),
        "",
        f"Reading the map of the town: {result['map_ms']:.0f} ms. Peak memory: {result['peak_mb']:.0f} MB.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="dataset folder of the golden town")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "prepare")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = arguments.data or unpack_compact(Path(folder)).dataset
        split = read_split(DataFolder(data).splits / "synth_mini.yaml")
        city = read_city_map(DataFolder(data).maps, LOCATION)
        result = {
            "machine": f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}",
            "whole": whole(data, split, city),
            "stages": stages(data, split, city),
            "growth": growth(data, split, city),
            "loading": loading(data, split, Path(folder) / "store"),
            "official_ms_per_token": OFFICIAL_MS,
            "official_load_ms": OFFICIAL_LOAD_MS,
            "map_ms": 1e3 * quickest(lambda: read_city_map(DataFolder(data).maps, LOCATION), 3),
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
    arguments.out.with_suffix(".md").write_text(report(result))
    print(report(result))


if __name__ == "__main__":
    main()
