"""Work in parts, each of which ends in a file: what is there is kept, what is missing is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

from world4scorer.cube.errors import CubeError
from world4scorer.jobs.executors import choose_executor, run_all
from world4scorer.jobs.progress import ProgressBar


class Part(Protocol):
    """Some of the work."""

    @property
    def path(self) -> Path:
        """Its file; when it is there, the part is done."""
        ...

    @property
    def size(self) -> int:
        """How much work it is."""
        ...


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread: parts run beside each other."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


_Part = TypeVar("_Part", bound=Part)


def make_missing(
    parts: Sequence[_Part],
    make: Callable[[_Part], int],
    folder: Path,
    title: str,
    unit: str,
    workers: int | None = None,
    progress: bool = True,
) -> None:
    """Make the parts whose file is not there, in processes; one worker means this process.

    Args:
        parts: All of them.
        make: Makes one, and returns its size.
        folder: Where they are, for messages.
        title: Of the progress bar.
        unit: What the sizes count.
        workers: Processes; one for each core unless given.
        progress: Whether to show the bar.

    Raises:
        CubeError: Parts failed, for a reason that can be mended; the others are kept.
    """
    missing = [part for part in parts if not part.path.exists()]
    total = sum(part.size for part in parts)
    executor = choose_executor("serial" if workers == 1 else "processes", workers=workers)
    with ProgressBar(title, unit, total, progress) as bar:
        bar.advance(total - sum(part.size for part in missing))
        run_all(executor, make, missing, bar, folder, "parts", CubeError)
