"""Scene filters and splits.

The devkit keeps them as YAML files: `train_test_split/<name>.yaml` names the folder of the logs and a filter,
`train_test_split/scene_filter/<name>.yaml` lists logs and tokens.

Example::

    split = read_split("navsim/planning/script/config/common/train_test_split/navtest.yaml")
    for window in windows(read_log(path), split.filter):
        print(window[split.filter.num_history_frames - 1].token)
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import yaml

from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.frames import LogFrame
from world4scorer.datasets.navsim.logs import Log
from world4scorer.jobs.files import atomic_write
from world4scorer.jobs.names import safe_name

OFFICIAL_COUNTS: Final[Mapping[str, tuple[int, int]]] = {"navtrain": (1_192, 103_288), "navtest": (136, 12_146)}
"""Logs and tokens of the official splits."""

MAX_YAML_DEPTH: Final = 20
"""Levels of lists and mappings in a YAML file; those of the devkit have six."""
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The C reader is ten times faster: navtrain lists 100,000 tokens."""

Window = tuple[LogFrame, ...]
"""Consecutive frames: history, the last of which is now, then future."""


@dataclass(frozen=True)
class SceneFilter:
    """Selects windows of logs. Field names are those of the devkit's YAML."""

    num_history_frames: int = 4
    """Frames up to and including now."""
    num_future_frames: int = 10
    frame_interval: int | None = None
    """Frames between the starts of windows; None for windows that do not overlap."""
    has_route: bool = True
    """Skip windows without a route."""
    max_scenes: int | None = None
    log_names: tuple[str, ...] | None = None
    tokens: tuple[str, ...] | None = None
    """Tokens of the current frames of windows."""

    def __post_init__(self) -> None:
        for name in ("num_history_frames", "num_future_frames", "frame_interval"):
            value = getattr(self, name)
            if not (value is None and name == "frame_interval") and (not isinstance(value, int) or value < 1):
                raise DatasetError(f"scene filter: {name} must be a whole number of at least 1, is {value!r}")

    @cached_property
    def token_set(self) -> frozenset[str] | None:
        """The tokens as a set; official splits have a hundred thousand."""
        return None if self.tokens is None else frozenset(self.tokens)

    @property
    def num_frames(self) -> int:
        """Frames of a window."""
        return self.num_history_frames + self.num_future_frames


@dataclass(frozen=True)
class Split:
    """A named scene filter and its log folder."""

    name: str
    data_split: str
    """Folder of the logs and images: mini, trainval or test."""
    filter: SceneFilter
    two_stage: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = ()
    """Two-stage splits: token, previous token, and pairs of second-stage token and previous token."""

    @property
    def second_stage_tokens(self) -> list[str]:
        """Tokens of the second stage, in the order of the mapping."""
        return [token for _, _, pairs in self.two_stage for pair in pairs for token in pair]


def windows(log: Log, scene_filter: SceneFilter, limit: int | None = None) -> Iterator[Window]:
    """Split a log into windows as the devkit does, at most `limit` (see `max_scenes`).

    Gaps in time and changes of the nuPlan scene inside a window are not looked at.
    """
    if scene_filter.log_names is not None and log.name not in scene_filter.log_names:
        return
    size = scene_filter.num_frames
    wanted = scene_filter.token_set
    found = 0
    for start in range(0, len(log.frames) - size + 1, scene_filter.frame_interval or size):
        window = log.frames[start : start + size]
        now = window[scene_filter.num_history_frames - 1]
        if scene_filter.has_route and not now.roadblock_ids:
            continue
        if wanted is not None and now.token not in wanted:
            continue
        if limit is not None and found >= limit:
            return
        found += 1
        yield window


def read_scene_filter(path: str | os.PathLike[str]) -> SceneFilter:
    """Read a filter; keys of two-stage evaluation are ignored."""
    raw = read_yaml(path)
    known = {field.name for field in fields(SceneFilter)}
    values = {key: value for key, value in raw.items() if key in known}
    for key in ("log_names", "tokens"):
        if values.get(key) is not None:
            if not isinstance(values[key], list):
                raise DatasetError(f"{path}: {key} must be a list or null")
            values[key] = tuple(safe_name(f"{path}: {key}", str(name), DatasetError) for name in values[key])
    try:
        return SceneFilter(**values)
    except DatasetError as error:
        raise DatasetError(f"{path}: {error}") from error


def read_split(path: str | os.PathLike[str]) -> Split:
    """Read a split and the filter it names, which lies in the folder `scene_filter` beside it."""
    path = Path(path)
    raw = read_yaml(path)
    defaults = raw["defaults"] if isinstance(raw.get("defaults"), list) else []
    name = next((d["scene_filter"] for d in defaults if isinstance(d, dict) and "scene_filter" in d), None)
    if name is None or not isinstance(raw.get("data_split"), str):
        raise DatasetError(f"{path}: a split needs `defaults: [scene_filter: <name>]` and `data_split: <folder>`")
    data_split = safe_name(f"{path}: data_split", raw["data_split"], DatasetError)
    chosen = read_scene_filter(
        path.parent / "scene_filter" / f"{safe_name(f'{path}: scene_filter', name, DatasetError)}.yaml"
    )
    chain = raw.get("reactive_all_mapping") or []
    try:
        two_stage = tuple((str(a), str(b), tuple((str(c), str(d)) for c, d in pairs)) for a, b, pairs in chain)
    except (TypeError, ValueError) as error:
        raise DatasetError(
            f"{path}: reactive_all_mapping must list [token, previous, [[token, previous], ...]]"
        ) from error
    split = Split(path.stem, data_split, chosen, two_stage)
    for token in (*(token for pair in two_stage for token in pair[:2]), *split.second_stage_tokens):
        safe_name(f"{path}: reactive_all_mapping", token, DatasetError)
    return split


def write_split(folder: str | os.PathLike[str], split: Split) -> Path:
    """Write a split and its filter into the folder `train_test_split`; returns the path of the split."""
    folder = Path(folder)
    values: dict[str, Any] = {field.name: getattr(split.filter, field.name) for field in fields(SceneFilter)}
    for key in ("log_names", "tokens"):
        values[key] = None if values[key] is None else list(values[key])
    if split.two_stage:
        values |= {"include_synthetic_scenes": True, "reactive_synthetic_initial_tokens": split.second_stage_tokens}
    text = yaml.safe_dump(
        {"_target_": "navsim.common.dataclasses.SceneFilter", "_convert_": "all", **values}, sort_keys=False
    )
    with atomic_write(folder / "scene_filter" / f"{split.name}.yaml") as stream:
        stream.write(text.encode())
    body: dict[str, Any] = {"defaults": [{"scene_filter": split.name}], "data_split": split.data_split}
    if split.two_stage:
        body["reactive_all_mapping"] = [[a, b, [list(pair) for pair in pairs]] for a, b, pairs in split.two_stage]
    path = folder / f"{split.name}.yaml"
    with atomic_write(path) as stream:
        stream.write(yaml.safe_dump(body, sort_keys=False).encode())
    return path


def check_yaml(text: str) -> None:
    """Refuse nesting that crashes a reader, and aliases, which can stand for more than memory holds."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise yaml.YAMLError("it has aliases (*name); write what they stand for")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_YAML_DEPTH:
            raise yaml.YAMLError(f"it is nested more than {MAX_YAML_DEPTH} levels deep")


def read_yaml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The keys and values of a YAML file of the devkit."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        check_yaml(text)
        raw = yaml.load(text, Loader=_LOADER)
    except FileNotFoundError:
        raise DatasetError(f"{path}: no such file; filters come with the NAVSIM devkit (config/common)") from None
    except (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # The last five: what PyYAML makes of values that are not of the kind that they are said to be (`!!int x`).
        raise DatasetError(f"{path}: not YAML: {error}") from error
    if not isinstance(raw, dict):
        raise DatasetError(f"{path}: expected keys and values, found {type(raw).__name__}")
    return raw
