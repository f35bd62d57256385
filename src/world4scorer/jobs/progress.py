"""Progress of long jobs, on standard error: a moving bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

SECONDS_BETWEEN_LINES: Final = 30.0
"""Where there is no terminal."""
SPEED_WINDOW: Final = 120.0
"""Latest seconds of work that the time left is estimated from."""


class Bar(Progress):
    """rich's progress bar with a note before the time left; log files get lines instead of a moving bar."""

    def __init__(self, title: str, note: str, show: bool = True) -> None:
        """`title` and `note` may name fields of the tasks, as rich writes them."""
        console = Console(stderr=True)
        self.shown = show
        self._lines = show and not console.is_terminal
        self._next = time.monotonic() + SECONDS_BETWEEN_LINES
        super().__init__(
            TextColumn(title),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn(f"{note}  left"),
            TimeRemainingColumn(),
            console=console,
            disable=not show or self._lines,
            speed_estimate_period=SPEED_WINDOW,
        )

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """See rich."""
        super().update(task_id, **changes)
        self._print_now_and_then(task_id)

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        """See rich."""
        super().advance(task_id, advance)
        self._print_now_and_then(task_id)

    def stop(self) -> None:
        """Stop; without a terminal, print a last line for each task that was started."""
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

    def _print_now_and_then(self, task_id: TaskID) -> None:
        if self._lines and time.monotonic() >= self._next:
            self._next = time.monotonic() + SECONDS_BETWEEN_LINES
            self._print(self._tasks[task_id])

    def _print(self, task: Task) -> None:
        cells = [column(task) for column in self.columns if not isinstance(column, str | BarColumn)]
        words = " ".join(cell.plain.strip() for cell in cells if isinstance(cell, Text))
        self.console.print(words, soft_wrap=True, markup=False, highlight=False)


class JobProgress:
    """A progress bar for the length of a `with` block."""

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
        """Count more as done."""
        self._bar.advance(self._task, count)
