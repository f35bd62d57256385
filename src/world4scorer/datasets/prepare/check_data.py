"""Check a dataset for completeness: logs, tokens, images and future frames, against split and official counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from world4scorer.datasets.navsim.cameras import FRONT, VIEWS
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.filters import OFFICIAL_COUNTS, Split, windows
from world4scorer.datasets.navsim.logs import log_paths, read_log
from world4scorer.datasets.navsim.map_files import map_path
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import Executor

TARGET_CAMERA: Final = VIEWS[FRONT]
TARGET_FRAMES: Final = 4
"""Key frames from now to the future target (2 s)."""
MAX_EXAMPLES: Final = 3
"""Examples in a line of the report."""


@dataclass(frozen=True)
class LogFindings:
    """Findings about one log."""

    tokens: int = 0
    """Complete scenes of the split in the log."""
    locations: tuple[str, ...] = ()
    gaps: int = 0
    without_annotations: int = 0
    """Frames."""
    missing_inputs: tuple[str, ...] = ()
    """Missing current images of the planner's cameras."""
    missing_targets: tuple[str, ...] = ()
    """Missing front images 2 s ahead."""


@dataclass(frozen=True)
class DataReport:
    """Findings about a dataset."""

    split: Split
    logs_wanted: int
    logs_found: int
    tokens_found: int
    missing_logs: tuple[str, ...] = ()
    unreadable: dict[str, str] = field(default_factory=dict)
    """Error by log."""
    missing_maps: tuple[str, ...] = ()
    gaps: int = 0
    without_annotations: int = 0
    missing_inputs: tuple[str, ...] = ()
    missing_targets: tuple[str, ...] = ()

    @property
    def tokens_wanted(self) -> int | None:
        """Number of scenes that the split lists; None for a split that takes all."""
        tokens = self.split.filter.tokens
        return None if tokens is None else len(tokens)

    @property
    def can_score(self) -> bool:
        """Whether plans can be scored on every scene of the split."""
        complete = self.tokens_wanted is None or self.tokens_found == self.tokens_wanted
        return bool(complete and self.tokens_found and not (self.missing_logs or self.unreadable or self.missing_maps))

    def lines(self) -> list[str]:
        """The report, one requirement per line, with examples of missing parts."""
        wanted = "all" if self.tokens_wanted is None else f"{self.tokens_wanted:,}"
        lines = [
            f"split {self.split.name}: {self.logs_found:,} of {self.logs_wanted:,} logs, "
            f"{self.tokens_found:,} of {wanted} moments"
        ]
        official = OFFICIAL_COUNTS.get(self.split.name)
        if official is not None:
            same = official == (self.logs_wanted, self.tokens_wanted)
            lines.append(
                f"official: {official[0]:,} logs, {official[1]:,} moments; the split file "
                f"{'agrees' if same else 'DIFFERS'}"
            )
        lines += [
            _need("score plans (logs, maps)", self.can_score, self._scoring_troubles()),
            _need("train (images now)", not self.missing_inputs, _examples("images", self.missing_inputs)),
            _need(
                "future targets (front image, 2 s on)",
                not self.missing_targets,
                _examples("images", self.missing_targets),
            ),
        ]
        if self.gaps or self.without_annotations:
            lines.append(f"note: {self.gaps} gaps in time, {self.without_annotations} frames without annotations")
        return lines

    def _scoring_troubles(self) -> str:
        parts = []
        if self.missing_logs:
            parts.append(_examples("logs", self.missing_logs))
        if self.unreadable:
            parts.append(
                f"{len(self.unreadable)} unreadable logs: {'; '.join(list(self.unreadable.values())[:MAX_EXAMPLES])}"
            )
        if self.missing_maps:
            parts.append("; ".join(self.missing_maps))
        if self.tokens_wanted is not None and self.tokens_found < self.tokens_wanted:
            parts.append(f"{self.tokens_wanted - self.tokens_found:,} moments not found or without enough frames")
        if not self.tokens_found:
            parts.append("no moment at all")
        return "; ".join(parts)


@dataclass(frozen=True)
class _CheckLog:
    root: Path
    split: Split
    images: bool

    def __call__(self, name: str) -> LogFindings:
        layout = DataFolder(self.root)
        log = read_log(layout.log(self.split.data_split, name))
        chosen = self.split.filter
        now = chosen.num_history_frames - 1
        tokens = 0
        inputs: list[str] = []
        targets: list[str] = []
        for window in windows(log, chosen):
            tokens += 1
            inputs += [camera.path for name in VIEWS if (camera := window[now].cameras.get(name)) is not None]
            if now + TARGET_FRAMES < len(window):
                camera = window[now + TARGET_FRAMES].cameras.get(TARGET_CAMERA)
                targets += [camera.path] if camera is not None else []
        sensors = layout.sensors(self.split.data_split)
        there = _images_below(sensors, name) if self.images else set()
        return LogFindings(
            tokens=tokens,
            locations=tuple(sorted({frame.map_location for frame in log.frames})),
            gaps=len(log.gaps),
            without_annotations=sum(frame.annotations is None for frame in log.frames),
            missing_inputs=_missing(inputs, there) if self.images else (),
            missing_targets=_missing(targets, there) if self.images else (),
        )


def check_data(root: Path, split: Split, executor: Executor, *, images: bool = True) -> DataReport:
    """Check every log of a split; `images` also checks for the images that training needs."""
    layout = DataFolder(root)
    present = {path.stem for path in log_paths(layout.logs(split.data_split))}
    wanted = list(dict.fromkeys(split.filter.log_names or sorted(present)))
    findings: list[LogFindings] = []
    unreadable: dict[str, str] = {}
    for done in executor.run(_CheckLog(root, split, images), [name for name in wanted if name in present]):
        if done.result is None:
            unreadable[done.task] = done.error or "no result"
        else:
            findings.append(done.result)
    locations = sorted({location for found in findings for location in found.locations})
    return DataReport(
        split=split,
        logs_wanted=len(wanted),
        logs_found=len(findings) + len(unreadable),
        tokens_found=sum(found.tokens for found in findings),
        missing_logs=tuple(name for name in wanted if name not in present),
        unreadable=unreadable,
        missing_maps=tuple(_map_troubles(layout, locations)),
        gaps=sum(found.gaps for found in findings),
        without_annotations=sum(found.without_annotations for found in findings),
        missing_inputs=tuple(path for found in findings for path in found.missing_inputs),
        missing_targets=tuple(path for found in findings for path in found.missing_targets),
    )


def _map_troubles(layout: DataFolder, locations: Iterable[str]) -> list[str]:
    troubles = []
    for location in locations:
        try:
            path = map_path(layout.maps, location)
        except DatasetError as error:
            troubles.append(str(error))
            continue
        if not path.is_file():
            troubles.append(f"map {path} is missing")
    return troubles


def _images_below(sensors: Path, log_name: str) -> set[str]:
    """Paths of a log's images relative to the sensor folder, by one listing per camera."""
    folder = sensors / log_name
    return {path.relative_to(sensors).as_posix() for path in folder.glob("*/*.jpg")} if folder.is_dir() else set()


def _missing(wanted: Iterable[str], there: set[str]) -> tuple[str, ...]:
    return tuple(path for path in dict.fromkeys(wanted) if Path(path).as_posix() not in there)


def _need(name: str, fulfilled: bool, troubles: str) -> str:
    return f"{'ok  ' if fulfilled else 'LACK'} {name}" + (f": {troubles}" if not fulfilled else "")


def _examples(what: str, names: tuple[str, ...]) -> str:
    more = ", ..." if len(names) > MAX_EXAMPLES else ""
    return f"{len(names):,} {what} missing: {', '.join(names[:MAX_EXAMPLES])}{more}" if names else ""
