"""Replays give the numbers of the environment's own steps, to the bit."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import mujoco
import numpy as np
import ogbench.manipspace  # noqa: F401 (registers the environments)
import pytest
from gymnasium import make
from ogbench.manipspace.oracles.markov.cube_markov import CubeMarkovOracle

from world4scorer.cube.simulator.clearance import CUBE, FLOOR, PADS, clearance_of
from world4scorer.cube.simulator.control import Control
from world4scorer.cube.simulator.link_pairs import approach, collides, reach
from world4scorer.cube.simulator.replay import Replay

CUBE_AT = slice(14, 17)
HINGES = 14


def copy_of(model, data):
    """`data` at this moment."""
    copied = mujoco.MjData(model)
    mujoco.mj_copyData(copied, model, data)
    return copied


@pytest.fixture(scope="module")
def world():
    """An environment, states of an expert's episode in it, a replay."""
    options = {"terminate_at_goal": False, "mode": "data_collection", "visualize_info": False}
    env = make("cube-single-v0", max_episode_steps=10**6, disable_env_checker=True, **options)
    np.random.seed(0)  # noqa: NPY002 (the expert draws from this generator)
    observation, info = env.reset(seed=0)
    expert = CubeMarkovOracle(env=env, min_norm=0.4)
    expert.reset(observation, info)
    cube_env, states = env.unwrapped, []
    for step in range(100):
        if step % 8 == 0:
            states.append(copy_of(cube_env.model, cube_env.data))
        observation, _, _, _, info = env.step(expert.select_action(observation, info))
    return SimpleNamespace(env=cube_env, model=cube_env.model, states=states, replay=Replay(cube_env))


def by_environment(world, state, candidates):
    """The cube's paths by `env.step`, and all positions and velocities at their ends."""
    env, paths, ends = world.env, [], []
    for sequence in candidates:
        mujoco.mj_copyData(env.data, world.model, state)
        path = []
        for action in sequence:
            env.step(action)
            path.append(env.data.qpos[CUBE_AT].copy())
        paths.append(path)
        ends.append(np.concatenate([env.data.qpos, env.data.qvel]))
    return np.array(paths), ends


def drawn(rng, *shape, spread=0.7):
    return np.clip(rng.normal(0.0, spread, (*shape, 5)), -1.0, 1.0)


def test_paths_are_those_of_the_environment(world):
    rng = np.random.default_rng(1)
    moved = 0
    for state in world.states:
        candidates = drawn(rng, 3, 25)
        expected, ends = by_environment(world, state, candidates)
        np.testing.assert_array_equal(world.replay.paths(state, candidates), expected)
        last = world.replay._data
        np.testing.assert_array_equal(np.concatenate([last.qpos, last.qvel]), ends[-1])
        moved += np.ptp(expected, axis=(0, 1)).max() > 0.01
    assert 3 <= moved < len(world.states)  # some states in which the cube is held, some in which it is not touched


def test_paths_with_a_fresh_replay_and_long_pushes(world):
    """Down onto the cube, fingers closed: nothing measured beforehand, much contact."""
    rng = np.random.default_rng(2)
    candidates = drawn(rng, 4, 25, spread=0.3)
    candidates[..., 2] = -1.0
    candidates[..., 4] = 1.0
    for state in world.states[::4]:
        expected, _ = by_environment(world, state, candidates)
        np.testing.assert_array_equal(Replay(world.env).paths(state, candidates), expected)


def test_collisions_left_out_are_noticed(world):
    """Arms that touch themselves, the floor and the cube, from any joint angles: slower, but the same."""
    rng = np.random.default_rng(3)
    replay, touching = Replay(world.env), 0
    pads_and_cube = {world.model.geom(name).id for name in (CUBE, FLOOR, *PADS)}
    for _ in range(40):
        state = copy_of(world.model, world.states[0])
        state.qpos[:6] = rng.uniform(-np.pi, np.pi, 6)
        mujoco.mj_forward(world.model, state)
        gripper = state.site_xpos[world.env._pinch_site_id]
        state.qpos[CUBE_AT] = np.maximum(gripper + rng.normal(0.0, 0.08, 3), 0.02)
        mujoco.mj_forward(world.model, state)
        touching += any(not set(pair) <= pads_and_cube for pair in state.contact.geom[: state.ncon].tolist())
        candidates = drawn(rng, 1, 4)
        expected, ends = by_environment(world, state, candidates)
        np.testing.assert_array_equal(replay.paths(state, candidates), expected)
        last = replay._data
        np.testing.assert_array_equal(np.concatenate([last.qpos, last.qvel]), ends[0])
    assert touching >= 10
    assert 0 < replay.complete_steps < replay.physics_steps


def test_outcome_is_the_smallest_distance_after_a_step(world):
    state, goal = world.states[6], np.array([0.4, 0.1, 0.05])
    candidates = drawn(np.random.default_rng(4), 3, 10).astype(np.float32)
    expected, _ = by_environment(world, state, candidates)
    smallest = [min(np.linalg.norm(cube - goal) for cube in path) for path in expected]
    np.testing.assert_array_equal(world.replay.outcomes(state, candidates, goal), smallest)


def test_replay_changes_neither_state_nor_environment(world):
    state = world.states[5]
    mujoco.mj_copyData(world.env.data, world.model, world.states[2])
    every = mujoco.mjtState.mjSTATE_INTEGRATION
    before = [np.empty(mujoco.mj_stateSize(world.model, every)) for _ in range(2)]
    after = [np.empty_like(values) for values in before]
    for data, values in zip((state, world.env.data), before, strict=True):
        mujoco.mj_getState(world.model, data, values, every)
    masks, sites = world.model.geom_contype.copy(), state.site_xpos.copy()
    world.replay.paths(state, drawn(np.random.default_rng(5), 1, 5))
    for data, values in zip((state, world.env.data), after, strict=True):
        mujoco.mj_getState(world.model, data, values, every)
    np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(world.model.geom_contype, masks)
    np.testing.assert_array_equal(state.site_xpos, sites)


@pytest.mark.parametrize("spread", [1e-6, 0.5, 10.0])
def test_controls_are_those_of_the_environment(world, spread):
    rng, env = np.random.default_rng(6), world.env
    control = Control(env, env.data)
    for state in world.states:
        mujoco.mj_copyData(env.data, world.model, state)
        for action in drawn(rng, 10, spread=spread):
            env.set_control(action)
            expected = env.data.ctrl.copy()
            env.data.ctrl[:] = 0.0
            control.apply(env.unnormalize_action(action))
            np.testing.assert_array_equal(env.data.ctrl, expected)
            mujoco.mj_step(world.model, env.data, nstep=5)


def anywhere(world, rng):
    """Any joint angles; the gripper's about where its linkage holds them."""
    data = copy_of(world.model, world.states[0])
    data.qpos[:6] = rng.uniform(-np.pi, np.pi, 6)
    data.qpos[6:HINGES] += rng.normal(0.0, 0.2, 8)
    mujoco.mj_kinematics(world.model, data)
    mujoco.mj_comPos(world.model, data)
    return data


def test_all_pairs_that_mujoco_considers_are_verified_or_kept(world):
    model, clearance = world.model, clearance_of(world.model)
    fingers, boxes = clearance.fingers, clearance.boxes
    verified = {frozenset(pair) for pair in clearance.links.pairs.tolist()}
    verified |= {frozenset(pair) for pair in fingers.pairs.reshape(-1, 2).tolist()}
    verified |= {frozenset(pair) for pair in itertools.product(*fingers.geoms.tolist())}
    verified |= {frozenset((geom, boxes.cube)) for geom in boxes.geoms.tolist()}
    verified |= {frozenset((geom, model.geom(FLOOR).id)) for geom in boxes.geoms[: boxes.links].tolist()}
    kept = [model.geom(name).id for name in (CUBE, FLOOR, *PADS)]
    verified |= {frozenset(pair) for pair in itertools.combinations(kept, 2)}

    considered = set()

    def note(_model, _data, first, second):
        if collides(model, first, second):
            considered.add(frozenset((first, second)))
        return 1

    rng = np.random.default_rng(7)
    mujoco.set_mjcb_contactfilter(note)
    try:
        for _ in range(300):
            data = anywhere(world, rng)
            data.qpos[CUBE_AT] = rng.uniform([0.2, -0.4, 0.0], [0.7, 0.4, 0.3])
            mujoco.mj_kinematics(model, data)
            mujoco.mj_collision(model, data)
    finally:
        mujoco.set_mjcb_contactfilter(None)
    assert len(considered) > 100
    assert considered <= verified


def test_no_pair_approaches_faster_than_its_reach(world):
    rng, model = np.random.default_rng(8), world.model
    clearance = clearance_of(model)
    pairs = np.concatenate([clearance.links.pairs, clearance.fingers.pairs.reshape(-1, 2)])
    for _ in range(30):
        before, after = anywhere(world, rng), anywhere(world, rng)
        turned = rng.normal(0.0, 0.1, HINGES) * (rng.random(HINGES) < 0.3)
        after.qpos[:HINGES] = before.qpos[:HINGES] + turned
        mujoco.mj_kinematics(model, after)
        for pair in pairs[rng.choice(len(pairs), 20)]:
            near, far = (mujoco.mj_geomDistance(model, data, *pair, 2.0, None) for data in (after, before))
            first, second = (np.array([reach(model, geom, joint) for joint in range(HINGES)]) for geom in pair)
            bound = approach(first, second) @ np.abs(turned)
            if far > bound:
                assert near >= far - bound - 1e-4


@pytest.mark.parametrize("shape", [(25, 5), (2, 25, 4)])
def test_candidates_of_another_shape(world, shape):
    with pytest.raises(ValueError, match=r"\(n, steps, 5\) expected"):
        world.replay.paths(world.states[0], np.zeros(shape))


def test_candidates_that_are_not_finite(world):
    with pytest.raises(ValueError, match="not finite"):
        world.replay.paths(world.states[0], np.full((1, 1, 5), np.nan))


def test_outcomes_need_a_goal_and_steps(world):
    with pytest.raises(ValueError, match="goal of shape"):
        world.replay.outcomes(world.states[0], np.zeros((1, 1, 5)), np.zeros(2))
    with pytest.raises(ValueError, match="without steps"):
        world.replay.outcomes(world.states[0], np.zeros((1, 0, 5)), np.zeros(3))
