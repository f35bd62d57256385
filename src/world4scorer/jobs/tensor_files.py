"""Tensors in files: read without running code, checked against what is needed, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from world4scorer.jobs.checksums import UNSEALED, check_checksum, seal
from world4scorer.jobs.files import CHECKSUM, atomic_write

SAFETENSORS: Final = ".safetensors"
HEADER_LENGTH_BYTES: Final = 8
"""At the start of a safetensors file: the length of its header."""
HEADER_ALIGNMENT: Final = 8
METADATA: Final = b'{"__metadata__":{'
"""What the header begins with."""
COMMENT_LENGTH_BYTES: Final = 2
"""At the end of a ZIP archive without a comment: its length."""
COPY_AGAIN: Final = "copy it again, or make it again with the command that wrote it"
LISTED_NAMES: Final = 3
"""Names listed in an error message."""

Tensors = dict[str, Tensor]


def read_tensors(path: str | os.PathLike[str], remedy: str = COPY_AGAIN) -> Tensors:
    """Tensors by name from a safetensors file, or from a checkpoint (its `state_dict`, if it has one)."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path}: no such file")
    check_checksum(path, ValueError, remedy)
    if path.suffix == SAFETENSORS:
        try:
            return load_file(path)
        except (SafetensorError, OSError) as error:
            raise ValueError(f"{path}: not a readable safetensors file ({error})") from error
    return _tensors_of(_unpickled(path), path)


def read_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a checkpoint, from which training resumes."""
    remedy = "delete it to start again, or put best.ckpt in its place if there is one"
    check_checksum(path, ValueError, remedy)
    try:
        content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged stream makes the reader fail in every way there is
        raise ValueError(f"{path}: not a readable checkpoint ({_reason(error)}); {remedy}") from error
    return content


def write_checkpoint(content: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a checkpoint, whole or not at all."""
    with atomic_write(path, checksum=True) as stream:
        try:
            torch.save(dict(content), stream)
        except RuntimeError as error:
            if isinstance(error.__context__, OSError):  # torch closes its archive, and complains that it is not whole
                raise error.__context__ from None
            raise
        add_comment(stream, UNSEALED)


def add_comment(stream: IO[bytes], comment: bytes) -> None:
    """Give the ZIP archive that has just been written, such as a checkpoint, a comment; the stream is at its end."""
    stream.seek(-COMMENT_LENGTH_BYTES, os.SEEK_END)  # the last field of an archive without a comment
    stream.write(len(comment).to_bytes(COMMENT_LENGTH_BYTES, "little") + comment)


def tensors_digest(settings: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> str:
    """16 hex digits that change with any setting or tensor."""
    state = hashlib.sha256(json.dumps(settings).encode())
    for name, tensor in sorted(tensors.items()):
        state.update(name.encode())
        state.update(tensor.cpu().contiguous().numpy().tobytes())
    return state.hexdigest()[:16]


def _unpickled(path: Path) -> Any:
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ValueError(
            f"{path}: not a checkpoint of plain tensors ({_reason(error)}); nothing else is loaded, because loading it "
            "can run code. If you trust the file, save its 'state_dict' alone, as safetensors"
        ) from error
    except Exception as error:  # a damaged stream makes the reader fail in every way there is
        raise ValueError(f"{path}: not a readable checkpoint ({_reason(error)})") from error


def _reason(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _tensors_of(content: Any, path: Path) -> Tensors:
    if isinstance(content, Mapping) and isinstance(content.get("state_dict"), Mapping):
        content = content["state_dict"]
    if not isinstance(content, Mapping) or not content:
        raise ValueError(f"{path}: holds no tensors by name")
    for name, value in content.items():
        if not isinstance(name, str) or not isinstance(value, Tensor):
            raise ValueError(f"{path}: {name!r} is a {type(value).__name__}; tensors by name are needed")
    return dict(content)


def check_tensors(
    tensors: Mapping[str, Tensor], needed: Mapping[str, Iterable[int]], path: str | os.PathLike[str]
) -> None:
    """Raise a ValueError that names file and tensor unless exactly the needed names are there, in the needed shapes."""
    missing = [name for name in needed if name not in tensors]
    if missing:
        raise ValueError(f"{path}: missing: {_listed(missing)}")
    unexpected = [name for name in tensors if name not in needed]
    if unexpected:
        raise ValueError(f"{path}: not part of the model: {_listed(unexpected)}")
    for name, shape in needed.items():
        if tuple(tensors[name].shape) != tuple(shape):
            given = tuple(tensors[name].shape)
            raise ValueError(f"{path}: tensor {name!r} has shape {given}; {tuple(shape)} is needed")
        if not tensors[name].is_floating_point():
            raise ValueError(f"{path}: tensor {name!r} holds {tensors[name].dtype}; floating-point numbers are needed")


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"tensor {name!r}" for name in names[:LISTED_NAMES])
    return shown if len(names) <= LISTED_NAMES else f"{shown} and {len(names) - LISTED_NAMES} more"


def as_safetensors(tensors: Mapping[str, Tensor]) -> bytes:
    """The content of a safetensors file, with a checksum in its metadata."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    content = save(plain, {"format": "pt"})
    # Put in by hand: the library writes several entries in an order that differs from process to process.
    entry = b'"%b":"%b",' % (CHECKSUM.encode(), UNSEALED)
    assert len(entry) % HEADER_ALIGNMENT == 0 and content.startswith(METADATA, HEADER_LENGTH_BYTES)
    begin = HEADER_LENGTH_BYTES + len(METADATA)
    length = int.from_bytes(content[:HEADER_LENGTH_BYTES], "little") + len(entry)
    start = length.to_bytes(HEADER_LENGTH_BYTES, "little")
    return seal(b"".join((start, content[HEADER_LENGTH_BYTES:begin], entry, content[begin:])))


def write_tensors(tensors: Mapping[str, Tensor], path: str | os.PathLike[str]) -> None:
    """Write a safetensors file."""
    write_bytes(as_safetensors(tensors), path)


def write_bytes(content: bytes, path: str | os.PathLike[str]) -> None:
    """Write one file, whole or not at all."""
    write_together({Path(path): content})


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write files under temporary names and, once all are there, rename them: the old ones or the new, never a part.

    Where it fails, folders that it made are gone again.
    """
    made: list[Path] = []
    temporary: dict[Path, str] = {}
    try:
        for path, content in contents.items():
            made += _make_folders(path.parent)
            handle, temporary[path] = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary[path], 0o644)
        for path in contents:
            os.replace(temporary[path], path)
    except BaseException as error:
        if isinstance(error, OSError) and error.errno and error.filename is None:  # writing to an open file names none
            error.filename = os.fspath(path)
        for name in temporary.values():
            Path(name).unlink(missing_ok=True)
        for folder in reversed(made):
            with suppress(OSError):  # no longer empty: someone else's now
                folder.rmdir()
        raise


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and those above it; return the new ones, the uppermost first."""
    new = [path for path in (*reversed(folder.parents), folder) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return new
