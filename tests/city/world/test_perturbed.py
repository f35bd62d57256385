"""Perturbed scenes: shifted within their ranges, with what was before and after as it was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from world4scorer.city.scenery.actors import ActorKind, Actors
from world4scorer.city.streets.errors import CityError
from world4scorer.city.world.config import PRESETS, plain_config, preset
from world4scorer.city.world.log_plan import FrameState, LogPlan, perturbed_logs
from world4scorer.city.world.log_renderer import image_path
from world4scorer.city.world.make import _perturbed
from world4scorer.city.world.manifest import LogEntry
from world4scorer.engine.scene.geometry import relative_poses


def frame(number: int, actors: Actors | None = None) -> FrameState:
    seen = Actors.empty() if actors is None else actors
    speeds, names = np.zeros(len(seen.pose)), tuple(str(n) for n in range(len(seen.pose)))
    pose = np.array([4.0 * number, 1.0, 0.1])
    return FrameState(5 * number, pose, 8.0, np.zeros(2), 0.0, 1, seen, speeds, names, {})


def plan(frames: int = 40, actors: Actors | None = None) -> LogPlan:
    states = tuple(frame(number, actors) for number in range(frames))
    return LogPlan("town_000_v1_00000", "town_000", "town", "v1", 3, 99, ("a", "b"), states, np.arange(3, 30), {})


def test_scenes_are_shifted_within_their_ranges() -> None:
    log = plan()
    found = perturbed_logs(log, 1.0)
    assert len(found) == 27 and len({one.name for one in found}) == 27
    for decision, one in zip(range(3, 30), found, strict=True):
        assert one.source == (log.name, decision - 3) and len(one.frames) == 14 and one.decisions.tolist() == [3]
        ahead, side, turn = relative_poses(one.frames[3].ego_pose[None], log.frames[decision].ego_pose)[0]
        assert abs(ahead) < 1e-9 and 0 < abs(side) <= 0.5 and 0 < abs(turn) <= 0.26
        assert 6.4 <= one.frames[3].speed <= 9.6
        others = [number for number in range(14) if number != 3]
        assert all(one.frames[number] is log.frames[decision - 3 + number] for number in others)
    assert 8 < len(perturbed_logs(log, 0.5)) < 20
    again = perturbed_logs(log, 0.5)
    assert [one.name for one in again] == [one.name for one in perturbed_logs(log, 0.5)]


def test_only_the_shifted_frame_has_images_of_its_own() -> None:
    log = plan()
    one = perturbed_logs(log, 1.0)[5]
    assert one.own_frames == [3] and log.own_frames == list(range(40))
    assert image_path(one, 3, "CAM_F0").parts[0] == one.name
    for number in (0, 2, 4, 13):
        assert image_path(one, number, "CAM_F0") == image_path(log, 5 + number, "CAM_F0")
    assert (LogEntry.of(one).images, LogEntry.of(log).images) == (1, None)
    assert one.token(3) != log.token(8)


def test_nobody_is_driven_over() -> None:
    """Somebody beside the ego at every frame: nothing can be shifted."""
    beside = Actors(
        pose=np.array([[4.0 * number, 3.0, 0.1] for number in range(40)]),
        size=np.full((40, 3), 1.0),
        kind=np.full(40, ActorKind.CONE, np.int8),
        look=np.zeros(40, np.uint32),
        brake=np.zeros(40, np.bool_),
        left=np.zeros(40, np.bool_),
        right=np.zeros(40, np.bool_),
        stride=np.zeros(40),
    )
    assert perturbed_logs(plan(actors=beside), 1.0) == []


@pytest.mark.parametrize("name", PRESETS)
def test_evaluation_splits_have_none(name: str) -> None:
    config = replace(PRESETS[name], perturbed=0.5)
    for simulation in {each.share.split: each for each in config.simulations}.values():
        found = _perturbed(config, simulation, [plan()])
        assert bool(found) == (simulation.share.split == "city_train")
        assert not _perturbed(PRESETS[name], simulation, [plan()])
    assert "perturbed" not in plain_config(PRESETS[name]) and plain_config(config)["perturbed"] == 0.5


def test_a_share_is_a_share() -> None:
    with pytest.raises(CityError, match=r"perturbed 1\.5: a share from 0 to 1"):
        preset("tiny", perturbed=1.5)
