"""The scene store: a folder with one Arrow file per log, scenes by token.

>>> store = SceneStore("scenes")
>>> scene = store["ba1bd196cdf43379"]
>>> for scene in store.scenes(store.logs[0]):   # in time order
...     ...
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from world4scorer.datasets.store.index import ShardEntry, read_entries
from world4scorer.datasets.store.schema import StoreError
from world4scorer.datasets.store.shard import Shard
from world4scorer.datasets.store.shard_writer import shard_path
from world4scorer.engine.scene.scene import Scene
from world4scorer.jobs.names import safe_name


class UnknownTokenError(StoreError, KeyError):
    """A token that is not in the store."""

    def __str__(self) -> str:
        return str(self.args[0])


class SceneStore:
    """Scenes by token. Opening reads the index; a shard is mapped when one of its scenes is first read.

    Safe to share between threads and to send to other processes (they open it again).
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise StoreError(f"{self.folder}: no such store; `w4s prepare` makes one")
        self._entries: dict[str, ShardEntry] = {entry.log_name: entry for entry in read_entries(self.folder)}
        self._locations: dict[str, tuple[str, int]] = {}
        for name, entry in self._entries.items():
            for token in (name, *entry.tokens):
                safe_name(f"{self.folder}: token or log name", token, StoreError)
            self._locations.update(zip(entry.tokens, ((name, row) for row in range(len(entry.tokens))), strict=True))
        if len(self._locations) != sum(len(entry.tokens) for entry in self._entries.values()):
            raise StoreError(self._repeated())
        self._shards: dict[str, Shard] = {}

    def _repeated(self) -> str:
        seen: dict[str, str] = {}
        for name, entry in self._entries.items():
            for token in entry.tokens:
                if token in seen:
                    return (
                        f"{self.folder}: token {token!r} lies in logs {seen[token]!r} and {name!r}; remove one of them"
                    )
                seen[token] = name
        raise AssertionError("no token is repeated")

    def __reduce__(self) -> tuple[type[SceneStore], tuple[Path]]:
        return SceneStore, (self.folder,)

    def __repr__(self) -> str:
        return f"SceneStore({str(self.folder)!r}: {len(self)} scenes of {len(self._entries)} logs)"

    def __len__(self) -> int:
        return len(self._locations)

    def __contains__(self, token: object) -> bool:
        return token in self._locations

    def __iter__(self) -> Iterator[str]:
        return iter(self._locations)

    def __getitem__(self, token: str) -> Scene:
        name, row = self._find(token)
        return self.shard(name).scene(row)

    @property
    def tokens(self) -> list[str]:
        """All tokens: log by log, each in time order."""
        return list(self._locations)

    @property
    def logs(self) -> list[str]:
        """The names of the logs, sorted."""
        return list(self._entries)

    @property
    def bytes(self) -> int:
        """Size of all shards on disk."""
        return sum(entry.bytes for entry in self._entries.values())

    @property
    def digest(self) -> str:
        """What tells these scenes from others, wherever the store lies."""
        checksums = sorted((name, entry.checksum) for name, entry in self._entries.items())
        return hashlib.sha256(json.dumps(checksums).encode()).hexdigest()[:16]

    def log_of(self, token: str) -> str:
        """Return the log of a token."""
        return self._find(token)[0]

    def time_us(self, token: str) -> int:
        """Return the time stamp of a token [us]."""
        name, row = self._find(token)
        return self._entries[name].time_us[row]

    def tokens_of(self, log_name: str) -> Sequence[str]:
        """Return the tokens of a log in time order."""
        return tuple(self._entry(log_name).tokens)

    def in_time_order(self, tokens: Iterable[str]) -> list[str]:
        """Sort tokens log by log, each log by time."""
        return sorted(tokens, key=lambda token: (self.log_of(token), self.time_us(token)))

    def scenes(self, log_name: str | None = None) -> Iterator[Scene]:
        """Yield the scenes of a log in time order, or those of all logs, log by log."""
        if log_name is None:
            return chain.from_iterable(self.scenes(name) for name in self._entries)
        self._entry(log_name)
        shard = self.shard(log_name)
        return (shard.scene(row) for row in range(len(shard)))

    def extras(self, token: str) -> dict[str, Any]:
        """Return the extra values stored with a scene."""
        name, row = self._find(token)
        return self.shard(name).extras(row)

    def provenance(self, log_name: str) -> dict[str, Any]:
        """Return the provenance of a log's scenes."""
        self._entry(log_name)
        return self.shard(log_name).provenance

    def verify(self) -> None:
        """Read every shard and raise a StoreError that names damaged ones."""
        damaged = []
        for name in self._entries:
            try:
                Shard(shard_path(self.folder, name)).verify()
            except StoreError as error:
                damaged.append(str(error))
        if damaged:
            raise StoreError("\n".join(damaged))

    def shard(self, log_name: str) -> Shard:
        """Return the open shard of a log."""
        shard = self._shards.get(log_name)
        if shard is None:
            shard = Shard(shard_path(self.folder, log_name))
            if shard.tokens != self._entries[log_name].tokens:
                raise StoreError(f"{shard.path}: changed since the store was opened; open the store again")
            self._shards[log_name] = shard
        return shard

    def _entry(self, log_name: str) -> ShardEntry:
        if log_name not in self._entries:
            raise StoreError(f"{self.folder}: no log {log_name!r} in this store of {len(self._entries)} logs")
        return self._entries[log_name]

    def _find(self, token: str) -> tuple[str, int]:
        location = self._locations.get(token)
        if location is None:
            raise UnknownTokenError(f"{self.folder}: no scene {token!r} among the {len(self)} of this store")
        return location
