"""A study in one folder, in stages; finished parts are kept, interrupted stages resume."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from world4scorer.cube.about import ABOUT, about, digest_of, read_about
from world4scorer.cube.collect import CollectConfig, Groups, collect, read_groups
from world4scorer.cube.episodes import Episodes, make_episodes
from world4scorer.cube.errors import CubeError
from world4scorer.cube.evaluate import EvaluateConfig, EvaluationSetup, Player, Results, evaluate
from world4scorer.cube.model.inverse_dynamics import InverseConfig, train_inverse
from world4scorer.cube.model.train_world_model import WorldModelConfig, read_history, train_world_model
from world4scorer.cube.model.world_model import WEIGHTS as MODEL_WEIGHTS
from world4scorer.cube.presets import PRESETS, Preset
from world4scorer.cube.train_head import DESCRIPTION, HeadConfig, read_head_report, save_head, train_head
from world4scorer.cube.tune import TunedWeight, read_tuned, tune
from world4scorer.cube.windows import evaluated_episodes
from world4scorer.jobs.executors import Workers
from world4scorer.jobs.files import read_json, write_json
from world4scorer.jobs.resumable import resumable, short_lock

STAGES: Final = "stages.json"
WHAT: Final = "study of the cube"


@dataclass(frozen=True)
class Study:
    """A study: its sizes, and where its parts are."""

    folder: Path
    name: str
    """Name of the preset."""
    preset: Preset

    @classmethod
    def begin(cls, folder: Path, preset: str, **changed: Any) -> Study:
        """Begin a study of a preset with `changed` episodes, or resume it; raises CubeError if there is another."""
        if (folder / ABOUT).exists():
            begun = cls.open(folder)
            differs = {name: value for name, value in changed.items() if getattr(begun.preset.episodes, name) != value}
            if begun.name != preset or differs:
                raise CubeError(
                    f"{folder} holds a study of the preset {begun.name} with episodes {begun.preset.episodes}: "
                    "give the same options as then, or another folder"
                )
            return begun
        chosen = replace(PRESETS[preset], episodes=replace(PRESETS[preset].episodes, **changed))
        study = cls(folder, preset, chosen)
        if len(study.held_out) == chosen.episodes.expert:
            raise CubeError(
                f"of {chosen.episodes.expert} expert episodes every one has a window that is evaluated or tuned on: "
                "make more of them, something must be left to learn from"
            )
        about(folder, _About(preset, chosen), WHAT).match(CubeError)
        return study

    @classmethod
    def open(cls, folder: Path) -> Study:
        """Open a folder in which a study was begun, with the sizes of then."""
        found = read_about(folder, _About, WHAT, "run `w4s cube data` first")
        return cls(folder, found.name, found.preset)

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
    def path_head(self) -> Path:
        """The head that sees every block."""
        return self.folder / "path-head"

    @property
    def inverse(self) -> Path:
        """The inverse dynamics."""
        return self.folder / "inverse"

    @property
    def tuning(self) -> Path:
        """Windows played to choose weights."""
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

    def contest(self, weight: float = 0.0, path_weight: float = 0.0) -> EvaluationSetup:
        """Setup of an evaluation with weights of outcome scores."""
        return EvaluationSetup(self.episodes, self.model, self.head, weight, self.path_head, path_weight, self.inverse)

    def tuned(self, player: Player = Player.OURS) -> TunedWeight:
        """The weight that was chosen for a player's scores."""
        return read_tuned(self.tuning, self.contest(), player)

    @property
    def stages(self) -> StageLog:
        """Seconds spent so far."""
        return StageLog(self.folder / STAGES)


@dataclass(frozen=True)
class _About:
    name: str
    preset: Preset


class StageLog:
    """Seconds spent in each stage, over all runs that it took."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.seconds = self._read()

    def _read(self) -> dict[str, float]:
        return dict(read_json(self._path, CubeError)["seconds"]) if self._path.exists() else {}

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the length of the block to a stage, even when it is interrupted."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._add(name, time.monotonic() - began)

    def _add(self, name: str, seconds: float) -> None:
        """Read what other stages, which may run at the same time, have added, and add this."""
        with short_lock(self._path.parent, leftovers=(f".{self._path.name}.*.tmp",)):
            self.seconds = self._read()
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds
            write_json(self._path, {"seconds": self.seconds})


def make_data(study: Study, workers: Workers = None, progress: bool = True, official: Episodes | None = None) -> int:
    """Record episodes, or take the expert's from a dataset; returns how many there are."""
    with study.stages.timed("episodes"):
        return make_episodes(study.episodes, study.preset.episodes, workers, progress, official)


def make_world_model(study: Study, config: WorldModelConfig, progress: bool = True) -> dict[str, float]:
    """Train the world model; returns how well it imagines held-out episodes in the end."""
    with study.stages.timed("world model"):
        train_world_model(study.episodes, study.model, config, study.held_out, progress)
    return read_history(study.model)[-1]


def make_groups(study: Study, config: CollectConfig, workers: Workers = None, progress: bool = True) -> Groups:
    """Collect and label candidates."""
    with study.stages.timed("candidates"):
        return collect(study.episodes, study.model, study.groups, config, study.held_out, workers, progress)


def make_head(study: Study, config: HeadConfig, progress: bool = True) -> dict[str, Any]:
    """Train the outcome head or its extension, unless it was trained so on these groups; returns its report."""
    folder = study.path_head if config.sees == "path" else study.head
    groups = read_groups(study.groups)
    made_from = {"groups": digest_of(study.groups / ABOUT), "model": digest_of(study.model / MODEL_WEIGHTS)}
    settings = about(folder, config, "outcome head", **made_from)
    with (
        study.stages.timed("outcome heads"),
        resumable(folder, "training this outcome head", CubeError, settings),
    ):
        if not (folder / DESCRIPTION).exists():
            save_head(train_head(groups, config, progress), config, folder, made_from)
    return read_head_report(folder)


def make_inverse(study: Study, config: InverseConfig, progress: bool = True) -> None:
    """Train the inverse dynamics."""
    with study.stages.timed("inverse dynamics"):
        train_inverse(study.episodes, study.model, study.inverse, config, study.held_out, progress)


def choose_weight(
    study: Study,
    weights: tuple[float, ...],
    player: Player = Player.OURS,
    workers: Workers = None,
    progress: bool = True,
) -> TunedWeight:
    """Choose the weight of a player's outcome scores on the tuning seeds."""
    with study.stages.timed("weights"):
        return tune(study.contest(), study.tuning, study.preset.tuning, weights, player, workers, progress)


def play_all(
    study: Study,
    weight: float,
    path_weight: float,
    config: EvaluateConfig,
    workers: Workers = None,
    progress: bool = True,
) -> Results:
    """Play the windows of the report."""
    with study.stages.timed("evaluation"):
        return evaluate(study.contest(weight, path_weight), study.played, config, workers, progress)
