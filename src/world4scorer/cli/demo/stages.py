"""The stages of the demo in order; each is a `w4s` command.

Where things go, below OUT:

    city/         the dataset, with store/, bank/ and targets/ inside
    run/          the training run: planner, pools, evaluation, studies, film, explorer.html, report.html
    agents.csv    drivers without a model, on the same scenes

`ready_stages` has those of `w4s demo --ready`, which trains nothing.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from world4scorer.datasets.store.index import INDEX_NAME
from world4scorer.evaluation.pools.pool_files import INFO
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.bank.candidate_bank import TOKENS

Preset = Literal["quick", "tiny", "ready"]
"""City and training of the demo; `ready` takes the bundled planner."""

TRAIN: Final = "city_train"
VAL: Final = "city_val"
STUDIES: Final = {
    "reranking": "what inertial re-ranking changes",
    "interventions": "do choices come from the plans' own states?",
    "taxonomy": "why consecutive choices do not continue each other",
    "disagreement": "where NAVSIM v1 and v2 want different plans",
    "lambda": "how much consistency should count",
}
"""Those that train nothing, and what each asks."""
LAST: Final = ("--weights", "last")
"""The last planner: results are of the validation split, which must not choose what is reported on it."""
OUT: Final = "OUT"
"""Placeholder of the demo folder."""


@dataclass(frozen=True)
class Stage:
    """A command, what it is for, and how one sees that it was run. Paths begin with OUT."""

    name: str
    title: str
    words: tuple[str, ...]
    """After `w4s`."""
    made: Path
    """There when the stage is finished, and written last."""
    needs: tuple[str, ...]
    """Stages whose results it reads; they come before it."""
    seconds: float
    """On two cores, for the first estimate."""

    @property
    def command(self) -> str:
        """The command line, with OUT for the folder."""
        return shlex.join(("w4s", *self.words))

    def at(self, out: Path) -> Stage:
        """The stage with a folder in the place of OUT."""

        def moved(path: str) -> str:
            first, *rest = Path(path).parts or ("",)
            return str(out.joinpath(*rest)) if first == OUT else path

        return replace(self, words=tuple(moved(word) for word in self.words), made=Path(moved(str(self.made))))


@dataclass(frozen=True)
class DemoFolder:
    """Paths of the demo."""

    out: Path
    subject: str = "run"
    """Folder of what is judged: a training run, or pools."""

    @property
    def city(self) -> DataFolder:
        """The dataset."""
        return DataFolder(self.out / "city")

    @property
    def run(self) -> RunFolder:
        """The training run, or the folder of pools, which keeps its results under the same names."""
        return RunFolder(self.out / self.subject)

    @property
    def agents(self) -> Path:
        """The table of drivers without a model."""
        return self.out / "agents.csv"


def stages(preset: Preset = "quick") -> tuple[Stage, ...]:
    """All stages, each after those that it needs."""
    demo = DemoFolder(Path(OUT))
    return (*_data(demo, preset), _training(demo, preset), *_judging(demo, preset), *_looking(demo, preset))


def _data(demo: DemoFolder, preset: Preset) -> tuple[Stage, ...]:
    city, data = demo.city, ("--data", str(demo.city.root), "--split")
    train = city.store(TRAIN)
    bank, targets = city.bank(TRAIN), city.targets(TRAIN, "future")
    return (
        Stage(
            "city",
            "streets, traffic, four cameras: a dataset in NAVSIM's layout",
            ("city", "make", "--preset", preset, "--out", str(city.root)),
            city.city_manifest,
            (),
            230 if preset == "quick" else 20,
        ),
        Stage(
            "prepare train",
            "scenes to learn from, ready for scoring",
            ("prepare", *data, TRAIN, "--store", str(train)),
            train / INDEX_NAME,
            ("city",),
            60 if preset == "quick" else 15,
        ),
        prepare_val_stage(demo),
        Stage(
            "bank",
            "bad plans for every scene, with their outcomes",
            ("bank", "make", "--store", str(train), "--out", str(bank)),
            bank / TOKENS,
            ("prepare train",),
            25 if preset == "quick" else 4,
        ),
        Stage(
            "targets",
            "what the front camera sees two seconds later, as features",
            ("targets", *data, TRAIN, "--store", str(train), "--encoder", "city", "--out", str(targets)),
            targets,
            ("prepare train",),
            25 if preset == "quick" else 8,
        ),
    )


def _training(demo: DemoFolder, preset: Preset) -> Stage:
    data, run = str(demo.city.root), str(demo.run.root)
    words: tuple[str, ...] = ("train", "--preset", "city", "--data", data, "--out", run, "--devices", "2")
    words += ("--epochs", "4") if preset == "quick" else ("--epochs", "1", "--batch", "8")
    return Stage(
        "train",
        "what the frozen encoder sees, once; then generator, predictor, score heads, readout",
        words,
        ModelFolder(demo.run.planner).weights_file,
        ("prepare val", "bank", "targets"),
        380 if preset == "quick" else 20,
    )


def agents_stage(demo: DemoFolder) -> Stage:
    """Drivers that need no model, on the scenes of the planner."""
    agents = ("--agents", "human", "constant-velocity", "stationary")
    return Stage(
        "agents",
        "the expert, constant velocity, standing still",
        ("evaluate", *agents, "--store", str(demo.city.store(VAL)), "--out", str(demo.agents)),
        demo.agents.with_suffix(".json"),
        ("prepare val",),
        4,
    )


def prepare_val_stage(demo: DemoFolder) -> Stage:
    """Scenes that planners and agents are judged on."""
    store = demo.city.store(VAL)
    return Stage(
        "prepare val",
        "scenes to be judged on",
        ("prepare", "--data", str(demo.city.root), "--split", VAL, "--store", str(store)),
        store / INDEX_NAME,
        ("city",),
        4,
    )


def _judging(demo: DemoFolder, preset: Preset) -> tuple[Stage, ...]:
    run = str(demo.run.root)
    return (
        Stage(
            "pools",
            "64 plans for every scene, with scores and states",
            ("pools", run, *LAST),
            demo.run.pools(VAL) / INFO,
            ("train",),
            15 if preset == "quick" else 7,
        ),
        agents_stage(demo),
        Stage(
            "evaluate",
            "PDMS v1.1, EPDMS v2.2, framewise and re-ranked",
            ("evaluate", run, *LAST, "--out", str(demo.run.evaluation)),
            demo.run.evaluation_file,
            ("pools",),
            12 if preset == "quick" else 7,
        ),
        *(
            Stage(
                f"study {study}",
                title,
                ("study", study, run, *LAST, "--out", str(demo.run.studies)),
                demo.run.study_file(study),
                ("pools",),
                15 if preset == "quick" else 8,
            )
            for study, title in STUDIES.items()
        ),
    )


def _looking(demo: DemoFolder, preset: Preset) -> tuple[Stage, ...]:
    run = str(demo.run.root)
    judged = ("evaluate", *(f"study {study}" for study in STUDIES), "explorer")
    return (
        Stage(
            "explorer",
            "every frame with its 64 plans in one page for the browser",
            ("explore", run, *LAST, "--out", str(demo.run.explorer_file)),
            demo.run.explorer_file,
            ("pools",),
            20 if preset == "quick" else 4,
        ),
        Stage(
            "film",
            "a drive: cameras, plans and choices from above",
            ("film", run, *LAST, "--duration", "12", "--out", str(demo.run.film_file)),
            demo.run.film_file,
            ("pools",),
            20 if preset == "quick" else 10,
        ),
        Stage("report", "everything on one page", ("report", run, *LAST), demo.run.report_file, judged, 10),
    )
