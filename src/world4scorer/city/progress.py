"""The progress bars of making a city."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class CityProgress:
    """Simulations done, then frames drawn, with the time left; on standard error."""

    def __init__(self, simulations: int, show: bool) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}  left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not show,
        )
        self._simulating = self._bar.add_task("simulating", total=simulations, unit="simulations")
        self._filming = self._bar.add_task("drawing   ", total=None, unit="frames")

    def __enter__(self) -> CityProgress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def simulated(self, count: int) -> None:
        """So many simulations are done."""
        self._bar.update(self._simulating, completed=count)

    def begin_filming(self, frames: int) -> None:
        """So many frames will be drawn."""
        self._bar.update(self._filming, total=frames)

    def filmed(self, frames: int) -> None:
        """So many more frames are drawn."""
        self._bar.advance(self._filming, frames)
