"""Windows that outcome scores rescued, to be looked at: which ones, and both players' ways through them again."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from PIL import Image

from world4scorer.cube.episodes import Kind, read_episodes
from world4scorer.cube.errors import CubeError
from world4scorer.cube.evaluate import Player, Results
from world4scorer.cube.play import Played, replayed
from world4scorer.cube.simulator.cube_env import CubeSimulator, distance_to, this_process_simulator
from world4scorer.cube.success import LABELS, Pair, pairs_of
from world4scorer.cube.windows import Window, draw_windows, is_held

if TYPE_CHECKING:
    from world4scorer.cube.simulator.camera import Camera, Look

SHOWN: Final = (Player.ANCHOR, Player.OURS)
RELEASED_STEPS: Final = 3
"""For so many steps the gripper must not have the cube for it to be released: contact flickers."""
SAME_METRES: Final = 1e-3
"""A way carried out again ends within this distance of where it ended when it was played."""


class NothingRescued(CubeError):
    """There is no window to show."""


@dataclass(frozen=True)
class Case:
    """A window that LeWM did not solve and outcome scores did."""

    window: Window
    before: Played
    after: Played

    def played(self) -> Iterator[tuple[str, Played]]:
        """Who played, and what became of it."""
        yield LABELS[SHOWN[0]], self.before
        yield LABELS[SHOWN[1]], self.after


@dataclass(frozen=True)
class Course:
    """A played window, carried out again: entries for 0 steps, 1 step, and so on."""

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
        for step in range(1, len(self.held) - RELEASED_STEPS + 1):
            if self.held[step - 1] and not any(self.held[step : step + RELEASED_STEPS]):
                return step
        return None


def rescued(results: Results) -> list[Pair]:
    """Windows that were rescued, one of an episode; first those that LeWM left furthest from the goal.

    Raises:
        NothingRescued: There is none.
    """
    if not {*SHOWN} <= {*results}:
        raise CubeError(f"to show what was rescued, {' and '.join(SHOWN)} must have played: evaluate with both")
    pairs = [pair for pair in pairs_of(results, SHOWN[1], SHOWN[0]) if pair.after.success and not pair.before.success]
    if not pairs:
        raise NothingRescued(
            "outcome scores rescued no window, so there is nothing to show: evaluate more seeds, or train the outcome "
            "head on more groups"
        )
    of_episode: dict[int, Pair] = {}
    for pair in sorted(pairs, key=lambda pair: -pair.before.final_metres):
        of_episode.setdefault(pair.before.episode, pair)
    return list(of_episode.values())


def rescued_cases(episodes_folder: Path, results: Results, count: int) -> list[Case]:
    """Up to `count` windows that were rescued, with their starts and goals.

    Raises:
        NothingRescued: There is none.
        CubeError: The episodes are missing, or are not those that were played.
    """
    if count < 1:
        raise CubeError(f"{count} cases cannot be shown: at least one")
    chosen = rescued(results)[:count]
    episodes = read_episodes(episodes_folder, Kind.EXPERT)
    cases = []
    for seed, before, after in chosen:
        windows = draw_windows(episodes, seed, len(results[SHOWN[0]][seed]))
        found = [window for window in windows if (window.episode, window.step) == (before.episode, before.step)]
        if len(found) != 1 or found[0].start_distance != before.start_metres:
            raise CubeError(
                f"seed {seed}, episode {before.episode}, step {before.step} was not played on the episodes in "
                f"{episodes_folder}: name the folder that was evaluated with"
            )
        cases.append(Case(found[0], before, after))
    return cases


def course_of(simulator: CubeSimulator, window: Window, played: Played) -> Course:
    """Carry a window out again.

    Raises:
        CubeError: It does not end where it did.
    """
    metres, held = [], []
    for step in replayed(simulator, window, played):
        metres.append(distance_to(window.goal, simulator.cube))
        # At the start the contact forces, which tell, are not restored.
        held.append(is_held(simulator.observation()) if step else window.held)
    if not np.isclose(metres[-1], played.final_metres, rtol=0, atol=SAME_METRES):
        raise CubeError(
            f"{window.name}: carried out again, the cube ends {100 * metres[-1]:.1f} cm from its goal, not "
            f"{100 * played.final_metres:.1f} cm as played: play it again with this version of MuJoCo"
        )
    return Course(tuple(metres), tuple(held))


class Stage:
    """The simulator and a camera in front of it, to see windows again."""

    def __init__(self, simulator: CubeSimulator, camera: Camera) -> None:
        self._simulator, self._camera = simulator, camera

    def course(self, window: Window, played: Played) -> Course:
        """Carry a window out again, without pictures."""
        return course_of(self._simulator, window, played)

    def pictures(self, window: Window, played: Played, steps: Collection[int]) -> dict[int, Image.Image]:
        """Pictures after some numbers of steps, with the goal."""
        return {
            step: Image.fromarray(self._camera.picture(goal=window.goal))
            for step in replayed(self._simulator, window, played)
            if step in steps
        }


@contextmanager
def open_stage(side: int, quality: Look) -> Iterator[Stage]:
    """A stage whose pictures have this side [pixels]."""
    from world4scorer.cube.simulator.camera import Camera

    simulator = this_process_simulator()
    with closing(Camera(simulator, side, quality=quality)) as camera:
        yield Stage(simulator, camera)
