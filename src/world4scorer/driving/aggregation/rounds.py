"""One round of aggregation: drive, record, prepare, fine-tune, measure. Each step resumes by itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from world4scorer.city.world.global_plan import city_routes
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.fill_store import prepare
from world4scorer.datasets.prepare.source import NavsimSource
from world4scorer.driving.aggregation.config import AggregateConfig
from world4scorer.driving.closed_loop.drive_config import DriveConfig, DriveError
from world4scorer.driving.closed_loop.drive_log import DriveLogWriter
from world4scorer.driving.closed_loop.driver_spec import DriverSpec
from world4scorer.driving.closed_loop.run import drive_all
from world4scorer.driving.closed_loop.suites import find_suite
from world4scorer.driving.results.comparison import NAME, compare_drivers
from world4scorer.evaluation.pools.pool_files import digest_of_planner
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import Executor
from world4scorer.jobs.files import read_json
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.bank import make_bank
from world4scorer.planner.bank.candidate_bank import is_finished
from world4scorer.planner.targets.future_targets import FutureTargets
from world4scorer.planner.targets.make_targets import make_targets, target_notes, targets_finished
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.rollouts import RolloutData
from world4scorer.planner.training.run import Machine
from world4scorer.planner.training.run_files import read_history, read_run
from world4scorer.planner.training.train_folder import train_within

VALIDATION_SCORE: Final = "val/score"
"""Mean PDMS of the selected plans, in the history of a run."""
DIGEST_LENGTH: Final = 8


@dataclass(frozen=True)
class RoundResult:
    """How a planner drives after a round; round 0 is the planner before."""

    number: int
    planner: str
    """Folder of the planner."""
    own_scenes: int
    """Scenes of all rounds so far that the planner drove into."""
    driving_score: dict[str, float | None]
    """0 to 1, with its interval: value, low, high."""
    success_rate: dict[str, float | None]
    ended_early: dict[str, float | None]
    """Share of drives that ended blocked or off the route."""
    speeds: dict[str, float] | None
    pdms: float | None
    """Mean PDMS of the selected plans on the validation logs; None if the run did not validate."""

    @property
    def score(self) -> float:
        """Driving Score, 0 to 100."""
        return 100 * (self.driving_score["value"] or 0.0)


@dataclass(frozen=True)
class Aggregation:
    """The rounds of one aggregation: where they lie, and what they do."""

    run: Path
    """Training run of the planner to begin with."""
    out: Path
    config: AggregateConfig
    executor: Executor
    machine: Machine
    show: bool = False

    def folder(self, number: int) -> Path:
        """Folder of a round."""
        return self.out / f"round_{number}"

    def planner(self, number: int) -> Path:
        """Folder of the planner after a round."""
        return RunFolder(self.run).finished_planner() if number == 0 else RunFolder(self._run(number)).planner

    def _run(self, number: int) -> Path:
        return self.folder(number) / "run"

    def describe(self) -> dict[str, Any]:
        """Everything that the rounds depend on."""
        config = asdict(self.config)
        del config["rounds"]  # more rounds can be added later
        return {"weights": digest_of_planner(self.planner(0)), "config": config}

    def split(self, number: int) -> str:
        """Split of the drives of a round; other settings have other names, for all lie in one dataset."""
        digest = hashlib.sha256(json.dumps(self.describe(), sort_keys=True).encode()).hexdigest()
        return f"own_{digest[:DIGEST_LENGTH]}_{number}"

    def drive(self, number: int) -> RolloutData:
        """Drive the planner of the round before on training streets, and prepare what it got into."""
        config, (_, data) = self.config, read_run(self.run)
        split, layout = self.split(number), DataFolder(data.data)
        disturbance = config.disturbance and replace(config.disturbance, seed=config.seed + number)
        plan = DriveConfig(
            data.data,
            data.split,
            config.routes,
            seed=config.seed + number,
            planner=self.planner(number - 1),
            rules=config.rules,
            disturbance=disturbance,
            simulations=config.simulations,
        )
        logs = DriveLogWriter(data.data, split, config.thinning)
        choices = [DriverSpec.parse(config.driver)]
        drive_all(plan, choices, self.folder(number) / "rollouts", self.executor, self.show, logs)
        source = NavsimSource(data.data, find_split(split, data.data), routes=city_routes(data.data))
        prepare(source, layout.store(split), self.executor, show_progress=self.show)
        return self.supervise(number)

    def supervise(self, number: int) -> RolloutData:
        """Bank and targets of the prepared drives of a round, where the run has them; finished ones are kept."""
        split, (_, data) = self.split(number), read_run(self.run)
        layout = DataFolder(data.data)
        store, bank, targets = layout.store(split), None, None
        if data.bank is not None:
            bank = layout.bank(split)
            if not is_finished(bank):
                make_bank(store, bank, None, self.executor, show_progress=self.show)
        if data.targets is not None:
            notes = FutureTargets.open(data.targets).notes
            encoder = self.config.target_encoder
            if notes.encoder and target_notes(split, encoder, notes.frame, notes.pooling).encoder != notes.encoder:
                raise DriveError(
                    f"target encoder {encoder!r}: the targets of the run, {data.targets}, were made with another"
                )
            targets = layout.targets(split, notes.frame)
            if not targets_finished(targets):
                make_targets(
                    data.data,
                    split,
                    encoder,
                    targets,
                    frame=notes.frame,
                    pooling=notes.pooling,
                    store=store,
                    executor=self.executor,
                    show_progress=self.show,
                )
        return RolloutData(data.data, split, store, bank, targets, self.config.imitation)

    def train(self, number: int, rollouts: Sequence[RolloutData]) -> Path:
        """Fine-tune the planner of the round before on the logs and all own scenes so far, also those of the run."""
        base, data = read_run(self.run)
        data = replace(data, rollouts=(*data.rollouts, *rollouts))
        return train_within(self.train_config(base, number), data, self._run(number), self.machine)

    def train_config(self, base: TrainConfig, number: int) -> TrainConfig:
        """Configuration of a round's fine-tuning: that of the run, from the last weights, with a lower rate."""
        config = self.config
        return replace(
            base,
            model=replace(base.model, ego_numbers=config.ego_numbers or base.model.ego_numbers),
            optimiser=replace(base.optimiser, learning_rate=config.learning_rate),
            epochs=config.epochs,
            scenes=config.scenes or base.scenes,
            seed=base.seed + number,
            from_planner=str(self.planner(number - 1).resolve()),
        )

    def measure(self, number: int, own_scenes: int) -> RoundResult:
        """Drive the planner of a round on validation streets, undisturbed."""
        config, (_, data) = self.config, read_run(self.run)
        plan = DriveConfig(
            data.val_data or data.data,
            data.val_split,
            config.evaluation_routes,
            planner=self.planner(number),
            rules=config.rules,
        )
        if config.suite:
            suite = find_suite(config.suite)
            plan = replace(plan, suite=suite.name, split=suite.config.shares[0].split, routes=suite.count)
        choice = DriverSpec.parse(config.driver)
        out = RunFolder(self.folder(number)).evaluation
        finding = compare_drivers(drive_all(plan, [choice], out, self.executor, self.show))
        finding.save(out, f"w4s aggregate {self.run.name}")
        numbers = read_json(out / f"{NAME}.json", DriveError)["numbers"]
        found, ends = numbers["drivers"][choice.name], numbers["ends"][choice.name]
        return RoundResult(
            number=number,
            planner=str(self.planner(number)),
            own_scenes=own_scenes,
            driving_score=found["driving_score"],
            success_rate=found["success_rate"],
            ended_early=ends["either"],
            speeds=numbers["speeds"][choice.name],
            pdms=self._validation_score(number),
        )

    def _validation_score(self, number: int) -> float | None:
        run = self.run if number == 0 else self._run(number)
        if not RunFolder(run).history_file.is_file():
            return None
        scores = [entry[VALIDATION_SCORE] for entry in read_history(run) if VALIDATION_SCORE in entry]
        return scores[-1] if scores else None
