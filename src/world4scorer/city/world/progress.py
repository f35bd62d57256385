"""Progress bars of making a city."""

from __future__ import annotations

from world4scorer.jobs.progress import JobProgress


class CityProgress(JobProgress):
    """Simulations done, then frames drawn, with the time left; on standard error."""

    def __init__(self, simulations: int, show: bool) -> None:
        super().__init__("{task.description}", "{task.fields[unit]}", show)
        self._simulating = self._bar.add_task("simulating", total=simulations, unit="simulations")
        self._rendering = self._bar.add_task("drawing   ", total=None, unit="frames")

    def simulated(self, count: int) -> None:
        """Set the number of finished simulations."""
        self._bar.update(self._simulating, completed=count)

    def begin_rendering(self, frames: int) -> None:
        """Set the number of frames to render."""
        self._bar.update(self._rendering, total=frames)

    def rendered(self, frames: int) -> None:
        """Add rendered frames."""
        self._bar.advance(self._rendering, frames)
