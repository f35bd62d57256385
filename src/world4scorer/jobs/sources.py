"""What a derived file was made from, kept inside it, so that a file whose source changed is never taken for current.

Two ways, by what the source is:

- A file (a log, a map): its size, time of change and XXH3 (`stamp`). With the same size and time it is taken to be the
  same; otherwise its content decides, so that copies of a dataset remain the same dataset.
- Something of ours (a store, an encoder, a planner): its digest, compared by `check_source`.

Files of earlier versions say neither, and are used as they are.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import xxhash

Stamp = dict[str, Any]


def stamp(path: str | os.PathLike[str]) -> Stamp:
    """What tells the content of a file from another: for the metadata of what is made from it."""
    status = os.stat(path)
    return {
        "bytes": status.st_size,
        "changed_ns": status.st_mtime_ns,
        "xxh3": _digest(os.fspath(path), status.st_size, status.st_mtime_ns),
    }


def has_changed(path: str | os.PathLike[str], known: Mapping[str, Any] | None) -> bool:
    """Whether a file is another than it was when the stamp was taken; without a stamp, it counts as the same."""
    if not known:
        return False
    status = os.stat(path)
    if status.st_size != known["bytes"]:
        return True
    same_time = status.st_mtime_ns == known["changed_ns"]
    return not same_time and _digest(os.fspath(path), status.st_size, status.st_mtime_ns) != str(known["xxh3"])


def check_source(
    derived: str | os.PathLike[str], what: str, known: str | None, now: str, error: type[ValueError], remedy: str
) -> None:
    """Raise an error if a derived file was made from another source than the one it is used with.

    Args:
        derived: The file or folder.
        what: Its source, for the message: "scenes".
        known: Digest of the source that it was made from; None or empty if it does not say.
        now: Digest of the source that it is used with.
        error: What to raise.
        remedy: What to do about it.
    """
    if known and known != now:
        raise error(f"{derived}: made from other {what} than there are now; {remedy}")


@lru_cache(64)
def _digest(path: str, size: int, changed_ns: int) -> str:
    """XXH3 of a file; a map is the source of many logs, hence the cache."""
    if not size:
        return xxhash.xxh3_64_hexdigest(b"")
    with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return xxhash.xxh3_64_hexdigest(content)
