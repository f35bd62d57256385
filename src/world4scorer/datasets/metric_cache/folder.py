"""A folder of metric caches as scenes by token."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from world4scorer.datasets.metric_cache.read import FILE_NAME, MetricCache, read_metric_cache
from world4scorer.datasets.navsim.errors import DatasetError

KEPT: Final = 256
"""Scenes kept in memory: a few megabytes each."""


class MetricCacheFolder:
    """Scenes of `LOG/unknown/TOKEN/metric_cache.pkl` by token.

    Files are found where they lie: the folder's own list in `metadata` holds absolute paths and is not read, so a moved
    cache works.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._paths = {path.parent.name: path for path in sorted(self.folder.rglob(FILE_NAME))}
        if not self._paths:
            raise DatasetError(f"{self.folder}: no metric caches (LOG/unknown/TOKEN/{FILE_NAME}) in this folder")
        self.read = lru_cache(KEPT)(self._read)

    def __reduce__(self) -> tuple[type[MetricCacheFolder], tuple[Path]]:
        return MetricCacheFolder, (self.folder,)

    def __len__(self) -> int:
        return len(self._paths)

    def __contains__(self, token: object) -> bool:
        return token in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __getitem__(self, token: str) -> MetricCache:
        return self.read(token)

    def _read(self, token: str) -> MetricCache:
        if token not in self._paths:
            raise DatasetError(f"{self.folder}: no metric cache of {token!r} among its {len(self)}")
        return read_metric_cache(self._paths[token])
