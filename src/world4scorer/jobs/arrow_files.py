"""Arrow files: written whole or not at all with a checksum, mapped after comparing it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa

from world4scorer.jobs.checksums import MAKE_AGAIN, UNSEALED, check_content
from world4scorer.jobs.files import atomic_write

META_CHECKSUM: Final = b"checksum"
"""Name in the schema's metadata."""


@contextmanager
def write_arrow(path: str | os.PathLike[str], schema: pa.Schema) -> Iterator[Any]:
    """A writer of batches and tables of this schema; the file appears whole, at the end."""
    sealed = schema.with_metadata({**(schema.metadata or {}), META_CHECKSUM: UNSEALED})
    with atomic_write(path, checksum=True) as stream, pa.ipc.new_file(stream, sealed) as writer:
        yield writer


def check_mapped(
    source: pa.MemoryMappedFile, path: str | os.PathLike[str], error: type[ValueError], remedy: str = MAKE_AGAIN
) -> None:
    """Compare the checksum of a file where it is mapped: its pages are then there for whoever reads its arrays."""
    check_content(memoryview(source.read_buffer()), path, error, remedy)
    source.seek(0)


@contextmanager
def map_arrow(
    path: str | os.PathLike[str], error: type[ValueError], what: str, remedy: str = MAKE_AGAIN, *, check: bool = True
) -> Iterator[Any]:
    """A reader of a file of batches, whose arrays stay mapped when the block ends.

    What is wrong with the file, while it is read in the block as well, is raised as `error`.

    Args:
        path: The file.
        error: What to raise for a file that is missing, damaged or of another kind.
        what: What the file should be, for the message: "file of targets".
        remedy: What to do about it.
        check: Whether to compare the checksum now; large files of many batches may do so later.
    """
    try:
        with pa.memory_map(str(path)) as source:
            if check:
                check_mapped(source, path, error, remedy)
            yield pa.ipc.open_file(source)
    except FileNotFoundError:
        raise error(f"{path}: no such file; {remedy}") from None
    except (pa.ArrowException, OSError, ValueError) as cause:  # ValueError: no batch of this number
        if str(path) in str(cause):
            raise
        raise error(f"{path}: not a readable {what} ({cause}); {remedy}") from cause
