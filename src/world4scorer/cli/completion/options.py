"""What can follow each command: flags, and what their values are."""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import tyro

from world4scorer.cli.arguments import FOLDER
from world4scorer.cli.command_table import COMMANDS, Command, first_sentence

Kind = Literal["none", "text", "choice", "folder", "path"]
PATH_LIKE: Final = ("FILE", "PATH", "FOLDER", "SPLIT", "LOG")
"""What names of arguments contain if files are worth offering; a split may be a YAML file."""


@dataclass(frozen=True)
class Option:
    """A flag, or with an empty one what is given by its place."""

    flag: str
    kind: Kind = "text"
    """Of its values; `none` if it takes none."""
    choices: tuple[str, ...] = ()
    many: bool = False
    """Whether several values may follow."""


@dataclass(frozen=True)
class Completed:
    """A command, two words for a subcommand, and what can follow it."""

    name: str
    summary: str
    options: tuple[Option, ...]
    has_subcommands: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        """All flags."""
        return (*(option.flag for option in self.options if option.flag), "--help")

    @property
    def given(self) -> Option:
        """What is given by its place."""
        return next((option for option in self.options if not option.flag), Option("", "text"))


def all_commands() -> list[Completed]:
    """Every command, followed by its subcommands."""
    return [completed for command in COMMANDS for completed in _completed(command)]


def _completed(command: Command) -> Iterator[Completed]:
    if not command.has_subcommands:
        yield Completed(command.name, command.summary, _options_of_command(command))
        return
    subcommands = command.subcommands()
    yield Completed(command.name, command.summary, (), has_subcommands=True)
    for name, function in subcommands.items():
        yield Completed(f"{command.name} {name}", first_sentence(function), options_of(function))


def _options_of_command(command: Command) -> tuple[Option, ...]:
    if not command.reads_words:
        return options_of(command.function())
    if command.name == "pretrain":
        from world4scorer.cli.pretrain_options import COMMANDS as RECIPES

        return tuple(dict.fromkeys(option for recipe in RECIPES.values() for option in options_of(recipe)))
    try:
        from world4scorer.cli.train_options import TrainCommand
    except ModuleNotFoundError:  # without the extra `train`
        return ()
    return options_of(TrainCommand, both_ways=True)


def options_of(source: Callable[..., Any], both_ways: bool = False) -> tuple[Option, ...]:
    """Options of a function's parameters or of a dataclass's fields, as tyro names them.

    Args:
        source: Function or dataclass.
        both_ways: Whether flags that are on or off exist as `--x` and `--no-x`, whatever the default.
    """
    return tuple(_read(source, "", both_ways))


def _read(source: Callable[..., Any], prefix: str, both_ways: bool) -> Iterator[Option]:
    hints = get_type_hints(source, include_extras=True)
    for name, default in _defaults(source).items():
        annotated, notes = _strip(hints[name])
        config = next((note for note in notes if hasattr(note, "metavar")), None)
        if dataclasses.is_dataclass(annotated):
            own = name if config is None or config.name is None else config.name
            if config is not None and config.constructor_factory is not None:
                annotated = config.constructor_factory()
            yield from _read(annotated, f"{prefix}{own}." if own else prefix, both_ways)
            continue
        flag = "" if tyro.conf.Positional in notes else f"--{prefix}{name}".replace("_", "-")
        if annotated is bool:
            yield from _switch(flag, bool(default), both_ways)
        else:
            yield _valued(flag, annotated, getattr(config, "metavar", None) or "")


def _defaults(source: Callable[..., Any]) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in inspect.signature(source).parameters.items()}


def _switch(flag: str, default: bool, both_ways: bool) -> Iterator[Option]:
    prefix, _, last = flag[2:].rpartition(".")
    off = f"--{prefix}.no-{last}" if prefix else f"--no-{last}"
    if both_ways or not default:
        yield Option(flag, "none")
    if both_ways or default:
        yield Option(off, "none")


def _valued(flag: str, annotated: Any, name: str) -> Option:
    inner, many = _element(annotated)
    if get_origin(inner) is Literal:
        return Option(flag, "choice", tuple(map(str, get_args(inner))), many)
    if name == FOLDER:
        return Option(flag, "folder", many=many)
    if inner is Path or any(kind in name for kind in PATH_LIKE):
        return Option(flag, "path", many=many)
    return Option(flag, many=many)


def _element(annotated: Any) -> tuple[Any, bool]:
    """The type of one value, and whether there may be several."""
    if get_origin(annotated) in (Union, types.UnionType):
        annotated = next(one for one in get_args(annotated) if one is not types.NoneType)
    if get_origin(annotated) is tuple:
        return get_args(annotated)[0], True
    return annotated, False


def _strip(annotated: Any) -> tuple[Any, tuple[Any, ...]]:
    if get_origin(annotated) is Annotated:
        return annotated.__origin__, annotated.__metadata__
    return annotated, ()
