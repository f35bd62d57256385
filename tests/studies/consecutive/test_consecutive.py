from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.random_pools import random_pools
from tests.support.stored_pools import store_pools
from world4scorer.datasets.store import SceneStore
from world4scorer.evaluation.pools import ScoredPools, framewise, inertial
from world4scorer.studies.consecutive.figure import EXAMPLE_FRAMES, example
from world4scorer.studies.consecutive.plan_change import plan_change
from world4scorer.studies.consecutive.study import changes, consecutive, distance_to_logged
from world4scorer.studies.consecutive.turn import MOVING, draw_turn, pick_turn


def along_a_circle(start: float, times: np.ndarray, radius: float = 30.0, speed: float = 8.0) -> tuple:
    """Ego pose at `start` [s] and the plan of driving on, in its frame."""
    angle = speed * (start + times) / radius
    world = np.stack([radius * np.sin(angle), radius * (1 - np.cos(angle)), angle], axis=1)
    at = speed * start / radius
    ego = np.array([radius * np.sin(at), radius * (1 - np.cos(at)), at])
    cos, sin = np.cos(at), np.sin(at)
    dx, dy = world[:, 0] - ego[0], world[:, 1] - ego[1]
    return ego, np.stack([cos * dx + sin * dy, cos * dy - sin * dx, world[:, 2] - at], axis=1)


def one(now, before, ego_now, ego_before, interval=0.5) -> list[float]:
    values = plan_change(*(np.asarray(part)[None] for part in (now, before, ego_now, ego_before, interval)))
    return [float(value[0]) for value in values]


TIMES = np.arange(1, 9) * 0.5


@pytest.mark.parametrize("start", [0.0, 3.0, 11.0])  # headings beyond pi as well
def test_driving_on_is_no_change(start: float) -> None:
    ego_before, before = along_a_circle(start, TIMES)
    ego_now, now = along_a_circle(start + 0.5, TIMES)
    ego_now[2] -= 2 * np.pi  # the same heading by another number
    assert one(now, before, ego_now, ego_before) == pytest.approx([0, 0, 0], abs=1e-9)


def test_a_sideways_offset_is_lateral_and_a_delay_is_not() -> None:
    ego_before, before = along_a_circle(0.0, TIMES)
    ego_now, now = along_a_circle(0.5, TIMES)
    left = now + np.stack([-0.4 * np.sin(now[:, 2]), 0.4 * np.cos(now[:, 2]), np.zeros(8)], axis=1)
    assert one(left, before, ego_now, ego_before) == pytest.approx([0, 0.4, 0.4], abs=1e-9)
    straight, ego = np.stack([6.0 * TIMES, np.zeros(8), np.zeros(8)], axis=1), np.array([5.0, -3.0, 2.0])
    ahead = np.add(ego, [3.0 * np.cos(2.0), 3.0 * np.sin(2.0), 0.0])
    assert one(np.add(straight, [1.5, 0, 0]), straight, ahead, ego) == pytest.approx([0, 0, 1.5], abs=1e-9)
    turned = np.add(straight, [0, 0, 0.3 - 2 * np.pi])
    assert one(turned, straight, ahead, ego)[0] == pytest.approx(0.3, abs=1e-9)


def test_other_intervals_read_the_plan_before_between_its_poses() -> None:
    straight = np.stack([6.0 * TIMES, np.zeros(8), np.zeros(8)], axis=1)
    ego, ahead = np.zeros(3), np.array([1.2, 0, 0])
    assert one(straight, straight, ahead, ego, 0.2) == pytest.approx([0, 0, 0], abs=1e-9)
    assert one(straight, straight, ahead, ego, 0.2004) == pytest.approx([0, 0, 0], abs=1e-9)
    with pytest.raises(ValueError, match="no moment in common"):
        one(straight, straight, ego, ego, 3.9)


def slowly(pools, chosen, s) -> tuple[float, float, float]:
    """One pair, pose by pose with scalars; frames 0.5 s apart."""
    p = s - 1
    (bx, by, bh), (nx, ny, nh) = pools.ego_pose[p], pools.ego_pose[s]
    heading, lateral, distance = [], [], []
    for k in range(7):
        x, y, h = (float(value) for value in pools.plans[p, chosen[p], k + 1])
        wx, wy = bx + x * math.cos(bh) - y * math.sin(bh), by + x * math.sin(bh) + y * math.cos(bh)
        ex, ey = wx - nx, wy - ny
        cx, cy, ch = (float(value) for value in pools.plans[s, chosen[s], k])
        dx, dy = ex * math.cos(nh) + ey * math.sin(nh) - cx, -ex * math.sin(nh) + ey * math.cos(nh) - cy
        turn = bh + h - nh - ch
        heading.append(abs(math.atan2(math.sin(turn), math.cos(turn))))
        lateral.append(abs(-math.sin(ch) * dx + math.cos(ch) * dy))
        distance.append(math.hypot(dx, dy))
    return sum(heading) / 7, sum(lateral) / 7, sum(distance) / 7


@pytest.mark.parametrize("seed", range(3))
def test_all_numbers_are_what_loops_find(seed: int, tmp_path: Path) -> None:
    pools = random_pools(seed)
    off, on = framewise(pools.utility_v2), inertial(pools, pools.utility_v2)
    pairs = np.flatnonzero(pools.paired)
    for chosen in (off, on):
        expected = np.full((3, len(pools)), np.nan)
        for s in pairs:
            expected[:, s] = slowly(pools, chosen, s)
        np.testing.assert_allclose(np.array(changes(pools, chosen)), expected, atol=1e-9)
    finding = consecutive(pools, draws=50)
    numbers = finding.numbers
    passed = [[bool(pools.continues[s, c[s], c[s - 1]]) for s in pairs] for c in (off, on)]
    repaired = [s for s, before, after in zip(pairs, *passed, strict=True) if after and not before]
    assert numbers["fail_to_pass"] == len(repaired) > 0
    assert numbers["pass_to_fail"] == sum(before and not after for before, after in zip(*passed, strict=True))
    sums = np.array([[slowly(pools, chosen, s) for s in repaired] for chosen in (off, on)]).sum(1)
    for column, name in enumerate(("heading", "lateral", "distance")):
        part = numbers["repaired_pairs"][name]
        assert part["reduction"]["value"] == pytest.approx(1 - sums[1, column] / sums[0, column])
        assert part["on"]["value"] == pytest.approx(sums[1, column] / len(repaired))
        assert part["reduction"]["low"] <= part["reduction"]["value"] <= part["reduction"]["high"]
    moved = [s for s in range(len(pools)) if off[s] != on[s]]
    for part, chosen in (("off", off), ("on", on)):
        gaps = [pools.plans[s, chosen[s], :, :2] - pools.human_plan[s, :, :2] for s in moved]
        assert numbers["distance_to_logged"][part]["value"] == pytest.approx(
            np.mean([np.sqrt((gap**2).sum(1)).mean() for gap in gaps])
        )
    finding.save(tmp_path, "test")


def test_frames_that_nobody_drove_do_not_count() -> None:
    pools = random_pools(1)
    human = pools.human_plan.copy()
    human[::2] = np.nan
    assert (np.isnan(distance_to_logged(replace(pools, human_plan=human), framewise(pools.utility_v2)))[::2]).all()
    assert consecutive(replace(pools, human_plan=human), draws=20).numbers["distance_to_logged"]["off"] is not None


def test_nothing_to_repair(tmp_path: Path) -> None:
    pools = replace(random_pools(1), continues=np.ones_like(random_pools(1).continues))
    finding = consecutive(pools, draws=20)
    assert finding.numbers["fail_to_pass"] == 0 and finding.numbers["repaired_pairs"]["heading"]["reduction"] is None
    finding.save(tmp_path, "test")


def test_the_example_is_the_stretch_that_gains_most() -> None:
    pools = random_pools(4, logs=3, frames=12)
    gain = np.where(pools.paired, np.random.default_rng(0).normal(size=len(pools)), np.nan)
    frames = example(pools, gain)
    assert (np.diff(frames) == 1).all() and len(frames) <= EXAMPLE_FRAMES and pools.paired[frames[1:]].all()
    totals = [
        gain[start + 1 : end].sum()
        for start in range(len(pools))
        for end in range(start + 1, min(start + EXAMPLE_FRAMES, len(pools)) + 1)
        if pools.paired[start + 1 : end].all()
        and (end - start == EXAMPLE_FRAMES or start == 0 or not pools.paired[start])
    ]
    assert gain[frames[1:]].sum() == pytest.approx(max(totals))


@pytest.mark.parametrize("seed", range(3))
def test_the_turn_is_that_of_its_rule(seed: int) -> None:
    pools = random_pools(seed, logs=4, frames=6)
    rng = np.random.default_rng(seed)
    human = pools.human_plan.copy()
    human[:, -1, 2] = rng.uniform(-0.8, 0.8, len(pools))
    pools, gain = replace(pools, human_plan=human), rng.random(len(pools))
    human[:, :, :2] *= 10
    plans = pools.plans * np.array([10, 10, 1])
    pools = replace(pools, human_plan=human, plans=plans)
    off, on = (rng.integers(0, plans.shape[1], len(pools)) for _ in range(2))

    def away(s: int) -> float:
        return min(float(np.hypot(*plan[-1, :2])) for plan in (human[s], plans[s, off[s]], plans[s, on[s]]))

    def gap(s: int, plan: int) -> float:
        return float(np.hypot(*(plans[s, plan, :, :2] - human[s, :, :2]).T).mean())

    fitting = [
        s
        for s in range(len(pools))
        if pools.previous[s] >= 0
        and abs(human[s, -1, 2]) > np.radians(20)
        and min(away(s), away(s - 1)) >= MOVING
        and gap(s, on[s]) < gap(s, off[s])
    ]
    best = max(fitting, key=lambda s: gain[s])
    assert gain[best] > 0 and pick_turn(pools, off, on, gain) == [best - 1, best]
    assert pools.log_names[best - 1] == pools.log_names[best]
    assert pick_turn(pools, off, on, np.zeros(len(pools))) is None
    assert pick_turn(pools, off, off, gain) is None  # nothing comes nearer
    assert pick_turn(replace(pools, plans=plans * 0), off, on, gain) is None  # nothing moves


def test_a_turn_is_drawn_from_stored_scenes(tmp_path: Path) -> None:
    pools = ScoredPools.open(store_pools(tmp_path))
    human = pools.human_plan.copy()
    human[:, -1, 2] = 1.0
    human[:, :, 0] = np.linspace(2, 16, 8)
    plans = np.repeat(human[:, None], pools.plans.shape[1], 1)
    plans[:, 0, :, 1] = 3.0
    pools = replace(pools, human_plan=human, plans=plans)
    off, on = np.zeros(len(pools), np.int64), np.ones(len(pools), np.int64)
    figure = draw_turn(pools, SceneStore(tmp_path / "store"), off, on, np.arange(float(len(pools))))
    assert figure is not None and len(figure.axes) == 2
    assert figure.axes[0].get_xlim() == figure.axes[1].get_xlim()


def test_it_says_when_there_is_no_turn(tmp_path: Path) -> None:
    pools = ScoredPools.open(store_pools(tmp_path))
    finding = consecutive(pools, weight=0.0, draws=20, store=SceneStore(tmp_path / "store"))  # repairs nothing
    assert "turn" not in finding.pictures and any("no picture of a turn" in remark for remark in finding.remarks)
