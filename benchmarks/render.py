"""How fast are camera pictures? Sets of four per second and core by size, where the time goes, first use.

    python benchmarks/render.py berlin.net.xml [--out results/render]

Takes a SUMO network (`w4s city make` writes some). Egos stand on lanes all over it, with traffic on the lanes around
them. Writes results/render.json and results/render.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import numpy as np

import world4scorer as w4s
from world4scorer.city.render import renderer as parts
from world4scorer.city.render.cameras import CameraRig
from world4scorer.city.render.kernel_types import Lighting
from world4scorer.city.render.renderer import Renderer, StaticWorld
from world4scorer.city.render.sky import paint_sky
from world4scorer.city.render.weather import PRESETS, clear_noon
from world4scorer.city.scenery.actors import ActorKind, Actors
from world4scorer.city.scenery.polyline import points_at, tidy
from world4scorer.city.streets.street_map import LaneUse, read_streets
from world4scorer.engine.scene.geometry import arc_length_hypot

ROOT = Path(__file__).resolve().parents[1]
SIZES = ((112, 196), (224, 400), (672, 1148))
PLACES = 12
ACTORS = 40
BOXES = {
    ActorKind.CAR: (4.4, 1.8, 1.5),
    ActorKind.VAN: (5.4, 2.0, 2.2),
    ActorKind.BUS: (12.0, 2.5, 3.1),
    ActorKind.BICYCLE: (1.75, 0.6, 1.7),
    ActorKind.PEDESTRIAN: (0.6, 0.6, 1.75),
}


def traffic(streets, ego, rng):
    """The nearest actors of a full street: vehicles every 12 m of lane, a person every 10 m of sidewalk."""
    rows = []
    for lane in streets.lanes.values():
        if lane.internal or lane.use not in (LaneUse.DRIVE, LaneUse.WALK):
            continue
        line = tidy(lane.shape)
        if np.hypot(*(line - ego[:2]).T).min() > 90:
            continue
        walk = lane.use is LaneUse.WALK
        where = np.arange(rng.uniform(2, 9), arc_length_hypot(line)[-1], 10 if walk else 12)
        for (x, y), heading in zip(*points_at(line, where), strict=True):
            drives = rng.choice([ActorKind.CAR] * 6 + [ActorKind.VAN, ActorKind.BUS, ActorKind.BICYCLE])
            kind = ActorKind.PEDESTRIAN if walk else ActorKind(drives)
            rows.append((x, y, heading, *BOXES[kind], kind))
    table = np.array(rows).reshape(-1, 7)
    away = np.hypot(table[:, 0] - ego[0], table[:, 1] - ego[1])
    table = table[np.argsort(np.where(away < 5, np.inf, away))[:ACTORS]]
    n = len(table)
    look = np.array([zlib.crc32(f"actor {k}".encode()) for k in range(n)], np.uint32)
    off = np.zeros(n, bool)
    return Actors(
        table[:, :3], table[:, 3:6], table[:, 6].astype(np.int8), look, rng.random(n) < 0.4, off, off, np.zeros(n)
    )


def moments(streets, count):
    """Egos on lanes all over the place, with their traffic."""
    rng = np.random.default_rng(0)
    lanes = [lane for lane in streets.lanes.values() if lane.use is LaneUse.DRIVE and not lane.internal]
    lanes = [lane for lane in lanes if arc_length_hypot(lane.shape)[-1] > 25]
    found = []
    for k in np.linspace(0, len(lanes) - 1, count).astype(int):
        line = tidy(lanes[k].shape)
        (place,), (heading,) = points_at(line, arc_length_hypot(line)[-1:] * 0.6)
        ego = np.array([*place, heading])
        found.append((ego, traffic(streets, ego, rng)))
    return found


def best_ms(function, repeats):
    """Milliseconds of CPU time of the quickest call: drawing uses one core, which others may share."""
    times = []
    for _ in range(repeats):
        start = process_time()
        function()
        times.append(process_time() - start)
    return 1e3 * min(times)


def speeds(world, frames):
    """Sets of four pictures per second on one core, by size; medians over places of the best of several calls."""
    rows = []
    for size in SIZES:
        renderer = Renderer(world, CameraRig.default(), size)
        repeats = 8 if size[0] < 300 else 2
        times = []
        for ego, actors in frames:
            renderer.draw(ego, actors, {}, clear_noon())
            times.append(best_ms(lambda e=ego, a=actors, r=renderer: r.draw(e, a, {}, clear_noon()), repeats))
        rows.append(
            {
                "height": size[0],
                "width": size[1],
                "ms": float(np.median(times)),
                "slowest_place_ms": float(np.max(times)),
                "sets_per_s": 1e3 / float(np.median(times)),
            }
        )
    return rows


def weathers(world, frames):
    """Milliseconds of a set at 112 x 196 by weather, and with labels."""
    renderer = Renderer(world, CameraRig.default())
    rows = []
    for weather in PRESETS.values():
        for labels in (False, True) if weather.name == "clear_noon" else (False,):
            times = []
            for ego, actors in frames:
                call = lambda e=ego, a=actors, w=weather, c=labels: renderer.draw(e, a, {}, w, classes=c)  # noqa: E731
                call()
                times.append(best_ms(call, 5))
            rows.append({"weather": weather.name, "labels": labels, "ms": float(np.median(times))})
    return rows


def stages(world, frames):
    """Where the time of a set goes at 112 x 196."""
    renderer = Renderer(world, CameraRig.default())
    light = Lighting.of(clear_noon(), paint_sky(clear_noon()))
    collect, ground, triangles = [], [], []
    for ego, actors in frames:
        x, y, heading = ego
        chunks = renderer._collect(x, y, heading, actors, {}, light)
        triangles.append(int(renderer._frame.chunk_span[chunks - 1, 1]))
        collect.append(best_ms(lambda: renderer._collect(x, y, heading, actors, {}, light), 8))  # noqa: B023
        ground.append(best_ms(lambda: world.ground.around(x, y), 8))  # noqa: B023
    return {
        "gather_and_instance_ms": float(np.median(collect)),
        "ground_lookup_ms": float(np.median(ground)),
        "triangles": float(np.median(triangles)),
        "actor_reach_m": parts.ACTOR_RADIUS,
        "scenery_reach_m": parts.SCENERY_RADIUS,
    }


def painting(world, frames):
    """Milliseconds to paint a ground tile, at places not yet visited."""
    world.ground.held.clear()
    before = world.ground.painted
    start = perf_counter()
    for ego, _ in frames:
        world.ground.around(ego[0], ego[1])
    return 1e3 * (perf_counter() - start) / (world.ground.painted - before)


COLD = """
from time import perf_counter
import numpy as np
from tests.support.tiny_town import CAR, bare_world, some_actors, tiny_town
from world4scorer.city.render.cameras import CameraRig
from world4scorer.city.render.renderer import Renderer
from world4scorer.city.render.weather import clear_noon
renderer = Renderer(bare_world(tiny_town()), CameraRig.default())
start = perf_counter()
renderer.draw(np.array([20.0, 0, 0]), some_actors((40, 0, 0, *CAR)), {}, clear_noon(), classes=True)
print(perf_counter() - start)
"""


def cold():
    """Seconds of the first picture in a new process, with an empty kernel cache and with a full one."""
    rows = []
    with TemporaryDirectory() as folder:
        for cache in ("empty", "full"):
            done = subprocess.run(
                [sys.executable, "-c", COLD],
                cwd=ROOT,
                env=os.environ | {"NUMBA_CACHE_DIR": folder},
                capture_output=True,
                text=True,
                check=True,
            )
            rows.append({"kernel_cache": cache, "first_picture_s": float(done.stdout)})
    return rows


TITLES = {
    "slowest_place_ms": "slowest place [ms]",
    "sets_per_s": "sets a second",
    "gather_and_instance_ms": "gather, place models [ms]",
    "ground_lookup_ms": "find the ground [ms]",
    "actor_reach_m": "actors up to [m]",
    "scenery_reach_m": "scenery up to [m]",
    "world_s": "world [s]",
    "tile_ms": "ground tile [ms]",
    "kernel_cache": "kernel cache",
    "first_picture_s": "first picture [s]",
}
"""Of columns that are not called as they are in the JSON file."""


def markdown(result):
    """Lay the results out as tables."""

    def cell(value):
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, float):
            return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
        return str(value).replace("_", " ")

    def table(rows):
        names = list(rows[0])
        lines = ["| " + " | ".join(TITLES.get(name, name) for name in names) + " |"]
        lines.append("|" + "".join("---|" if isinstance(rows[0][name], str) else "--:|" for name in names))
        return "\n".join([*lines, *("| " + " | ".join(map(cell, row.values())) + " |" for row in rows)])

    machine = result["machine"]
    return "\n\n".join(
        [
            "# Camera pictures: speed",
            f"Made by `{result['command']}` with world4scorer {result['version']}, Python {machine['python']}, "
            f"one of {machine['cores']} cores, {result['scene']}.",
            "Four cameras (F0, B0, L0, R0), 2 x 2 samples per pixel, shadows, CPU time of one core. Medians over "
            "places of the best of several calls, everything included but the painting of new ground tiles.",
            table(result["speeds"]),
            "By weather at 112 x 196; labels are classes, depth and instances:",
            table(result["weathers"]),
            "Stages:",
            table([result["stages"]]),
            "Made once: the world, a ground tile (64 x 64 m at 8 texels/m, or 256 x 256 m at 2), the first picture:",
            table([result["once"]]),
            table(result["cold"]),
            "",
        ]
    )


def main():
    """Run everything and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", type=Path)
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "render")
    options = parser.parse_args()
    streets = read_streets(options.network)
    start = perf_counter()
    world = StaticWorld.build(streets, seed=0)
    built = perf_counter() - start
    frames = moments(streets, PLACES)
    world.ground.around(*frames[0][0][:2])
    result = {
        "command": f"python benchmarks/render.py {options.network.name}",
        "version": w4s.__version__,
        "machine": {"python": platform.python_version(), "cores": os.cpu_count(), "arch": platform.machine()},
        "scene": f"{PLACES} places in {streets.name}, {ACTORS} actors around each",
        "once": {"world_s": built, "tile_ms": painting(world, frames)},
        "speeds": speeds(world, frames),
        "weathers": weathers(world, frames),
        "stages": stages(world, frames),
        "cold": cold(),
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
    text = markdown(result)
    options.out.with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
