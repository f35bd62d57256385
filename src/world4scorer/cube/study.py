"""A study in one folder, stage by stage; what is finished is kept, an interrupted stage goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from world4scorer.cube.collect import CollectConfig, Groups, collect, read_groups
from world4scorer.cube.episodes import make_episodes, read_config
from world4scorer.cube.errors import CubeError
from world4scorer.cube.evaluate import Contest, EvaluateConfig, Results, evaluate
from world4scorer.cube.keeping import ABOUT, read_about, read_json, write_about, write_json
from world4scorer.cube.presets import PRESETS, Preset
from world4scorer.cube.train_head import HeadConfig, TrainedHead, save_head, train_head
from world4scorer.cube.train_world_model import WorldModelConfig, read_history, train_world_model
from world4scorer.cube.tune import Tuned, tune
from world4scorer.cube.windows import evaluated_episodes

STAGES: Final = "stages.json"


@dataclass(frozen=True)
class Study:
    """A study: its sizes, and where its parts are."""

    folder: Path
    preset: Preset

    @classmethod
    def begin(cls, folder: Path, preset: str, **changed: Any) -> Study:
        """Open a folder as a study of a preset, whose episodes may be changed.

        Raises:
            CubeError: It is another one already.
        """
        write_about(folder, _About(preset), "a study of the cube", **changed)
        chosen = PRESETS[preset]
        return cls(folder, replace(chosen, episodes=replace(chosen.episodes, **changed)))

    @classmethod
    def open(cls, folder: Path) -> Study:
        """Open a folder in which a study was begun."""
        about = read_about(folder, _About, "a study of the cube")
        if about.preset not in PRESETS:
            raise CubeError(
                f"{folder / ABOUT}: there is no preset {about.preset!r}; choose one of {', '.join(PRESETS)}"
            )
        episodes = folder / "episodes"
        chosen = PRESETS[about.preset]
        if (episodes / ABOUT).exists():
            chosen = replace(chosen, episodes=read_config(episodes))
        return cls(folder, chosen)

    @property
    def episodes(self) -> Path:
        """Recorded episodes."""
        return self.folder / "episodes"

    @property
    def model(self) -> Path:
        """The world model."""
        return self.folder / "world-model"

    @property
    def groups(self) -> Path:
        """Labelled candidates."""
        return self.folder / "groups"

    @property
    def head(self) -> Path:
        """The outcome head."""
        return self.folder / "head"

    @property
    def tuning(self) -> Path:
        """Windows played to choose the weight."""
        return self.folder / "tuning"

    @property
    def played(self) -> Path:
        """Windows played for the report."""
        return self.folder / "played"

    @property
    def report(self) -> Path:
        """Tables, figures, film."""
        return self.folder / "report"

    @property
    def held_out(self) -> frozenset[int]:
        """Expert episodes with a window that is tuned on or reported: neither model nor head learns from them."""
        sizes = self.preset.episodes.expert, self.preset.episodes.steps
        reported = evaluated_episodes(*sizes, self.preset.evaluate.seeds, self.preset.evaluate.windows)
        return reported | evaluated_episodes(*sizes, self.preset.tuning.seeds, self.preset.tuning.windows)

    @property
    def stages(self) -> Stages:
        """Seconds spent so far."""
        return Stages(self.folder / STAGES)


@dataclass(frozen=True)
class _About:
    preset: str


class Stages:
    """Seconds spent in each stage, over all runs that it took."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.seconds: dict[str, float] = dict(read_json(path)["seconds"]) if path.exists() else {}

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the length of the block to a stage, even when it is interrupted."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - began
            write_json(self._path, {"seconds": self.seconds})


def make_data(study: Study, workers: int | None = None, progress: bool = True) -> int:
    """Record episodes; returns how many there are."""
    with study.stages.timed("episodes"):
        return make_episodes(study.episodes, study.preset.episodes, workers, progress)


def make_world_model(study: Study, config: WorldModelConfig, progress: bool = True) -> dict[str, float]:
    """Train the world model; returns how well it imagines held-out episodes in the end."""
    with study.stages.timed("world model"):
        train_world_model(study.episodes, study.model, config, study.held_out, progress)
    return read_history(study.model)[-1]


def make_groups(study: Study, config: CollectConfig, workers: int | None = None, progress: bool = True) -> Groups:
    """Collect and label candidates."""
    with study.stages.timed("candidates"):
        return collect(study.episodes, study.model, study.groups, config, study.held_out, workers, progress)


def make_head(study: Study, config: HeadConfig, progress: bool = True) -> TrainedHead:
    """Train the outcome head."""
    with study.stages.timed("outcome head"):
        trained = train_head(read_groups(study.groups), config, progress)
        save_head(trained, config, study.head)
    return trained


def choose_weight(study: Study, weights: tuple[float, ...], workers: int | None = None, progress: bool = True) -> Tuned:
    """Choose the weight of outcome scores on the tuning seeds."""
    contest = Contest(study.episodes, study.model, study.head)
    with study.stages.timed("weight"):
        return tune(contest, study.tuning, study.preset.tuning, weights, workers, progress)


def play_all(
    study: Study, weight: float, config: EvaluateConfig, workers: int | None = None, progress: bool = True
) -> Results:
    """Play the windows of the report."""
    contest = Contest(study.episodes, study.model, study.head, weight)
    with study.stages.timed("evaluation"):
        return evaluate(contest, study.played, config, workers, progress)
