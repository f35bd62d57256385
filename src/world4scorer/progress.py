"""The progress bar of long jobs; on standard error."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class ProgressBar:
    """What is done, of how much, and the time left."""

    def __init__(self, title: str, unit: str, total: int, show: bool = True) -> None:
        self._bar = Progress(
            TextColumn(title),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(f"{unit}  left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not show,
        )
        self._task = self._bar.add_task(title, total=total)

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def advance(self, count: int = 1) -> None:
        """So many more are done."""
        self._bar.advance(self._task, count)
