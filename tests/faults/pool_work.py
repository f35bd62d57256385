"""Work of several processes, as a command that starts fast: `python -m tests.faults.pool_work FOLDER`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Final

from world4scorer.jobs.executors import ProcessExecutor
from world4scorer.jobs.files import write_json
from world4scorer.jobs.resumable import Settings, resumable

TASKS: Final = 24
WORKERS: Final = 2
SECONDS: Final = 0.01
"""Of a task, beside its writing."""


def work(path: Path) -> None:
    """A task."""
    time.sleep(SECONDS)
    write_json(path, {"square": int(path.stem) ** 2})


def main(folder: Path) -> None:
    """All tasks that are missing."""
    settings = Settings(folder / "settings.json", {"tasks": TASKS})
    with resumable(folder, "counting", ValueError, settings, leftovers=("parts/.*.tmp",)) as job:
        tasks = [folder / "parts" / f"{number}.json" for number in range(TASKS)]
        job.run_missing(ProcessExecutor(WORKERS), work, tasks, "squares", "numbers", is_done=Path.is_file)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
