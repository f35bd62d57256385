"""Progress of long jobs, on standard error: a moving bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

QUIET: Final = 30.0
"""Seconds between two lines, where there is no terminal."""
RECENT: Final = 120.0
"""Seconds of work that the time left is estimated from."""


class Bar(Progress):
    """rich's, with what is told between the bar and the time left; log files get lines instead of a moving bar."""

    def __init__(self, title: str, note: str, show: bool = True) -> None:
        """`title` and `note` may name fields of the tasks, as rich writes them."""
        console = Console(stderr=True)
        self.shown = show
        self._lines = show and not console.is_terminal
        self._next = time.monotonic() + QUIET
        super().__init__(
            TextColumn(title),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn(f"{note}  left"),
            TimeRemainingColumn(),
            console=console,
            disable=not show or self._lines,
            speed_estimate_period=RECENT,
        )

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """As rich has it."""
        super().update(task_id, **changes)
        self._tell(task_id)

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        """As rich has it."""
        super().advance(task_id, advance)
        self._tell(task_id)

    def stop(self) -> None:
        """End; off a terminal, with a line for each task that was begun."""
        super().stop()
        if self._lines:
            self._lines = False
            for task in self.tasks:
                if task.completed:
                    self._print(task)

    def write(self, text: str, style: str | None = None) -> None:
        """Print a line above the bar."""
        if self.shown:
            self.console.print(text, style=style, soft_wrap=True, markup=False, highlight=False)

    def _tell(self, task_id: TaskID) -> None:
        if self._lines and time.monotonic() >= self._next:
            self._next = time.monotonic() + QUIET
            self._print(self._tasks[task_id])

    def _print(self, task: Task) -> None:
        cells = [column(task) for column in self.columns if not isinstance(column, str | BarColumn)]
        words = " ".join(cell.plain.strip() for cell in cells if isinstance(cell, Text))
        self.console.print(words, soft_wrap=True, markup=False, highlight=False)


class JobProgress:
    """A bar for the length of a `with` block: what is done, of how much, a note, and the time left."""

    def __init__(self, title: str, note: str, show: bool) -> None:
        """`title` and `note` may name fields of the tasks, as rich writes them."""
        self._bar = Bar(title, note, show)

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
