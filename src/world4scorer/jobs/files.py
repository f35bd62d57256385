"""Files written whole or not at all, JSON and CSV files, and locks."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from filelock import FileLock, Timeout


@contextmanager
def atomic_write(path: str | os.PathLike[str], durable: bool = True) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path` and rename it to `path` once the block has ended without an error.

    Without `durable`, the file is not flushed to disk: it survives a crash of the program, maybe not of the machine.
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
    """Raise a ValueError unless a file can be written there; checked before long work."""
    if Path(path).is_dir():
        raise ValueError(f"{path}: is a folder; name a file")
    check_folder(Path(path).parent)


def check_regular(path: str | os.PathLike[str]) -> None:
    """Raise an OSError unless this is a regular file: reading a pipe or a device may never end."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))


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
def hold_lock(path: str | os.PathLike[str], lock_error: Exception) -> Iterator[None]:
    """Keep other processes out for the length of the block, or raise `lock_error` if one is inside.

    The operating system releases the lock with the process, however it ends; the empty file may stay.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise lock_error from None
    try:
        yield
    finally:
        lock.release()


def write_json(path: str | os.PathLike[str], content: Mapping[str, Any], indent: int = 1) -> None:
    """Write JSON for people to read, whole or not at all."""
    with atomic_write(path) as stream:
        stream.write((json.dumps(content, indent=indent) + "\n").encode())


def write_csv(path: str | os.PathLike[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write rows, the header first, whole or not at all; None is left empty."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    with atomic_write(path) as stream:
        stream.write(text.getvalue().encode())


def read_json(
    path: str | os.PathLike[str],
    error: type[ValueError] = ValueError,
    remedy: str = "delete its folder, or choose another",
) -> dict[str, Any]:
    """Read a JSON object; raises `error`, with what to do about it, if there is none."""
    try:
        found = json.loads(Path(path).read_bytes())
    except (OSError, ValueError) as cause:
        reason = cause.strerror if isinstance(cause, OSError) else cause
        raise error(f"{path}: cannot be read as JSON ({reason}); {remedy}") from cause
    if not isinstance(found, dict):
        raise error(f"{path}: holds no JSON object; {remedy}")
    return found
