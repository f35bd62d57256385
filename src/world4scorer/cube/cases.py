"""Windows rescued by outcome scores: selection, replay and rendering."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from PIL import Image

from world4scorer.cube.episodes import EpisodeKind, read_episodes
from world4scorer.cube.errors import CubeError
from world4scorer.cube.evaluate import Player, Results
from world4scorer.cube.play import WindowResult, replay_window
from world4scorer.cube.simulator.cube_env import CubeSimulator, distance_to, is_held, this_process_simulator
from world4scorer.cube.success import LABELS, PairedResult, paired_results
from world4scorer.cube.windows import Window, draw_windows

if TYPE_CHECKING:
    from world4scorer.cube.simulator.camera import Camera, RenderQuality

COMPARED_PLAYERS: Final = (Player.ANCHOR, Player.OURS)
RELEASE_STEPS: Final = 3
"""Steps without the cube that count as a release, since contact flickers."""
REPLAY_TOLERANCE: Final = 1e-3
"""Tolerance of the final position in a replay [m]."""


class NothingRescued(CubeError):
    """There is no window to show."""


@dataclass(frozen=True)
class Case:
    """A window that LeWM did not solve and outcome scores did."""

    window: Window
    before: WindowResult
    after: WindowResult

    def played(self) -> Iterator[tuple[str, WindowResult]]:
        """Player label and result of both."""
        yield from zip((LABELS[player] for player in COMPARED_PLAYERS), (self.before, self.after), strict=True)


@dataclass(frozen=True)
class ReplayTrace:
    """Replay of a window, with one entry per step from 0."""

    metres: tuple[float, ...]
    """Distance from the goal."""
    held: tuple[bool, ...]
    """Whether the gripper had the cube."""

    @property
    def last(self) -> int:
        """Steps carried out."""
        return len(self.metres) - 1

    @property
    def drop(self) -> int | None:
        """The step at which the cube was first released, if it was."""
        for step in range(1, len(self.held) - RELEASE_STEPS + 1):
            if self.held[step - 1] and not any(self.held[step : step + RELEASE_STEPS]):
                return step
        return None


def rescued_pairs(results: Results) -> list[PairedResult]:
    """Rescued windows, one per episode, LeWM's largest final distance first; raises NothingRescued if there is none."""
    if not {*COMPARED_PLAYERS} <= {*results}:
        raise CubeError(
            f"to show what was rescued, {' and '.join(COMPARED_PLAYERS)} must have played: evaluate with both"
        )
    pairs = [
        pair
        for pair in paired_results(results, COMPARED_PLAYERS[1], COMPARED_PLAYERS[0])
        if pair.after.success and not pair.before.success
    ]
    if not pairs:
        raise NothingRescued(
            "outcome scores rescued no window, so there is nothing to show: evaluate more seeds, or train the outcome "
            "head on more groups"
        )
    of_episode: dict[int, PairedResult] = {}
    for pair in sorted(pairs, key=lambda pair: -pair.before.final_metres):
        of_episode.setdefault(pair.before.episode, pair)
    return list(of_episode.values())


def rescued_cases(episodes_folder: Path, results: Results, count: int) -> list[Case]:
    """Up to `count` rescued windows with their starts and goals; raises NothingRescued if there is none."""
    if count < 1:
        raise CubeError(f"{count} cases cannot be shown: at least one")
    chosen = rescued_pairs(results)[:count]
    episodes = read_episodes(episodes_folder, EpisodeKind.EXPERT)
    cases = []
    for seed, before, after in chosen:
        windows = draw_windows(episodes, seed, len(results[COMPARED_PLAYERS[0]][seed]))
        found = [window for window in windows if (window.episode, window.step) == (before.episode, before.step)]
        if len(found) != 1 or found[0].start_distance != before.start_metres:
            raise CubeError(
                f"seed {seed}, episode {before.episode}, step {before.step} was not played on the episodes in "
                f"{episodes_folder}: name the folder that was evaluated with"
            )
        cases.append(Case(found[0], before, after))
    return cases


def replay_trace(simulator: CubeSimulator, window: Window, played: WindowResult) -> ReplayTrace:
    """Replay a window; raises CubeError if it does not end where it did."""
    metres, held = [], []
    for step in replay_window(simulator, window, played):
        metres.append(distance_to(window.goal, simulator.cube))
        # Contact forces are not restored at the start.
        held.append(is_held(simulator.observation()) if step else window.held)
    if not np.isclose(metres[-1], played.final_metres, rtol=0, atol=REPLAY_TOLERANCE):
        raise CubeError(
            f"{window.name}: carried out again, the cube ends {100 * metres[-1]:.1f} cm from its goal, not "
            f"{100 * played.final_metres:.1f} cm as played: play it again with this version of MuJoCo"
        )
    return ReplayTrace(tuple(metres), tuple(held))


class WindowRenderer:
    """Replays windows in the simulator and renders them."""

    def __init__(self, simulator: CubeSimulator, camera: Camera) -> None:
        self._simulator, self._camera = simulator, camera

    def trace(self, window: Window, played: WindowResult) -> ReplayTrace:
        """Replay a window without rendering."""
        return replay_trace(self._simulator, window, played)

    def pictures(self, window: Window, played: WindowResult, steps: Collection[int]) -> dict[int, Image.Image]:
        """Images after the given steps, with the goal."""
        return {
            step: Image.fromarray(self._camera.picture(goal=window.goal))
            for step in replay_window(self._simulator, window, played)
            if step in steps
        }


@contextmanager
def open_renderer(side: int, quality: RenderQuality) -> Iterator[WindowRenderer]:
    """A renderer of square images of a side [pixels]."""
    from world4scorer.cube.simulator.camera import Camera

    simulator = this_process_simulator()
    with closing(Camera(simulator, side, quality=quality)) as camera:
        yield WindowRenderer(simulator, camera)
