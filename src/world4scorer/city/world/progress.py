"""Progress bars of making a city."""

from __future__ import annotations

from world4scorer.jobs.progress import JobProgress


class CityProgress(JobProgress):
    """Simulations done, then frames drawn, with the time left; on standard error."""

    def __init__(self, simulations: int, show: bool) -> None:
        super().__init__("{task.description}", "{task.fields[unit]}", show)
        self._simulating = self._bar.add_task("simulating", total=simulations, unit="simulations")
        self._frames = 0
        self._rendering = self._bar.add_task("drawing   ", total=None, unit="frames")

    def simulated(self) -> None:
        """Add a finished simulation."""
        self._bar.advance(self._simulating, 1)

    def begin_rendering(self, frames: int) -> None:
        """Add frames to render."""
        self._frames += frames
        self._bar.update(self._rendering, total=self._frames)

    def rendered(self, frames: int) -> None:
        """Add rendered frames."""
        self._bar.advance(self._rendering, frames)
