"""Functions and sources for worker processes, which import them by name."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support.scenes import make_log
from world4scorer.datasets.prepare.fill_store import SkippedScenes
from world4scorer.engine.scene import Scene


def square(number: int) -> int:
    if number < 0:
        raise ValueError(f"{number} is negative")
    return number * number


def die_on_three(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.01)
    return number


def return_what_cannot_be_sent(number: int) -> Any:
    return lambda: number


@dataclass(frozen=True)
class MadeUpSource:
    logs: int = 4
    scenes_each: int = 2
    broken: str = ""
    empty: bool = False
    slow: float = 0.0
    journal: str = ""
    option: str = "a"

    def log_names(self) -> Sequence[str]:
        return [f"log{i}" for i in range(self.logs)]

    def options(self) -> Mapping[str, Any]:
        return {"option": self.option}

    def scenes(self, log_name: str) -> Iterator[Scene | SkippedScenes]:
        if self.journal:
            with Path(self.journal).open("a") as journal:
                journal.write(f"{log_name}\n")
        if log_name == self.broken:
            raise ValueError("the map has no lanes")
        yield SkippedScenes("no route", 3)
        if not self.empty:
            for scene in make_log(log_name, self.scenes_each, seed=int(log_name[3:])):
                time.sleep(self.slow)
                yield scene


@dataclass
class CountedCalls:
    """Counts its calls in an array, so in the copy of its process."""

    counts: NDArray[np.float64]

    def __call__(self, seconds: float) -> tuple[int, int, str]:
        self.counts += 1
        time.sleep(seconds)
        return os.getpid(), int(self.counts[0]), os.getcwd()
