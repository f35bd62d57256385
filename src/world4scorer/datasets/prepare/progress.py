"""The progress bar of preparation."""

from __future__ import annotations

import time

from world4scorer.jobs.progress import JobProgress


def human_bytes(count: float) -> str:
    """Return e.g. `38.1 kB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


class PrepareProgress(JobProgress):
    """Logs done, time left, scenes a second, bytes per scene, peak memory; on standard error."""

    def __init__(self, logs: int, show: bool) -> None:
        self._start = time.monotonic()
        super().__init__("preparing", "logs  {task.fields[note]}", show)
        self._task = self._bar.add_task("logs", total=logs, note="")

    def update(self, logs: int, scenes: int, size: int, peak: int) -> None:
        """Show the state after `logs` logs."""
        rate = scenes / max(time.monotonic() - self._start, 1e-9)
        each = human_bytes(size / scenes) if scenes else "-"
        note = f"{scenes} scenes, {rate:.0f}/s, {each} each, peak {human_bytes(peak)}"
        self._bar.update(self._task, completed=logs, note=note)

    def complain(self, message: str) -> None:
        """Print a line above the bar."""
        self._bar.write(message, style="red")
