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
    """Module below `world4scorer.cli`, and after a colon the function; a family has a module only."""
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
        found: Callable[..., int] = getattr(import_module(f"world4scorer.cli.{module}"), name)
        return found

    def members(self) -> Mapping[str, Callable[..., int]]:
        """Verbs of a family by name."""
        found: Mapping[str, Callable[..., int]] = import_module(f"world4scorer.cli.{self.home}").VERBS
        return found

    @property
    def summary(self) -> str:
        """What it does, in one line."""
        return self.about or first_sentence(self.function())


VERBS: Final = (
    Verb("demo", START, "start:demo"),
    Verb("doctor", START, "start:doctor"),
    Verb("completion", START, "start:completion"),
    Verb("city", DATA, "city", "The embedded world: make it, describe it."),
    Verb("check-data", DATA, "data:check_data"),
    Verb("prepare", DATA, "data:prepare"),
    Verb("bank", LEARN, "bank", "Candidate banks: make, describe, import, compare."),
    Verb("targets", LEARN, "learn:targets"),
    Verb("pretrain", LEARN, "learn:pretrain"),
    Verb("probe", LEARN, "learn:probe"),
    Verb("train", LEARN, "learn:train", reads_words=True),
    Verb("pools", JUDGE, "judge:pools"),
    Verb("evaluate", JUDGE, "judge:evaluate"),
    Verb("compare", JUDGE, "judge:compare"),
    Verb("study", JUDGE, "study", "Repeat a study of the paper on a run or its pools."),
    Verb("drive", JUDGE, "judge:drive"),
    Verb("b2d", JUDGE, "b2d", "Bench2Drive: clips, training, the agent, results."),
    Verb("cube", JUDGE, "cube", "OGBench-Cube: outcome scores in a world model's planner."),
    Verb("report", JUDGE, "judge:report"),
    Verb("show", LOOK, "look:show"),
    Verb("film", LOOK, "look:film"),
    Verb("frames", LOOK, "look:frames"),
    Verb("score", ANY_PLANNER, "plans:score"),
    Verb("rerank", ANY_PLANNER, "plans:rerank"),
    Verb("import", PLANNERS, "planners:import_planner"),
    Verb("export", PLANNERS, "planners:export_planner"),
    Verb("profile", PLANNERS, "planners:profile"),
    Verb("serve", PLANNERS, "planners:serve"),
)


def first_sentence(function: Callable[..., Any]) -> str:
    """The first sentence of a docstring's first line."""
    line = (function.__doc__ or "").strip().partition("\n")[0]
    sentence = line.partition(". ")[0]
    return sentence if sentence.endswith(".") else f"{sentence}."
