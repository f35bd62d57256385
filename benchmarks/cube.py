"""How fast are replays of candidate actions in OGBench's cube, beside the environment's own steps?

    python benchmarks/cube.py                 # a minute or two
    python benchmarks/cube.py --study study   # also on what a study's collection meets

Writes results/cube_labels.json and results/cube_labels.md. States come from the expert's episodes; candidates are what
the expert did next, with noise, so that the cube is reached and carried. Each candidate is run by `env.step`, by the
two calls of it that move the world, and by `Replay`, one after the other, so that whatever else the machine does weighs
on all; processor time of one thread. All cube positions are compared, to the bit.

With a study, windows are drawn, searched and labelled as its collection does; every candidate that it would label is
also run by `env.step`.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import ogbench.manipspace  # noqa: F401 (registers the environments)
import tyro
from gymnasium import make
from ogbench.manipspace.oracles.markov.cube_markov import CubeMarkovOracle

from world4scorer import __version__
from world4scorer.cube.simulator.clearance import CUBE, CUBE_JOINT, PADS, SIDES
from world4scorer.cube.simulator.replay import Replay

ROOT = Path(__file__).resolve().parents[1]
STEPS, NOISE = 25, 0.5
EPISODE, EVERY = 150, 10
"""Steps of an episode, and from one state that is taken to the next."""
WAYS = ("env.step", "set_control and mj_step", "Replay")
KINDS = ("untouched", "pushed", "held")


def episodes(env: Any, count: int, seed: int) -> Iterator[tuple[mujoco.MjData, np.ndarray]]:
    """States, and what the expert did in the steps after."""
    for number in range(count):
        np.random.seed(seed + number)  # noqa: NPY002 (the expert draws from this generator)
        observation, info = env.reset(seed=seed + number)
        model = env.unwrapped.model
        expert = CubeMarkovOracle(env=env, min_norm=0.4)
        expert.reset(observation, info)
        states, actions = [], []
        for step in range(EPISODE + STEPS):
            if step % EVERY == 0 and step < EPISODE:
                state = mujoco.MjData(model)
                mujoco.mj_copyData(state, model, env.unwrapped.data)
                states.append((step, state))
            if expert.done:
                env.unwrapped.set_new_target(p_stack=0.0)
                expert.reset(observation, info)
            actions.append(expert.select_action(observation, info))
            observation, _, _, _, info = env.step(actions[-1])
        for step, state in states:
            yield state, np.array(actions[step : step + STEPS])


def held(model: mujoco.MjModel, state: mujoco.MjData) -> bool:
    """Whether both fingers touch the cube."""
    cube = model.geom(CUBE).id
    touching = {int(geom) for pair in state.contact.geom[: state.ncon] if cube in pair for geom in pair}
    return all(touching & {model.geom(name).id for name in PADS if side in name} for side in SIDES)


def run(world: Any, way: str, replay: Replay, state: mujoco.MjData, candidate: np.ndarray) -> tuple[float, np.ndarray]:
    """Processor seconds, and the cube's path."""
    if way == "Replay":
        start = time.process_time()
        (path,) = replay.paths(state, candidate[None])
        return time.process_time() - start, path
    model, data = world.model, world.data
    first = int(model.joint(CUBE_JOINT).qposadr[0])
    path = np.empty((len(candidate), 3))
    start = time.process_time()
    mujoco.mj_copyData(data, model, state)
    for cube, action in zip(path, candidate, strict=True):
        if way == "env.step":
            world.step(action)
        else:
            world.set_control(action)
            mujoco.mj_step(model, data, nstep=world._n_steps)
        cube[:] = data.qpos[first : first + 3]
    return time.process_time() - start, path


def collection(study: Path, windows: int) -> dict[str, Any]:
    """Label the groups of a study's first windows as its collection does, and by `env.step`."""
    import torch

    from world4scorer.cube.collect import MIN_SPREAD, collected_windows, drawn_candidates, label_group
    from world4scorer.cube.episodes import expert_episodes
    from world4scorer.cube.model.planners import ImaginedCandidates, WorldModelPlanner
    from world4scorer.cube.model.world_model import LewmWorldModel
    from world4scorer.cube.play import play_windows
    from world4scorer.cube.simulator.cube_env import this_process_simulator
    from world4scorer.cube.study import Study
    from world4scorer.cube.windows import draw_windows

    torch.set_num_threads(1)
    opened = Study.open(study)
    config, model, simulator = opened.preset.collect, LewmWorldModel.load(opened.model), this_process_simulator()
    world, replay = simulator.environment, Replay(simulator.environment)
    drawn = draw_windows(expert_episodes(opened.episodes), config.seeds[0], config.windows)
    kept = collected_windows(drawn, config, opened.held_out)[:windows]
    found = {"windows": len(kept), "held": sum(window.held for window in kept), "groups": 0, "given up": 0}
    found |= {"given up in error": 0, "candidates": 0, "labels that differ": 0}
    seconds = {"env.step": 0.0, "collection": 0.0}

    class Planner(WorldModelPlanner):
        """Knows what it plans for."""

        def plan(self, simulator, moments):  # type: ignore[no-untyped-def]
            self.moments = list(moments)
            return super().plan(simulator, moments)

    def watch(imagined: ImaginedCandidates) -> None:
        if not config.labels(imagined.iteration):
            return
        for index, moment in enumerate(planner.moments):
            chosen = imagined.candidates[index, drawn_candidates(config, moment, imagined.iteration)]
            actions = model.scale.to_simulator(chosen)
            start = time.process_time()
            labels = label_group(replay, moment, actions, config.probe)
            seconds["collection"] += time.process_time() - start
            ran = [run(world, "env.step", replay, moment.snapshot, one) for one in actions]
            seconds["env.step"] += sum(took for took, _ in ran)
            naive = -np.array([min(np.linalg.norm(cube - moment.window.goal) for cube in path) for _, path in ran])
            found["groups"] += 1
            found["candidates"] += len(actions)
            if labels is None:
                found["given up"] += 1
                found["given up in error"] += int(naive.std() >= MIN_SPREAD)
            else:
                found["labels that differ"] += int((labels != naive).sum())

    planner = Planner(model, config.search, watch=watch)
    state = simulator.snapshot()
    run(world, "Replay", replay, state, np.zeros((1, 5)))  # compiles
    play_windows(kept, planner, simulator)
    return {**found, "seconds": seconds, "env.step / collection": seconds["env.step"] / seconds["collection"]}


def collection_lines(found: dict[str, Any]) -> list[str]:
    """The measurement on a study's mix, in words."""
    seconds = found["seconds"]
    return [
        "",
        "## What a collection meets",
        "",
        f"The first {found['windows']} windows that the study's collection takes ({found['held']} with the cube held), "
        f"searched and labelled as it does: {found['groups']} groups, {found['candidates']} candidates of {STEPS} "
        f"steps. By `env.step` {seconds['env.step']:.1f} s of one core, by the collection {seconds['collection']:.1f} "
        f"s: {found['env.step / collection']:.2f} times as fast. {found['given up']} groups were given up after their "
        f"first candidates had left the cube where it was; {found['given up in error']} of these would have been kept "
        f"with all candidates. Labels that differ in any bit: {found['labels that differ']}.",
    ]


def main(
    candidates: int = 8,
    count: int = 8,
    seed: int = 300,
    study: Path | None = None,
    windows: int = 12,
    out: Path = ROOT / "results" / "cube_labels",
) -> None:
    """Measure and write the tables: candidates for each state of so many episodes, windows of a study."""
    options = {"terminate_at_goal": False, "mode": "data_collection", "visualize_info": False}
    env = make("cube-single-v0", max_episode_steps=10**6, disable_env_checker=True, **options)
    env.reset(seed=seed)
    world, rng = env.unwrapped, np.random.default_rng(seed)
    states = list(episodes(env, count, seed))
    start = time.process_time()
    replay = Replay(world)
    for way in WAYS:
        run(world, way, replay, *states[0])
    ready = time.process_time() - start
    seconds = {kind: dict.fromkeys(WAYS, 0.0) for kind in KINDS}
    number, complete, different = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0), 0
    for state, expert in states:
        for candidate in np.clip(expert + rng.normal(0.0, NOISE, (candidates, *expert.shape)), -1.0, 1.0):
            before = replay.complete_steps
            ran = {way: run(world, way, replay, state, candidate) for way in WAYS}
            path = ran["env.step"][1]
            moved = np.ptp(path, axis=0).max() > 1e-3
            kind = "held" if held(world.model, state) else "pushed" if moved else "untouched"
            number[kind] += 1
            complete[kind] += replay.complete_steps - before
            different += any(not np.array_equal(path, other) for _, other in ran.values())
            for way, (took, _) in ran.items():
                seconds[kind][way] += took
    per_step = {
        kind: {way: 1e3 * took / max(number[kind], 1) / STEPS for way, took in seconds[kind].items()} for kind in KINDS
    }
    mix = None if study is None else collection(study, windows)
    given = "" if study is None else f" --study {study.name} --windows {windows}"
    made = f"Made by `python benchmarks/cube.py --count {count} --candidates {candidates}{given}` on "
    made += f"{datetime.date.today()} with world4scorer {__version__}, "
    made += f"MuJoCo {mujoco.__version__}, Python {platform.python_version()}, {os.cpu_count()} cores, "
    made += f"load {os.getloadavg()[0]:.1f}."
    values = {
        "candidates": number,
        "milliseconds per step": per_step,
        "part of physics steps with all collisions": {
            kind: complete[kind] / max(number[kind] * STEPS * world._n_steps, 1) for kind in KINDS
        },
        "candidates whose paths differ": different,
        "seconds to prepare": ready,
        "collection": mix,
    }
    out.with_suffix(".json").write_text(json.dumps(values, indent=1) + "\n")
    lines = [
        "# Replays of candidate actions in OGBench's cube",
        "",
        made,
        "",
        f"{len(states)} states of {count} episodes of the expert, {candidates} candidates each: the expert's next "
        f"{STEPS} actions with noise of {NOISE}. Processor time of one thread [ms per environment step]; candidates "
        f"whose cube positions differ in any bit: {different} of {sum(number.values())}.",
        "",
        "| cube | candidates | env.step | set_control and mj_step | Replay | env.step / Replay | with all collisions |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for kind in KINDS:
        times, part = per_step[kind], values["part of physics steps with all collisions"][kind]
        each = " | ".join(f"{times[way]:.3f}" for way in WAYS)
        ratio = times["env.step"] / times["Replay"]
        lines.append(f"| {kind} | {number[kind]} | {each} | {ratio:.2f} | {part:.2%} |")
    lines += [
        "",
        "Held: both fingers touch the cube in the state. Pushed: not held, yet it moves by more than a millimetre. "
        "With all collisions: physics steps that could not be verified and were repeated. Once per process: "
        f"{ready:.1f} s to load kernels and prepare.",
    ]
    if mix is not None:
        lines += collection_lines(mix)
    out.with_suffix(".md").write_text("\n".join(lines) + "\n")
    print(out.with_suffix(".md").read_text())


if __name__ == "__main__":
    tyro.cli(main)
