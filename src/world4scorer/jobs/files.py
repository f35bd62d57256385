"""Files written whole or not at all, JSON and CSV files, and locks."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final
from uuid import uuid4

from filelock import FileLock, Timeout

from world4scorer.jobs.checksums import UNSEALED, check_content, seal, seal_file

CHECKSUM: Final = "checksum"
"""Field of a JSON file, and name in the metadata of other formats."""
LOCK_ATTEMPTS: Final = 10
"""To take a lock whose folder is being removed."""
LINES: Final = "lines"
"""Field of every line of JSON Lines: how many there are."""


@contextmanager
def atomic_write(path: str | os.PathLike[str], durable: bool = True, *, checksum: bool = False) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path` and rename it to `path` once the block has ended without an error.

    Without `durable`, the file is not flushed to disk: it survives a crash of the program, maybe not of the machine.
    With `checksum`, the mark `checksums.UNSEALED` in what is written becomes the checksum of the file.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{uuid4().hex[:8]}.tmp")
    try:
        with open(temporary, "wb") as stream:
            yield stream
            stream.flush()
            if checksum:
                seal_file(temporary)
            if durable:
                os.fsync(stream.fileno())
        os.replace(temporary, target)
    except OSError as error:
        if error.filename is None:  # writing to an open file does not say to which
            error.filename = os.fspath(target)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The content of a file; errors name it, those of reading after it was opened, too."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        error.filename = os.fspath(path)
        raise


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
def hold_lock(path: str | os.PathLike[str], lock_error: Exception | None = None) -> Iterator[None]:
    """Keep other processes out for the length of the block; if one is inside, raise `lock_error`, or wait without one.

    The operating system releases the lock with the process, however it ends; the empty file may stay.
    """
    lock = FileLock(path, thread_local=False)
    for attempt in range(LOCK_ATTEMPTS):
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(blocking=lock_error is None)
            break
        except FileNotFoundError:  # a refused process has just removed its empty folder
            if attempt == LOCK_ATTEMPTS - 1:
                raise
        except Timeout:
            assert lock_error is not None  # without one, it waits for ever
            raise lock_error from None
    try:
        yield
    finally:
        lock.release()


def write_json(
    path: str | os.PathLike[str],
    content: Mapping[str, Any],
    indent: int | None = 1,
    *,
    durable: bool = True,
    allow_nan: bool = True,
) -> None:
    """Write JSON for people and `read_json` to read, whole or not at all, with a checksum as its last field."""
    with atomic_write(path, durable) as stream:
        stream.write(json_content(content, indent, allow_nan))


def json_content(content: Mapping[str, Any], indent: int | None = 1, allow_nan: bool = True) -> bytes:
    """What `write_json` writes."""
    named = {**content, CHECKSUM: UNSEALED.decode()}
    return seal((json.dumps(named, indent=indent, allow_nan=allow_nan) + "\n").encode())


def json_lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """JSON Lines for `read_json_lines`: each with a checksum, and with how many there are, as files may be cut."""
    return b"".join(json_content({**row, LINES: len(rows)}, None) for row in rows)


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
    """Read a JSON object, without its checksum; raises `error`, with what to do about it, if there is none."""
    try:
        content = Path(path).read_bytes()
    except OSError as cause:
        raise error(f"{path}: cannot be read as JSON ({cause.strerror}); {remedy}") from cause
    return parse_json(content, path, error, remedy)


def load_json(content: str | bytes) -> Any:
    """What JSON text stands for; a ValueError for what is no JSON, or is nested too deeply to be read."""
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_json(
    content: bytes,
    path: str | os.PathLike[str],
    error: type[ValueError] = ValueError,
    remedy: str = "delete its folder, or choose another",
) -> dict[str, Any]:
    """The same for the content of a file, or of a line of it."""
    check_content(content, path, error, f"{remedy}; if you changed it on purpose, remove its field {CHECKSUM!r}")
    try:
        found = load_json(content)
    except ValueError as cause:
        raise error(f"{path}: cannot be read as JSON ({cause}); {remedy}") from cause
    if not isinstance(found, dict):
        raise error(f"{path}: holds no JSON object; {remedy}")
    found.pop(CHECKSUM, None)
    return found


def read_json_lines(path: str | os.PathLike[str], remedy: str) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file; a ValueError if one is damaged, or if lines are missing."""
    lines = read_bytes(path).splitlines(keepends=True)  # checksums include the ends of lines
    found = [parse_json(line, f"{path}, line {number}", remedy=remedy) for number, line in enumerate(lines, start=1)]
    counts = {row.pop(LINES, len(lines)) for row in found}  # files of 0.1.0 do not say
    if not found or counts != {len(lines)}:
        raise ValueError(f"{path}: cut short: {len(lines)} of {max(counts, default='its')} lines; {remedy}")
    return found
