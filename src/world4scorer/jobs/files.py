"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from uuid import uuid4


@contextmanager
def atomic_write(path: str | os.PathLike[str], durable: bool = True) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path` and rename it to `path` once the block has ended without an error.

    Unless `durable`, the disk is not waited for: whole after a crash of the program, but maybe not of the machine.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{uuid4().hex[:8]}.tmp")
    try:
        with open(temporary, "wb") as stream:
            yield stream
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def check_file(path: str | os.PathLike[str]) -> None:
    """Raise a ValueError unless a file can be written there: long work should not end with that."""
    if Path(path).is_dir():
        raise ValueError(f"{path}: is a folder; say which file to write")
    check_folder(Path(path).parent)


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise a ValueError unless a folder is there, or can be made, that files can be written to."""
    folder = Path(path)
    nearest = next((place for place in (folder, *folder.parents) if place.exists()), Path())
    if not nearest.is_dir():
        inside = "" if nearest == folder else f"{nearest} "
        raise ValueError(f"{path}: {inside}is a file; a folder is needed there")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise ValueError(f"{path}: no permission to write in {nearest}")


@contextmanager
def only_one(lock: str | os.PathLike[str], refusal: Exception) -> Iterator[None]:
    """Keep a second run out for the length of the block; the lock goes with the process, however it ends."""
    Path(lock).parent.mkdir(parents=True, exist_ok=True)
    with open(lock, "wb") as stream:
        with suppress(ImportError):  # Windows has no such lock
            import fcntl

            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise refusal from None
        yield
