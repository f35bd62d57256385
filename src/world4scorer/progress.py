"""Progress bars of long jobs; on standard error."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class JobProgress:
    """A bar for the length of a `with` block: what is done, of how much, a note, and the time left."""

    def __init__(self, title: str, note: str, show: bool) -> None:
        """`title` and `note` may name fields of the tasks, as rich writes them."""
        self._bar = Progress(
            TextColumn(title),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(f"{note}  left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not show,
        )

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


class ProgressBar(JobProgress):
    """One task, counted in one unit."""

    def __init__(self, title: str, unit: str, total: int, show: bool = True) -> None:
        super().__init__(title, unit, show)
        self._task = self._bar.add_task(title, total=total)

    def advance(self, count: int = 1) -> None:
        """So many more are done."""
        self._bar.advance(self._task, count)
