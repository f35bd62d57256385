"""How fast are outcomes? Plans per second, how cost grows, where the time goes, beside the readable oracle.

    python benchmarks/outcomes.py [--golden ../shared/golden/outcomes/scenes] [--out results/outcomes]

Writes results/outcomes.json and results/outcomes.md. All rows come from one run, so their ratios can be trusted even
where the machine is not quiet. The first table has medians over scenes of single calls, as the official code was timed;
the others medians over scenes of the best of several repeats.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from time import perf_counter, thread_time

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import world4scorer as w4s  # noqa: E402
from tests.support.oracle import comfort as comfort_oracle  # noqa: E402
from tests.support.oracle import metrics as oracle  # noqa: E402
from tests.support.oracle import rollout as rollout_oracle  # noqa: E402
from tests.support.scene_factory import make_frame  # noqa: E402
from world4scorer.engine.outcomes import comfort, judge  # noqa: E402
from world4scorer.engine.outcomes.extended_comfort import extended_comfort  # noqa: E402
from world4scorer.engine.rollout.plans import roll_out_kernel  # noqa: E402

OFFICIAL_MS = {"label 64 plans": 266.0, "re-rank 64 plans": 178.0}
"""Median milliseconds of single calls of the official code on the same golden scenes, one core of another machine."""


def best(function, repeats=5, clock=perf_counter):
    """Seconds of the quickest of several calls."""
    times = []
    for _ in range(repeats):
        start = clock()
        function()
        times.append(clock() - start)
    return min(times)


def median_ms(frames, call, repeats=5):
    """Median over frames of the quickest call [ms]."""
    return 1e3 * float(np.median([best(lambda f=frame: call(f), repeats) for frame in frames]))


def single_ms(frames, call):
    """Median over frames of one call each [ms], kernels warm."""
    call(frames[0])
    return median_ms(frames, call, repeats=1)


def oracle_label(frame):
    """What `label` does, in NumPy, SciPy and Shapely."""
    scene = frame.scene
    world = oracle.prepare_shapes(oracle.World(scene, 1))
    states = rollout_oracle.roll_out(scene, frame.plans)
    comfort_oracle.checks(states, 1)
    for rows in states:
        oracle.no_collision(world, rows)
        oracle.drivable_area(world, rows)
        oracle.driving_direction(world, rows)
        oracle.time_to_collision(world, rows)
        oracle.progress(world, rows)


def oracle_rerank(frame, previous):
    """What re-ranking does, in NumPy and SciPy."""
    for rows in rollout_oracle.roll_out(frame.scene, frame.plans):
        comfort_oracle.extended_rms(rows, previous, 5)


def rerank(frame, previous):
    """Rollouts and extended comfort of every plan against the one chosen before."""
    extended_comfort(w4s.roll_out(frame.scene, frame.plans), previous, 0.5)


def headline(frames):
    """Ours beside the oracle, 64 plans a scene, one core, kernels warm."""
    w4s.set_threads(1)
    previous = w4s.roll_out(frames[0].scene, frames[0].plans)[0]
    rows = {
        "label 64 plans": (
            single_ms(frames, lambda f: w4s.label(f.scene, f.plans)),
            single_ms(frames, oracle_label),
        ),
        "re-rank 64 plans": (
            single_ms(frames, lambda f: rerank(f, previous)),
            single_ms(frames, lambda f: oracle_rerank(f, previous)),
        ),
        "pdms 64 plans": (single_ms(frames, lambda f: w4s.pdms(f.scene, f.plans)), None),
        "epdms 64 plans": (single_ms(frames, lambda f: w4s.epdms(f.scene, f.plans)), None),
        "epdms 1 plan": (single_ms(frames, lambda f: w4s.epdms(f.scene, f.plans[:1])), None),
        "roll out 64 plans": (single_ms(frames, lambda f: w4s.roll_out(f.scene, f.plans)), None),
    }
    return [
        {"what": name, "ms": ours, "oracle_ms": readable, "official_ms": OFFICIAL_MS.get(name)}
        for name, (ours, readable) in rows.items()
    ]


def again(frames):
    """Milliseconds of the first call on a scene, and of one on a scene that was judged before, by plans.

    Processor time: a call with 4,096 plans is long enough for others to interrupt every one. These are the plans of a
    scene with noise, on fewer scenes; `64_of_them` is the time of a plan if the first 64 of them are judged alone.
    """
    rng = np.random.default_rng(0)
    rows = []
    for count in (1, 8, 64, 4096):
        some, repeats = (frames, 50) if count <= 64 else (frames[::6], 8)
        row = {"plans": count}
        for name, function in (("label", w4s.label), ("epdms", w4s.epdms)):
            first, known, alone = [], [], []
            for frame in some:
                plans = np.resize(frame.plans, (count, 8, 3))
                plans += rng.normal(0.0, 0.05, plans.shape) if count > 64 else 0.0
                scenes = iter([replace(frame.scene) for _ in range(3)])
                first.append(best(lambda p=plans, s=scenes, f=function: f(next(s), p), 3, thread_time))
                known.append(best(lambda p=plans, s=frame.scene, f=function: f(s, p), repeats, thread_time))
                if count > 64:
                    alone.append(best(lambda p=plans[:64], s=frame.scene, f=function: f(s, p), 50, thread_time))
            row[f"{name}_first_ms"] = 1e3 * float(np.median(first))
            row[f"{name}_ms"] = 1e3 * float(np.median(known))
            row[f"{name}_us_per_plan"] = row[f"{name}_ms"] * 1e3 / count
            row[f"{name}_us_per_plan_64_of_them"] = 1e6 * float(np.median(alone)) / 64 if alone else None
        rows.append(row)
    return rows


def threads(frames, cores):
    """Plans per second of `label_batch`, 64 scenes a call, by threads; interleaved, the best of many rounds."""
    some = (frames * 64)[:64]
    scenes, plans = [frame.scene for frame in some], [frame.plans for frame in some]
    counts = sorted({1, cores})
    quickest = dict.fromkeys(counts, np.inf)
    for _ in range(40):
        for count in counts:
            w4s.set_threads(count)
            quickest[count] = min(quickest[count], best(lambda: w4s.label_batch(scenes, plans), 1))
    total = sum(len(p) for p in plans)
    return [{"threads": n, "plans_per_s": total / s, "speed_up": quickest[1] / s} for n, s in quickest.items()]


def growth():
    """Milliseconds of `label` for 64 plans by agents and polygons, made-up scenes."""
    rows = []
    for agents, pieces in ((10, 4), (10, 16), (10, 80), (50, 16), (100, 16), (200, 16), (200, 80)):
        frames = [make_frame(seed, plans=64, agents=agents, pieces=pieces) for seed in range(12)]
        polygons = len(frames[0].scene.map.ids)
        rows.append(
            {
                "agents": agents,
                "polygons": polygons,
                "label_ms": median_ms(frames, lambda f: w4s.label(f.scene, f.plans)),
                "epdms_ms": median_ms(frames, lambda f: w4s.epdms(f.scene, f.plans)),
            }
        )
    return rows


def stages(frames):
    """Where the time of `label` goes: each stage called by itself, its call overhead included."""
    import numba

    filters = comfort.comfort_filters_v1()
    calls = {
        name: numba.njit(nogil=True)(function)
        for name, function in {
            "collision": lambda *a: judge.no_collision(*a),
            "drivable area": lambda *a: judge.drivable_area(*a),
            "driving direction": lambda *a: judge.driving_direction(*a),
            "time to collision": lambda *a: judge.time_to_collision(*a),
            "progress": lambda *a: judge.raw_progress(*a),
        }.items()
    }
    times: dict[str, list[float]] = {}

    def run(name, function, *arguments):
        function(*arguments)
        times.setdefault(name, []).append(best(lambda: function(*arguments)))
        return function(*arguments)

    for frame in frames:
        scene, tracks = frame.scene, frame.scene.tracks
        polygons, line = scene.packed_map, scene.centerline
        arguments = (frame.plans, scene.reference, scene.ego_state, scene.time_us, 0)
        states, _ = run("rollout", roll_out_kernel, *arguments)
        lanes = states.shape[2]
        ego = run("ego boxes", judge.ego_boxes, states)
        grid = run("area grid", judge.build_grid, polygons, ego)
        near = run("nearby traffic", judge.nearby_traffic, tracks.boxes, tracks.valid, tracks.type, 51, False, ego)
        score, step, cause = np.empty(lanes), np.empty(lanes, np.int64), np.empty(lanes, np.int64)
        forgiven, corners = np.empty(len(near.track), bool), np.zeros(len(polygons.part), np.int64)
        common = (polygons, grid, near, ego)
        run("collision", calls["collision"], *common, forgiven, corners, score, step, cause)
        run("drivable area", calls["drivable area"], polygons, grid, ego, score, step, cause)
        run("driving direction", calls["driving direction"], polygons, grid, ego, False, np.empty(41), score, step)
        run("time to collision", calls["time to collision"], *common, 41, forgiven, corners, score, step, cause)
        run("progress", calls["progress"], line, ego, *judge.measured_line(line), score)
        within = np.empty((lanes, 6), bool)
        run("comfort", comfort.comfort, states, np.empty((0, 11)), False, filters, score, step, cause, within)
    return [{"stage": name, "us": 1e6 * float(np.median(values))} for name, values in times.items()]


COLD = """
from time import perf_counter
start = perf_counter()
import world4scorer as w4s
imported = perf_counter()
frame = w4s.read_exchange({path!r})[0]
w4s.label(frame.scene, frame.plans)
labelled = perf_counter()
w4s.epdms(frame.scene, frame.plans)
w4s.extended_comfort(w4s.roll_out(frame.scene, frame.plans), w4s.roll_out(frame.scene, frame.plans)[0], 0.5)
print(imported - start, labelled - imported, perf_counter() - labelled)
"""


def cold(path):
    """Seconds in a new process and HOME: import, first label, first of the others; by what is compiled already."""
    sys.path.insert(0, str(ROOT / ".ci"))
    from compile_kernels import compile_ahead

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for place in ("plain", "ahead"):
            shutil.copytree(ROOT / "src", Path(folder) / place, ignore=shutil.ignore_patterns("__pycache__"))
        compile_ahead(Path(folder) / "ahead")
        for place, kernels in (
            ("plain", "empty"),
            ("plain", "full"),
            ("ahead", "compiled ahead"),
        ):
            home = tempfile.mkdtemp(dir=folder)
            variables = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
            done = subprocess.run(
                [sys.executable, "-c", COLD.format(path=str(path))],
                env=variables | {"HOME": home, "PYTHONPATH": str(Path(folder) / place)},
                capture_output=True,
                text=True,
                check=True,
            )
            imported, first, rest = map(float, done.stdout.split())
            rows.append({"kernel_cache": kernels, "import_s": imported, "first_label_s": first, "all_else_s": rest})
    return rows


def memory(frames, scenes=10_000):
    """Resident memory [MB] before and after labelling many scenes."""

    def resident():
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 1e6

    for frame in frames:
        w4s.label(frame.scene, frame.plans)
    before = resident()
    for k in range(scenes):
        frame = frames[k % len(frames)]
        w4s.label(frame.scene, frame.plans)
    return {"scenes": scenes, "before_mb": before, "after_mb": resident()}


TITLES = {
    "ms": "ms",
    "oracle_ms": "oracle [ms]",
    "official_ms": "official code [ms]",
    "times": "times as fast as the official code",
    "plans_per_s": "plans a second",
    "speed_up": "times as fast as one",
    "label_first_ms": "label, first call [ms]",
    "label_us_per_plan": "a plan [us]",
    "label_us_per_plan_64_of_them": "64 of them alone, a plan [us]",
    "epdms_first_ms": "epdms, first call [ms]",
    "epdms_us_per_plan": "a plan [us]",
    "epdms_us_per_plan_64_of_them": "64 of them alone, a plan [us]",
    "label_ms": "label [ms]",
    "epdms_ms": "epdms [ms]",
    "kernel_cache": "kernel cache",
    "import_s": "import [s]",
    "first_label_s": "first label [s]",
    "all_else_s": "all else [s]",
    "before_mb": "MB before",
    "after_mb": "MB after",
}
"""Of columns that are not called as they are in the JSON file."""


def markdown(result):
    """Lay the results out as tables."""

    def cell(value):
        if value is None:
            return ""
        if isinstance(value, float):
            return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
        return f"{value:,}" if isinstance(value, int) else value

    def table(rows):
        names = list(rows[0])
        lines = ["| " + " | ".join(TITLES.get(name, name) for name in names) + " |"]
        lines.append("|" + "".join("---|" if isinstance(rows[0][name], str) else "--:|" for name in names))
        return "\n".join([*lines, *("| " + " | ".join(map(cell, row.values())) + " |" for row in rows)])

    machine = result["machine"]
    compared = [
        {**row, "times": row["official_ms"] / row["ms"] if row["official_ms"] else None} for row in result["headline"]
    ]
    return "\n\n".join(
        [
            "# Outcomes: speed",
            f"Made by `{result['command']}` with world4scorer {result['version']}, Python {machine['python']}, "
            f"{machine['cores']} cores, {result['scenes']}.",
            "64 plans a scene, one core, medians over scenes of single calls. The oracle is the NumPy, SciPy and "
            "Shapely version of the same rules in `tests/support/oracle`, timed in the same run. The official times "
            "were measured in the same way on the same scenes, once, on another machine.",
            table(compared),
            "A scene that was judged before (`Judge(scene)`, or the functions on one of the last sixteen scenes), "
            "beside the first call on a scene; processor time, the best of several repeats:",
            table(result["again"]),
            "Threads (`label_batch`):",
            table(result["threads"]),
            "Growth (made-up scenes):",
            table(result["growth"]),
            "Stages of `label`, each called by itself:",
            table(result["stages"]),
            "A new process in an empty HOME, by what its kernel cache holds:",
            table(result["cold"]),
            "Memory after so many labelled scenes:",
            table([result["memory"]]),
            "",
        ]
    )


def main():
    """Run everything and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--golden", type=Path, default=ROOT.parent / "shared" / "golden" / "outcomes" / "scenes")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "outcomes")
    options = parser.parse_args()
    folder = options.golden if options.golden.is_dir() else ROOT / "tests" / "golden" / "outcomes"
    paths = sorted(folder.glob("*.npz"))
    frames = [w4s.read_exchange(path)[0] for path in paths]
    for frame in frames[:2]:
        w4s.label(frame.scene, frame.plans)
        w4s.epdms(frame.scene, frame.plans)
    result = {
        "command": "python benchmarks/outcomes.py",
        "version": w4s.__version__,
        "machine": {"python": platform.python_version(), "cores": os.cpu_count(), "arch": platform.machine()},
        "scenes": f"{len(frames)} golden scenes",
        "headline": headline(frames),
        "again": again(frames),
        "threads": threads(frames, os.cpu_count() or 1),
        "growth": growth(),
        "stages": stages(frames),
        "cold": cold(paths[0]),
        "memory": memory(frames),
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
    text = markdown(result)
    options.out.with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
