"""How many steps of `CityEnv` fit into a second, with and without cameras?

    python benchmarks/gym.py --city CITY        # a city that is there, such as the tiny preset; a minute

Prints a table and writes results/gym.json and results/gym.md. A step is half a second of driving: a plan is tracked at
10 Hz in SUMO's traffic. Beside it stands what MetaDrive's README states of itself; it was not run here, and its frame
is another piece of work than our step.
"""

from __future__ import annotations

import json
import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from world4scorer import __version__
from world4scorer.driving.closed_loop.city_routes import find_routes
from world4scorer.driving.environment.city_env import CityEnv

ROOT = Path(__file__).resolve().parents[1]
STATED = (
    "[MetaDrive](https://github.com/metadriverse/metadrive), as its README states",
    "up to +1000 FPS on a standard PC",
)
CONTROL_STEPS = 5
"""In a step: half a second, tracked at 10 Hz."""


@dataclass(frozen=True)
class Options:
    """Options of the command line."""

    city: Path
    """Folder of a city."""
    split: str = "city_train"
    steps: int = 40
    """Timed steps of each kind."""
    out: Path = ROOT / "results" / "gym"
    """Results without suffix."""


def main(options: Options) -> None:
    """Time and write."""
    routes = find_routes(options.city, options.split, 1)
    found = {}
    for images in (True, False):
        env = CityEnv(options.city, routes=routes, images=images)
        name = "without images"
        if images:
            cameras, height, width, _ = env.observation_space["images"].shape
            name = f"{cameras} cameras of {height} x {width} pixels"
        found[name] = steps_per_second(env, options.steps)
        env.close()
    content = {"world4scorer": __version__, "steps": options.steps, "steps_per_second": found}
    options.out.with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n")
    lines = [
        "# The city as a Gymnasium environment",
        "",
        f"Made by `python benchmarks/gym.py --city CITY` with world4scorer {__version__}, Python "
        f"{platform.python_version()}, {os.cpu_count()} cores (load {os.getloadavg()[1]:.1f}, this included: other "
        f"work slows it down where that is above 2), {options.steps} steps each, straight on at the ego's speed.",
        "",
        "| | steps per second | control steps of 0.1 s per second |",
        "|---|--:|--:|",
        *(f"| {name} | {rate:.1f} | {CONTROL_STEPS * rate:.0f} |" for name, rate in found.items()),
        f"| {STATED[0]} | | {STATED[1]} |",
        "",
    ]
    options.out.with_suffix(".md").write_text("\n".join(lines))
    print("\n".join(lines))


def steps_per_second(env: CityEnv, steps: int) -> float:
    """Steps per second, resets not counted."""
    observation, _ = env.reset(seed=0)
    env.step(straight_on(observation["ego"][0]))  # kernels are compiled, textures loaded
    spent, done = 0.0, 0
    while done < steps:
        plan = straight_on(observation["ego"][0])
        begun = time.perf_counter()
        observation, _, terminated, truncated, _ = env.step(plan)
        spent, done = spent + time.perf_counter() - begun, done + 1
        if terminated or truncated:
            observation, _ = env.reset()
    return done / spent


def straight_on(speed: float) -> np.ndarray:
    """A plan that keeps heading and speed."""
    return np.column_stack([0.5 * np.arange(1, 9) * speed, np.zeros(8), np.zeros(8)])


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
