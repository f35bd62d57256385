"""The file of finished stages: an interrupted demo resumes and repeats nothing.

A stage is finished if it ended well, by the same command and version, and what it made is still there. When it is made
again, whatever reads its results counts as open too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from world4scorer import __version__
from world4scorer.cli.demo.stages import Preset, Stage
from world4scorer.jobs.files import read_json, write_json

FILE: Final = "stages.json"


class Ledger:
    """The finished stages of a folder, and how long each took, stops included."""

    def __init__(self, folder: Path, preset: Preset) -> None:
        self.folder, self.preset = folder, preset
        self._done: dict[str, dict[str, Any]] = {}
        self._begun: dict[str, float] = {}
        """Seconds spent on stages that were stopped."""
        if self.path.is_file():
            self._read()

    @property
    def path(self) -> Path:
        """Where it is kept."""
        return self.folder / FILE

    def is_finished(self, stage: Stage) -> bool:
        """Whether there is nothing to do."""
        entry = self._done.get(stage.name)
        return entry is not None and entry["command"] == stage.command and stage.at(self.folder).made.exists()

    def begin(self, stage: Stage) -> None:
        """Note that a stage is under way: whatever it leaves if it is killed does not count."""
        if self._done.pop(stage.name, None) is not None:
            self._write()

    def stop(self, stage: Stage, seconds: float) -> None:
        """Note how long a stage ran that did not end well."""
        self._begun[stage.name] = self._begun.get(stage.name, 0.0) + seconds
        self._write()

    def finish(self, stage: Stage, seconds: float, stages: Sequence[Stage]) -> None:
        """Note a stage that ended well; those that read what it made are open again."""
        stale = {stage.name}
        for later in stages:  # each comes after those that it needs
            if stale.intersection(later.needs):
                stale.add(later.name)
        self._done = {name: entry for name, entry in self._done.items() if name not in stale}
        whole = seconds + self._begun.pop(stage.name, 0.0)
        self._done[stage.name] = {"command": stage.command, "seconds": round(whole, 1)}
        self._write()

    def seconds(self, stage: Stage) -> float | None:
        """How long a finished stage took; None for others."""
        entry = self._done.get(stage.name)
        return None if entry is None else float(entry["seconds"])

    def _read(self) -> None:
        try:
            content = read_json(self.path, remedy="delete it; finished work is kept")
            version, preset = content["world4scorer"], content["preset"]
            done = {
                name: {"command": str(e["command"]), "seconds": float(e["seconds"])}
                for name, e in content["stages"].items()
            }
            begun = {name: float(seconds) for name, seconds in content["begun"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{self.path}: damaged ({error!r}); delete it; finished work is kept") from error
        if preset != self.preset:
            raise ValueError(f"{self.folder}: contains the demo `{preset}`; choose another --out, or delete it")
        if version == __version__:
            self._done, self._begun = done, begun

    def _write(self) -> None:
        content = {"world4scorer": __version__, "preset": self.preset, "stages": self._done, "begun": self._begun}
        write_json(self.path, content)
