"""A route's record, in the JSON layout of the checkpoint files of CARLA's leaderboard 2.0.

{"_checkpoint": {"records": [{"route_id": "RouteScenario_1711_rep0", "scenario_name": "ParkingCutIn_1", ...}]}, ...}

Fields that this program does not know are kept: what was read is written again.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from world4scorer.evaluation.leaderboard.infractions import Infraction
from world4scorer.jobs.files import atomic_write, read_json

COMPLETED: Final = "Completed"
"""The route's end was reached, with infractions."""
PERFECT: Final = "Perfect"
"""The route's end was reached, without any."""
CRASHES: Final = ("Agent couldn't be set up", "Agent's sensors were invalid", "Agent crashed", "Simulation crashed")
"""What may stand after `Failed - ` of a route that says nothing about how the agent drives."""
UNFINISHED: Final = "Started"
"""Status of a route that was begun, and whose end nobody recorded."""

ROUTE_ID: Final = re.compile(r"RouteScenario_(?P<route>.+?)_rep(?P<repetition>\d+)")
NUMBERED: Final = re.compile(r"_\d+$")


@dataclass(frozen=True)
class Scores:
    """What a route is worth."""

    completion: float
    """Route completion [%]: `score_route`."""
    penalty: float
    """Product of the factors of the infractions, 0 to 1: `score_penalty`."""
    composed: float
    """Completion times penalty [%]: `score_composed`."""
    other: Mapping[str, Any] = field(default_factory=dict)
    """Unknown fields."""

    def __post_init__(self) -> None:
        for name, most in (("completion", 100.0), ("penalty", 1.0), ("composed", 100.0)):
            value = getattr(self, name)
            if not 0 <= value <= most:
                raise ValueError(f"{name} {value}: want a number from 0 to {most:g}")

    def to_json(self) -> dict[str, Any]:
        """The scores as the leaderboard writes them."""
        return {name: getattr(self, part) for name, part in SCORES.items()} | dict(self.other)


@dataclass(frozen=True)
class RouteRecord:
    """How one route was driven."""

    route_id: str
    """`RouteScenario_1711_rep0`, or any name."""
    status: str
    """`Perfect`, `Completed`, or `Failed - ` and why."""
    infractions: Mapping[str, tuple[str, ...]]
    """Messages by name; names without any may be left out."""
    scores: Scores | None
    """None if the leaderboard did not get as far as that."""
    scenario_name: str | None = None
    """`ParkingCutIn_1`: type and number."""
    weather_id: int | str | None = None
    save_name: str | None = None
    """Folder of what the agent wrote while driving."""
    route_length: float | None = None
    """m"""
    duration_game: float | None = None
    """Simulated time [s]."""
    duration_system: float | None = None
    """Time that it took [s]."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    """Unknown fields of `meta`."""
    other: Mapping[str, Any] = field(default_factory=dict)
    """Unknown fields of the record."""

    @property
    def route(self) -> str:
        """The route's number in its XML file."""
        found = ROUTE_ID.fullmatch(self.route_id)
        return found["route"] if found else self.route_id

    @property
    def scenario(self) -> str:
        """Type of the scenario, without its number; empty if unknown."""
        return NUMBERED.sub("", self.scenario_name or "")

    @property
    def crashed(self) -> bool:
        """Whether nothing was learnt about the agent's driving: to be driven again."""
        return self.scores is None or self.status == UNFINISHED or self.status.partition(" - ")[2] in CRASHES

    @property
    def kilometres(self) -> float:
        """Distance driven [km]; 0 if unknown."""
        if self.route_length is None or self.scores is None:
            return 0.0
        return self.route_length * self.scores.completion / 100 / 1000

    def messages(self, kind: Infraction) -> tuple[str, ...]:
        """All messages of a kind."""
        return tuple(self.infractions.get(kind, ()))

    @classmethod
    def from_json(cls, content: Any) -> RouteRecord:
        """Read a record; ValueError names the route and what is wrong with it."""
        fields = _object(content, "record")
        route = fields.get("route_id")
        if not isinstance(route, str) or not route:
            raise ValueError(f"record: route_id {route!r}; want a text such as RouteScenario_1711_rep0")
        try:
            return cls._read(fields)
        except ValueError as error:
            raise ValueError(f"{route}: {error}") from error

    @classmethod
    def _read(cls, fields: Mapping[str, Any]) -> RouteRecord:
        meta = _object(fields.get("meta", {}), "meta")
        parts: dict[str, Any] = {name: _number(meta[name], name) for name in META_NUMBERS if name in meta}
        parts |= {name: _text(fields[name], name) for name in TEXTS if fields.get(name) is not None}
        known = {"route_id", "status", "infractions", "scores", "meta", *TEXTS, "weather_id"}
        return cls(
            route_id=fields["route_id"],
            status=_text(fields.get("status"), "status"),
            infractions=_infractions(fields.get("infractions")),
            scores=_scores(fields.get("scores")),
            weather_id=fields.get("weather_id"),
            **parts,
            meta={name: value for name, value in meta.items() if name not in META_NUMBERS},
            other={name: value for name, value in fields.items() if name not in known},
        )

    def to_json(self) -> dict[str, Any]:
        """The record as the leaderboard writes it."""
        numbers = {name: getattr(self, name) for name in META_NUMBERS if getattr(self, name) is not None}
        texts = {name: getattr(self, name) for name in (*TEXTS, "weather_id") if getattr(self, name) is not None}
        return {
            "route_id": self.route_id,
            **texts,
            "status": self.status,
            "infractions": {name: list(messages) for name, messages in self.infractions.items()},
            "scores": {} if self.scores is None else self.scores.to_json(),
            "meta": {**numbers, **self.meta},
            **self.other,
        }


SCORES: Final = {"score_route": "completion", "score_penalty": "penalty", "score_composed": "composed"}
META_NUMBERS: Final = ("route_length", "duration_game", "duration_system")
TEXTS: Final = ("scenario_name", "save_name")


def read_results(path: Path) -> tuple[RouteRecord, ...]:
    """The records of a checkpoint file, or of files merged; ValueError names file and route."""
    checkpoint = read_json(path, remedy="give a result file of the leaderboard").get("_checkpoint")
    records = checkpoint.get("records") if isinstance(checkpoint, dict) else None
    if not isinstance(records, list):
        raise ValueError(f"{path}: no list `_checkpoint.records`; not a result file of the leaderboard")
    try:
        return tuple(RouteRecord.from_json(record) for record in records)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def write_results(path: Path, records: Sequence[RouteRecord], summary: Mapping[str, Any] | None = None) -> None:
    """Write a checkpoint file; `summary` are further fields beside the records."""
    count = len(records)
    checkpoint = {"global_record": {}, "progress": [count, count], "records": [record.to_json() for record in records]}
    content = {"_checkpoint": checkpoint, "entry_status": "Finished", **(summary or {})}
    with atomic_write(path) as stream:
        stream.write(json.dumps(content, indent=1, allow_nan=False).encode() + b"\n")


def _scores(content: Any) -> Scores | None:
    """None if nothing is there."""
    if not content:
        return None
    fields = _object(content, "scores")
    missing = [name for name in SCORES if name not in fields]
    if missing:
        raise ValueError(f"scores: no {missing[0]}")
    other = {name: value for name, value in fields.items() if name not in SCORES}
    return Scores(**{part: _number(fields[name], name) for name, part in SCORES.items()}, other=other)


def _infractions(content: Any) -> dict[str, tuple[str, ...]]:
    fields = _object(content, "infractions")
    for name, messages in fields.items():
        if not isinstance(messages, list) or not all(isinstance(message, str) for message in messages):
            raise ValueError(f"infractions: {name} is {messages!r}; want a list of messages")
    return {name: tuple(messages) for name, messages in fields.items()}


def _object(content: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(content, dict):
        raise ValueError(f"{name}: {content!r}; want an object")
    return content


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name}: {value!r}; want a text")
    return value


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name}: {value!r}; want a number")
    return value
