"""Which stages are finished, in a file: a demonstration that was stopped goes on, and repeats nothing.

A stage is finished if it ended well, by the same command and version, and what it made is still there. When it is begun
again, whatever reads its results counts as open too.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from world4scorer import __version__
from world4scorer.demo.stages import Stage
from world4scorer.scene.files import atomic_write

FILE: Final = "stages.json"


def command_of(stage: Stage) -> str:
    """The command line, to be read or typed."""
    return shlex.join(("w4s", *stage.words))


class Ledger:
    """The finished stages of a folder, and how long they took."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._done: dict[str, dict[str, object]] = {}
        if self.path.is_file():
            try:
                content = json.loads(self.path.read_bytes())
                if content["world4scorer"] == __version__:
                    self._done = {name: dict(entry) for name, entry in content["stages"].items()}
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ValueError(
                    f"{self.path}: damaged ({error}); delete it, finished stages are quick to repeat"
                ) from error

    def is_finished(self, stage: Stage) -> bool:
        """Whether there is nothing to do."""
        entry = self._done.get(stage.name)
        return entry is not None and entry.get("command") == command_of(stage) and stage.made.exists()

    def begin(self, stage: Stage, stages: Sequence[Stage]) -> None:
        """Forget a stage, and those that read what it makes."""
        open_names = {stage.name}
        for later in stages:  # each comes after those that it needs
            if open_names.intersection(later.needs):
                open_names.add(later.name)
        if open_names.intersection(self._done):
            self._done = {name: entry for name, entry in self._done.items() if name not in open_names}
            self._write()

    def finish(self, stage: Stage, seconds: float) -> None:
        """Note a stage that ended well."""
        self._done[stage.name] = {"command": command_of(stage), "seconds": round(seconds, 1)}
        self._write()

    def seconds(self, stage: Stage) -> float | None:
        """How long it took; None for a stage that is not finished."""
        value = self._done.get(stage.name, {}).get("seconds")
        return float(value) if isinstance(value, int | float) else None

    def _write(self) -> None:
        content = {"world4scorer": __version__, "stages": self._done}
        with atomic_write(self.path) as stream:
            stream.write((json.dumps(content, indent=1) + "\n").encode())
