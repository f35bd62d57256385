"""The commands of `w4s`, by group. To add one, write a function and a line here.

A command is a function with annotated parameters, which tyro turns into flags; its docstring is its help, the first
sentence its line in the overview. A module with subcommands lists them in a dict, `SUBCOMMANDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

START, DATA, LEARN, JUDGE, LOOK = "Start", "Data", "Learn", "Judge", "Look"
ANY_PLANNER, PLANNERS = "With plans of any planner", "Planners"


@dataclass(frozen=True)
class Command:
    """A command, or a module of subcommands."""

    name: str
    group: str
    home: str
    """Module below `world4scorer.cli`, and after a colon the function; with subcommands, the module only."""
    about: str = ""
    """Line in the overview, for modules of subcommands, which the overview does not import."""
    reads_words: bool = False
    """Whether the function parses the words after the command itself."""

    @property
    def has_subcommands(self) -> bool:
        """Whether it is a module of subcommands."""
        return ":" not in self.home

    def function(self) -> Callable[..., int]:
        """The function that runs it."""
        module, _, name = self.home.partition(":")
        found: Callable[..., int] = getattr(import_module(f"world4scorer.cli.{module}"), name)
        return found

    def subcommands(self) -> Mapping[str, Callable[..., int]]:
        """Subcommands by name."""
        found: Mapping[str, Callable[..., int]] = import_module(f"world4scorer.cli.{self.home}").SUBCOMMANDS
        return found

    @property
    def summary(self) -> str:
        """One line about it."""
        return self.about or first_sentence(self.function())


COMMANDS: Final = (
    Command("demo", START, "start:demo"),
    Command("doctor", START, "start:doctor"),
    Command("completion", START, "start:completion"),
    Command("city", DATA, "city", "The embedded world: make it, describe it, render labels."),
    Command("check-data", DATA, "data:check_data"),
    Command("split", DATA, "data:split"),
    Command("prepare", DATA, "data:prepare"),
    Command("bank", LEARN, "bank", "Candidate banks: make, describe, import, compare."),
    Command("targets", LEARN, "learn:targets"),
    Command("pretrain", LEARN, "learn:pretrain", reads_words=True),
    Command("probe", LEARN, "learn:probe"),
    Command("train", LEARN, "learn:train", reads_words=True),
    Command("diagram", LEARN, "learn:diagram"),
    Command("aggregate", LEARN, "drive:aggregate"),
    Command("pools", JUDGE, "judge:pools"),
    Command("evaluate", JUDGE, "judge:evaluate"),
    Command("submit", JUDGE, "plans:submit"),
    Command("which", JUDGE, "plans:which"),
    Command("compare", JUDGE, "judge:compare"),
    Command("study", JUDGE, "study.subcommands", "Repeat a study of the paper on a run or its pools."),
    Command("drive", JUDGE, "drive:drive"),
    Command("compare-drives", JUDGE, "drive:compare_drives"),
    Command("b2d", JUDGE, "b2d.subcommands", "Bench2Drive: clips, training, the agent, results."),
    Command("cube", JUDGE, "cube", "OGBench-Cube: outcome scores in a world model's planner."),
    Command("report", JUDGE, "judge:report"),
    Command("show", LOOK, "look:show"),
    Command("film", LOOK, "look:film"),
    Command("explore", LOOK, "look:explore"),
    Command("frames", LOOK, "look:frames"),
    Command("score", ANY_PLANNER, "plans:score"),
    Command("rerank", ANY_PLANNER, "plans:rerank"),
    Command("import", PLANNERS, "planners:import_planner"),
    Command("export", PLANNERS, "planners:export_planner"),
    Command("profile", PLANNERS, "planners:profile"),
    Command("serve", PLANNERS, "planners:serve"),
)


def first_sentence(function: Callable[..., Any]) -> str:
    """The first sentence of a docstring's first line."""
    line = (function.__doc__ or "").strip().partition("\n")[0]
    sentence = line.partition(". ")[0]
    return sentence if sentence.endswith(".") else f"{sentence}."
