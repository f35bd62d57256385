"""The progress bar of making a pack."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class BankProgress:
    """Scenes done and time left; on standard error."""

    def __init__(self, scenes: int, show: bool) -> None:
        self._bar = Progress(
            TextColumn("candidates"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("scenes  left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not show,
        )
        self._task = self._bar.add_task("scenes", total=scenes)

    def __enter__(self) -> BankProgress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def advance(self, scenes: int) -> None:
        """So many more scenes are done."""
        self._bar.advance(self._task, scenes)
