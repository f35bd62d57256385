"""Write a two-stage split of a city: groups of recorded frames, and follow-up scenes with images.

A group is a frame of a log and the one before it. Its follow-ups begin 4 s later, in the traffic of the log, with an
ego that has come elsewhere than the expert: the first where the expert is, the others beside it. They are written in
the official schema, so that the whole protocol of navhard can be run on a city.

The same city gives the same bytes. Finished scenes are kept: an interrupted run resumes when started again.

Example::

    split = make_two_stage(preset("tiny"), "city")
    print(split.name, len(split.two_stage))
"""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from world4scorer.city.follow_ups.perturb import Offset, is_clear
from world4scorer.city.streets.map_export import export_map
from world4scorer.city.streets.places import PLACES
from world4scorer.city.streets.street_map import read_streets
from world4scorer.city.world.config import CityConfig, Simulation
from world4scorer.city.world.log_plan import LogPlan, digest
from world4scorer.city.world.log_renderer import LogRenderer
from world4scorer.city.world.make import SimulationRunner
from world4scorer.datasets.navsim.filters import SceneFilter, Split, write_split
from world4scorer.datasets.navsim.synthetic_writer import write_synthetic_scene
from world4scorer.jobs.data_folder import DataFolder

NAME: Final = "city_two_stage"
"""Name of the split."""
HISTORY: Final = 4
FUTURE: Final = 8
AHEAD: Final = 8
"""Frames from a recorded frame to its follow-ups: 4 s."""
FOLLOW_UPS: Final = 4
"""Follow-ups of a frame."""
MAX_GROUPS: Final = 16
MAX_DRAWS: Final = 50
"""Offsets tried before one follow-up less is made."""

Group = tuple[str, str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class FollowUp:
    """A follow-up scene to be written."""

    plan: LogPlan
    """The log it is taken from."""
    frame: int
    """Frame of the log at the same time."""
    first: int
    """Frame of the log that it follows."""
    offset: Offset
    token: str

    @classmethod
    def of(cls, plan: LogPlan, first: int, place: int, offset: Offset) -> FollowUp:
        """The follow-up number `place` of frame `first`."""
        name = digest(plan.seed, plan.name, first, "follow-up", place)
        return cls(plan, first + AHEAD, first, offset, name + digest(name)[0])

    @property
    def window(self) -> LogPlan:
        """The frames of the scene as a log of its own."""
        frames = self.plan.frames[self.frame - HISTORY + 1 : self.frame + FUTURE + 1]
        return replace(self.plan, name=self.token, frames=tuple(self.offset.apply(frame) for frame in frames))


def make_two_stage(config: CityConfig, root: str | os.PathLike[str]) -> Split:
    """Write the split `city_two_stage` of a finished city, from its last split, and return it."""
    root = Path(root)
    folder = DataFolder(root)
    last = config.shares[-1]
    simulations = [one for one in config.simulations if one.share.split == last.split]
    networks = {PLACES[one.share.place].network.name: PLACES[one.share.place].network for one in simulations}
    paths = {name: folder.city_network(name) for name in networks}
    locations = {n: net.devkit_location if config.devkit_maps else net.location for n, net in networks.items()}
    indices = {name: export_map(read_streets(path))[1] for name, path in paths.items()}
    renderer = LogRenderer(root, config, paths, locations, indices)
    groups: list[Group] = []
    logs: dict[str, None] = {}
    for plan, first in _choices(SimulationRunner(root, config, paths), simulations):
        group, scenes = _group(plan, first)
        for scene in scenes:
            _write(renderer, scene, folder)
        groups.append(group)
        logs[plan.name] = None
    chosen = SceneFilter(
        num_history_frames=HISTORY,
        num_future_frames=FUTURE,
        frame_interval=1,
        log_names=tuple(logs),
        tokens=tuple(token for now, previous, _ in groups for token in (now, previous)),
    )
    split = Split(NAME, last.data_split, chosen, tuple(groups))
    write_split(folder.splits, split)
    return split


def _choices(run: SimulationRunner, simulations: list[Simulation]) -> Iterator[tuple[LogPlan, int]]:
    """Frames that groups are made of: one of each log that is long enough, evenly over the logs."""
    plans = [plan for simulation in simulations for plan in run(simulation)]
    found = [(plan, frames[len(frames) // 2]) for plan in plans if len(frames := _candidates(plan))]
    step = max(1, len(found) // MAX_GROUPS)
    yield from ((plan, int(first)) for plan, first in found[::step][:MAX_GROUPS])


def _candidates(plan: LogPlan) -> list[int]:
    """Frames with a past for themselves and the one before, and a future for what follows."""
    longest = len(plan.frames) - 1 - AHEAD - FUTURE
    return [int(frame) for frame in plan.decisions if HISTORY <= frame <= longest]


def _group(plan: LogPlan, first: int) -> tuple[Group, list[FollowUp]]:
    """The group of a frame, and the scenes that it needs."""
    rng = np.random.default_rng(zlib.crc32(f"{plan.seed}/{plan.name}/{first}".encode()))
    offsets = [Offset()]
    for _ in range(MAX_DRAWS):
        offset = Offset.draw(rng)
        if len(offsets) < FOLLOW_UPS and all(is_clear(offset.apply(f)) for f in plan.frames[first + AHEAD - 1 :][:2]):
            offsets.append(offset)
    pairs = [
        (FollowUp.of(plan, first, place, offset), FollowUp.of(plan, first - 1, place, offset))
        for place, offset in enumerate(offsets)
    ]
    tokens = tuple((now.token, previous.token) for now, previous in pairs)
    return (plan.token(first), plan.token(first - 1), tokens), [scene for pair in pairs for scene in pair]


def _write(renderer: LogRenderer, scene: FollowUp, folder: DataFolder) -> None:
    """Render and write one scene; the pickle, which comes last, says that it is finished."""
    scenes, sensors = folder.synthetic_scenes(NAME), folder.synthetic_sensors(NAME)
    if (scenes / f"{scene.token}.pkl").is_file():
        return
    window = scene.window
    draft = sensors / f".{scene.token}.tmp"
    shutil.rmtree(draft, ignore_errors=True)
    renderer.draw(replace(window, frames=window.frames[:HISTORY]), draft)
    shutil.rmtree(sensors / scene.token, ignore_errors=True)
    draft.rename(sensors / scene.token)
    write_synthetic_scene(
        scenes,
        scene.token,
        renderer.records(window),
        log_name=scene.plan.name,
        original_scene=scene.plan.token(scene.frame),
        original_token=scene.plan.token(scene.first),
        cameras=renderer.config.cameras,
    )
