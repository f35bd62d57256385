"""How fast is reactive traffic? 64 plans a scene, each in its own traffic, beside the readable oracle.

    python benchmarks/reactive.py [--golden ../shared/golden] [--out results/reactive]

Writes results/reactive.json and results/reactive.md. Scenes are those of the compact two-stage golden set, or with
--golden of the full one. Times are processor time of one core, the best of several calls where they are short, so that
a busy machine distorts them less; means over scenes.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
import shapely

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.navhard_golden import compact_navhard, lay_out  # noqa: E402
from tests.support.navsim_golden import unpack_compact  # noqa: E402
from tests.support.oracle.reactive_traffic import OracleLane, OracleVehicle, simulate  # noqa: E402
from world4scorer.datasets.navsim.filters import read_split  # noqa: E402
from world4scorer.datasets.prepare.fill_store import prepare  # noqa: E402
from world4scorer.datasets.prepare.source import NavsimSource, find_synthetic  # noqa: E402
from world4scorer.datasets.store import SceneStore  # noqa: E402
from world4scorer.engine.outcomes import epdms, set_threads  # noqa: E402
from world4scorer.engine.reactive.start import start_traffic  # noqa: E402
from world4scorer.engine.rollout.plans import roll_out  # noqa: E402
from world4scorer.engine.scene import Layer, TrackType  # noqa: E402
from world4scorer.jobs.executors import SerialExecutor  # noqa: E402

PLANS = 64
SCENES = 12
REPEATS = 4


def seconds(function, repeats=1):
    """Processor time of the quickest of several calls."""
    times = []
    for _ in range(repeats):
        start = process_time()
        function()
        times.append(process_time() - start)
    return min(times)


def limit_of(lanes, lane):
    """Speed limit of a lane, or None."""
    return None if np.isnan(lanes.limit[lane]) else float(lanes.limit[lane])


def oracle_inputs(scene):
    """Vehicles, lanes and intersections of a scene for the readable simulation."""
    shapes = {}
    for polygon, name in enumerate(scene.map.ids):
        shell, *holes = scene.map.rings(polygon)
        shapes.setdefault((name, int(scene.map.layer[polygon])), shapely.Polygon(shell, holes))
    areas = {name: shape for (name, layer), shape in shapes.items() if layer in (Layer.LANE, Layer.LANE_CONNECTOR)}
    lanes = [
        OracleLane(areas[name], bool(scene.lanes.connector[i]), scene.lanes.line(i), limit_of(scene.lanes, i))
        for i, name in enumerate(scene.lanes.ids)
        if name in areas
    ]
    tracks = scene.tracks if scene.tracks_v2 is None else scene.tracks_v2
    now = tracks.boxes[(tracks.type == TrackType.VEHICLE) & tracks.annotated_now, 0]
    crossings = [shape for (_, layer), shape in shapes.items() if layer == Layer.INTERSECTION]
    return [OracleVehicle(row[:3], row[3], row[4], row[5:]) for row in now], lanes, crossings


def measure(store, plans):
    """Mean milliseconds per plan over some scenes."""
    rng = np.random.default_rng(0)
    rows = []
    for token in list(plans)[:: max(1, len(plans) // SCENES)]:
        scene = store[token]
        pool = plans[token][None] * rng.uniform(0.3, 1.2, (PLANS, 1, 1))
        epdms(scene, pool[:1], traffic="reactive")
        inputs, states = oracle_inputs(scene), roll_out(scene, pool[:1])[0]
        rows.append(
            (
                seconds(lambda s=scene, p=pool: epdms(s, p, traffic="reactive"), REPEATS) / PLANS,
                seconds(lambda s=scene, p=pool: epdms(s, p), REPEATS) / PLANS,
                seconds(lambda i=inputs, s=states: simulate(*i, s)),
                len(start_traffic(scene).track),
            )
        )
    reactive, replay, oracle, vehicles = np.mean(rows, axis=0)
    return {
        "scenes": len(rows),
        "plans": PLANS,
        "vehicles": vehicles,
        "reactive_ms_per_plan": 1e3 * reactive,
        "replay_ms_per_plan": 1e3 * replay,
        "oracle_traffic_ms_per_plan": 1e3 * oracle,
        "ratio": oracle / reactive,
    }


def report(found):
    """The table as Markdown."""
    return "\n".join(
        [
            f"Mean of {found['scenes']} scenes with {found['vehicles']:.1f} simulated vehicles, {PLANS} plans a call, "
            f"one core of {platform.machine()}, processor time. Made by `python benchmarks/reactive.py`.",
            "",
            "| what | ms per plan |",
            "|---|---|",
            f"| `epdms` in reactive traffic | {found['reactive_ms_per_plan']:.2f} |",
            f"| `epdms` in replayed traffic | {found['replay_ms_per_plan']:.3f} |",
            f"| the traffic alone, readable Shapely version of the tests | {found['oracle_traffic_ms_per_plan']:.0f} |",
            "",
            f"Ratio of the last to the first: {found['ratio']:.0f}.",
            "",
        ]
    )


def main():
    """Measure and write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--golden", type=Path)
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "reactive")
    options = parser.parse_args()
    set_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        if options.golden is None:
            golden = compact_navhard(unpack_compact(root / "navsim").dataset, root / "data")
        else:
            full = options.golden.resolve()
            golden = lay_out(full / "navhard", full / "navsim" / "dataset", root / "data", whole=True)
        split = read_split(golden.split("noise"))
        source = NavsimSource(golden.root, split, synthetic=find_synthetic(golden.root, split))
        prepare(source, golden.store, SerialExecutor(), show_progress=False)
        found = measure(SceneStore(golden.store), golden.stored_plans["noise"])
    options.out.with_suffix(".json").write_text(json.dumps(found, indent=2) + "\n")
    options.out.with_suffix(".md").write_text(report(found))
    print(report(found))


if __name__ == "__main__":
    main()
