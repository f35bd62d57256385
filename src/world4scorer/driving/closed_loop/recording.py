"""Full recording of a drive, for films: ego and agents every 0.1 s, decisions every 0.5 s; saved as .npz.

Shapes: R rows, 0.1 s apart; A agents; D decisions; N plans of each.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.world.trace import Trace
from world4scorer.driving.closed_loop.infraction_monitor import InfractionEvent
from world4scorer.driving.closed_loop.observation import Decision
from world4scorer.evaluation.leaderboard.infractions import Infraction
from world4scorer.jobs.files import atomic_write

FORMAT: Final = "world4scorer-drive-1"

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DriveRecording:
    """Recording of one drive."""

    route: str
    driver: str
    scenario: str
    network: str
    """Name of the street network."""
    status: str
    score: float
    """Composed score [%]."""
    points: Floats
    """(n, 2) route, global [m]."""
    states: Floats
    """(R, 11) ego states, columns of `State`."""
    tokens: tuple[str, ...]
    """A names."""
    types: NDArray[np.int8]
    """(A,) codes of `TrackType`."""
    sizes: Floats
    """(A, 2) length, width [m]."""
    poses: Floats
    """(A, R, 3) box centres, global; zeros where absent."""
    there: NDArray[np.bool_]
    """(A, R) whether an agent is present"""
    signals: tuple[Mapping[str, str], ...]
    """State strings of all signals, R times."""
    decided: NDArray[np.int64]
    """(D,) rows of the decisions."""
    plans: NDArray[np.float32]
    """(D, N, 8, 3) in ego axes; N is 1 for drivers without a pool."""
    utility: Floats
    """(D, N)"""
    chosen: NDArray[np.int64]
    """(D,)"""
    commands: NDArray[np.int64]
    """(D,) index into left, forward, right, unknown."""
    images: tuple[Mapping[str, bytes], ...]
    """JPEG files by camera, D times; empty where nothing was rendered."""
    infractions: tuple[InfractionEvent, ...]

    def save(self, path: Path) -> None:
        """Write the file, all or nothing."""
        names = list(dict.fromkeys(name for files in self.images for name in files))
        blobs = [files.get(name, b"") for files in self.images for name in names]
        about = {
            "format": FORMAT,
            **{name: getattr(self, name) for name in _TEXT_FIELDS},
            "score": self.score,
            "signals": _changes(self.signals),
            "rows": len(self.signals),
            "cameras": names,
            "offences": [[one.kind, one.time, one.place, one.message] for one in self.infractions],
        }
        arrays = {name: getattr(self, name) for name in _ARRAY_FIELDS}
        with atomic_write(path) as stream:
            np.savez_compressed(
                stream,
                about=np.frombuffer(json.dumps(about).encode(), np.uint8),
                tokens=np.array(self.tokens, np.str_),
                image_ends=np.cumsum([len(blob) for blob in blobs], dtype=np.int64),
                image_bytes=np.frombuffer(b"".join(blobs), np.uint8),
                **arrays,
            )

    @classmethod
    def load(cls, path: Path) -> DriveRecording:
        """Read a file."""
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
                content = {name: file[name] for name in file.files}
            about = json.loads(content["about"].tobytes())
            if about["format"] != FORMAT:
                raise ValueError(f"format {about['format']!r}")
            names = about["cameras"]
            ends = content["image_ends"]
            data = content["image_bytes"].tobytes()
            blobs = [data[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)] if len(ends) else []
            decisions = len(content["decided"])
            images = tuple(
                {name: blob for name, blob in zip(names, blobs[row * len(names) :], strict=False) if blob}
                for row in range(decisions)
            )
            infractions = (
                InfractionEvent(Infraction(kind), time, tuple(place), message)
                for kind, time, place, message in about["offences"]
            )
            return cls(
                **{name: about[name] for name in _TEXT_FIELDS},
                score=about["score"],
                tokens=tuple(content["tokens"].tolist()),
                signals=_expand_changes(about["signals"], about["rows"]),
                images=images,
                infractions=tuple(infractions),
                **{name: content[name] for name in _ARRAY_FIELDS},
            )
        except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path}: not a recording of a drive ({error}); drive the route again") from error


_TEXT_FIELDS: Final = ("route", "driver", "scenario", "network", "status")
_ARRAY_FIELDS: Final = (
    "points", "states", "types", "sizes", "poses", "there", "decided", "plans", "utility", "chosen", "commands",
)  # fmt: skip


def _changes(signals: Sequence[Mapping[str, str]]) -> list[tuple[int, str, str]]:
    """Row, signal and new state text, wherever one changes."""
    changes: list[tuple[int, str, str]] = []
    before: Mapping[str, str] = {}
    for row, states in enumerate(signals):
        changes += [(row, name, state) for name, state in states.items() if before.get(name) != state]
        before = states
    return changes


def _expand_changes(changes: Sequence[Sequence[Any]], rows: int) -> tuple[Mapping[str, str], ...]:
    by_row: dict[int, dict[str, str]] = {}
    for row, name, state in changes:
        by_row.setdefault(row, {})[name] = state
    states: dict[str, str] = {}
    found = []
    for row in range(rows):
        if row in by_row:
            states = states | by_row[row]
        found.append(states)
    return tuple(found)


@dataclass
class DriveRecorder:
    """Collects traces and decisions of a drive for a recording."""

    states: list[Floats]
    """Ego states (11,), beginning with the first."""
    traces: list[Trace] = field(default_factory=list)
    decided: list[int] = field(default_factory=list)
    plans: list[NDArray[np.float32]] = field(default_factory=list)
    utility: list[Floats] = field(default_factory=list)
    chosen: list[int] = field(default_factory=list)
    commands: list[int] = field(default_factory=list)
    images: list[Mapping[str, bytes]] = field(default_factory=list)

    def add_decision(
        self,
        plan: NDArray[np.floating[Any]] | None,
        decision: Decision | None,
        command: NDArray[np.float32],
        images: Mapping[str, bytes],
    ) -> None:
        """Add a decision; SUMO's driver has no plan."""
        self.decided.append(len(self.states) - 1)
        if decision is None:
            alone = np.zeros((0, 8, 3), np.float32) if plan is None else np.asarray(plan, np.float32)[None]
            self.plans.append(alone)
            self.utility.append(np.zeros(len(alone)))
        else:
            self.plans.append(decision.plans)
            self.utility.append(decision.utility)
        self.chosen.append(decision.chosen if decision is not None else 0)
        self.commands.append(int(np.argmax(command)))
        self.images.append(images)

    def add_motion(self, states: Sequence[Floats], trace: Trace) -> None:
        """Note what happened on the way to the next decision; the first row of a trace is already known."""
        self.states += list(states)
        self.traces.append(trace)

    def finish(self, **about: Any) -> DriveRecording:
        """The recording; `about` are the remaining fields of `DriveRecording`."""
        row: dict[str, int] = {}
        for part in self.traces:
            for token in part.tokens:
                row.setdefault(token, len(row))
        rows = len(self.states)
        types, sizes = np.zeros(len(row), np.int8), np.zeros((len(row), 2))
        poses, there = np.zeros((len(row), rows, 3)), np.zeros((len(row), rows), np.bool_)
        signals: list[Mapping[str, str]] = []
        for part in self.traces:
            first = 0 if not signals else 1
            at = slice(len(signals), len(signals) + len(part.signals) - first)
            places = [row[token] for token in part.tokens]
            types[places], sizes[places] = part.types, part.sizes
            poses[places, at], there[places, at] = part.poses[:, first:], part.valid[:, first:]
            signals += part.signals[first:]
        return DriveRecording(
            states=np.array(self.states),
            tokens=tuple(row),
            types=types,
            sizes=sizes,
            poses=poses,
            there=there,
            signals=tuple(signals),
            decided=np.array(self.decided, np.int64),
            plans=np.stack(self.plans),
            utility=np.stack(self.utility),
            chosen=np.array(self.chosen, np.int64),
            commands=np.array(self.commands, np.int64),
            images=tuple(self.images),
            **about,
        )
