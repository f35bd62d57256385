"""The verbs of `w4s`, by what one wants. To add one, write a function and a line here.

A verb is a function with annotated parameters, of which tyro makes the command line; its docstring is its help, the
first sentence its line in the overview. A family is a module with a dict of verbs, `VERBS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

START, DATA, LEARN, JUDGE, LOOK = "Start", "Data", "Learn", "Judge", "Look"
ANY_PLANNER, PLANNERS = "With plans of any planner", "Planners"


@dataclass(frozen=True)
class Verb:
    """A verb, or a family of verbs."""

    name: str
    group: str
    home: str
    """Module below `world4scorer`, and after a colon the function; a family has a module only."""
    about: str = ""
    """Of a family: its line in the overview, which should not have to load it."""
    reads_words: bool = False
    """Whether the function takes the words after the verb and reads them itself."""

    @property
    def is_family(self) -> bool:
        """Whether verbs of its own follow."""
        return ":" not in self.home

    def function(self) -> Callable[..., int]:
        """The function that does it."""
        module, _, name = self.home.partition(":")
        found: Callable[..., int] = getattr(import_module(f"world4scorer.{module}"), name)
        return found

    def members(self) -> Mapping[str, Callable[..., int]]:
        """Verbs of a family by name."""
        found: Mapping[str, Callable[..., int]] = import_module(f"world4scorer.{self.home}").VERBS
        return found

    @property
    def summary(self) -> str:
        """What it does, in one line."""
        return self.about or first_sentence(self.function())


VERBS: Final = (
    Verb("demo", START, "commands.demonstrating:demo"),
    Verb("doctor", START, "commands.data:doctor"),
    Verb("completion", START, "commands.completion:completion"),
    Verb("city", DATA, "city.verbs", "The embedded world: make it, describe it."),
    Verb("check-data", DATA, "commands.data:check_data"),
    Verb("prepare", DATA, "commands.data:prepare"),
    Verb("bank", LEARN, "bank.verbs", "Candidate banks: make, describe, import, compare."),
    Verb("targets", LEARN, "commands.learning:targets"),
    Verb("pretrain", LEARN, "commands.learning:pretrain"),
    Verb("probe", LEARN, "commands.learning:probe"),
    Verb("train", LEARN, "commands.learning:train", reads_words=True),
    Verb("pools", JUDGE, "commands.evaluating:pools"),
    Verb("evaluate", JUDGE, "commands.evaluating:evaluate"),
    Verb("compare", JUDGE, "commands.learning:compare"),
    Verb("study", JUDGE, "studies.verbs", "Repeat a study of the paper on a run or its pools."),
    Verb("drive", JUDGE, "commands.driving:drive"),
    Verb("b2d", JUDGE, "bench2drive.verbs", "Bench2Drive: clips, training, the agent, results."),
    Verb("cube", JUDGE, "cube.verbs", "OGBench-Cube: outcome scores in a world model's planner."),
    Verb("report", JUDGE, "commands.reporting:report"),
    Verb("show", LOOK, "commands.drawing:show"),
    Verb("film", LOOK, "commands.drawing:film"),
    Verb("frames", LOOK, "commands.drawing:frames"),
    Verb("score", ANY_PLANNER, "commands.scoring:score"),
    Verb("rerank", ANY_PLANNER, "commands.scoring:rerank"),
    Verb("import", PLANNERS, "commands.learning:import_planner"),
    Verb("export", PLANNERS, "commands.learning:export_planner"),
    Verb("profile", PLANNERS, "commands.learning:profile"),
    Verb("serve", PLANNERS, "serving.verbs:serve"),
)


def first_sentence(function: Callable[..., Any]) -> str:
    """The first sentence of a docstring's first line."""
    line = (function.__doc__ or "").strip().partition("\n")[0]
    sentence = line.partition(". ")[0]
    return sentence if sentence.endswith(".") else f"{sentence}."
