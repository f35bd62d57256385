"""Files of views with dense labels: Arrow, memory-mapped, one row per frame.

>>> views = DenseViews.open(sorted(Path("city/dense/city_train").glob("*.arrow")))
>>> views.images(0).shape, views.labels(0).bits.shape
((4, 84, 196, 3), (160, 128))

Shapes: C cameras, H x W pixels of a view after cropping.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from PIL import Image

from world4scorer.datasets.dense.labels import PIXEL_STRIDE, DenseLabels
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.jobs.arrow_files import map_arrow, write_arrow
from world4scorer.jobs.checksums import check_checksum

FORMAT: Final = "world4scorer-dense-views-1"
NOTES: Final = b"world4scorer"
MAKE_AGAIN: Final = "delete it and make it again with `w4s city dense`"
SCHEMA: Final = pa.schema(
    [
        ("token", pa.string()),
        ("log", pa.string()),
        ("pose", pa.list_(pa.float64(), 3)),
        ("images", pa.list_(pa.binary())),
        ("twins", pa.list_(pa.binary())),
        ("labels", pa.binary()),
    ]
)


@dataclass(frozen=True)
class ViewGeometry:
    """Sizes and calibration that all frames of a file share."""

    height: int
    """Of images as stored [pixels]."""
    width: int
    crop_top: int
    """Rows at the top that are not used."""
    intrinsics: list[list[list[float]]]
    """(C, 3, 3) of the cropped images"""
    rotation: list[list[list[float]]]
    """(C, 3, 3) camera axes -> ego axes"""
    translation: list[list[float]]
    """(C, 3) m"""

    @property
    def label_shape(self) -> tuple[int, int, int]:
        """Cameras, rows and columns of pixel labels."""
        half = PIXEL_STRIDE // 2
        rows = len(range(self.crop_top + half, self.height, PIXEL_STRIDE))
        return len(self.intrinsics), rows, len(range(half, self.width, PIXEL_STRIDE))


@dataclass(frozen=True, eq=False)
class DenseFrame:
    """A row to be written."""

    token: str
    log: str
    pose: NDArray[np.float64]
    """(3,) x, y [m], heading [rad] from which the views were rendered"""
    images: Sequence[bytes]
    """C JPEG files"""
    twins: Sequence[bytes] | None
    """The same in another weather"""
    labels: DenseLabels


@contextmanager
def write_dense_views(path: Path, geometry: ViewGeometry) -> Iterator[Any]:
    """A function that appends the frames of a log to a new file; the file appears whole, at the end."""
    notes = json.dumps({"format": FORMAT, **asdict(geometry)}).encode()
    with write_arrow(path, SCHEMA.with_metadata({NOTES: notes})) as writer:

        def append(frames: Sequence[DenseFrame]) -> None:
            columns = {
                "token": [frame.token for frame in frames],
                "log": [frame.log for frame in frames],
                "pose": [frame.pose.tolist() for frame in frames],
                "images": [list(frame.images) for frame in frames],
                "twins": [None if frame.twins is None else list(frame.twins) for frame in frames],
                "labels": [frame.labels.pack() for frame in frames],
            }
            writer.write_batch(pa.RecordBatch.from_pydict(columns, schema=SCHEMA))

        yield append


class DenseViews:
    """Frames of several files, by index. Picklable: files are opened again in another process.

    The checksum of a file is compared when one of its frames is first read: all files together may take gigabytes.
    """

    def __init__(self, paths: Sequence[Path], geometry: ViewGeometry, tokens: Sequence[str], logs: Sequence[str]):
        self.paths, self.geometry = tuple(paths), geometry
        self.tokens, self.logs = tuple(tokens), tuple(logs)

    @classmethod
    def open(cls, paths: Sequence[Path]) -> DenseViews:
        """The frames of files that were written with the same geometry, in the order given."""
        if not paths:
            raise DatasetError("no files of dense views; `w4s city dense` makes them")
        geometries = {_read_geometry(path) for path in paths}
        if len(geometries) > 1:
            raise DatasetError(f"{paths[0].parent}: files with different cameras or image sizes; use one city")
        views = cls(paths, ViewGeometry(**json.loads(geometries.pop())), (), ())
        views.tokens = tuple(views._table["token"].to_pylist())
        views.logs = tuple(views._table["log"].to_pylist())
        return views

    def __len__(self) -> int:
        return len(self.tokens)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_tables", "_table", "_unchecked")}

    @cached_property
    def _tables(self) -> list[pa.Table]:
        tables = []
        for path in self.paths:
            with _map(path, check=False) as reader:
                tables.append(reader.read_all().replace_schema_metadata(None))
        return tables

    @cached_property
    def _table(self) -> pa.Table:
        return pa.concat_tables(self._tables)

    @cached_property
    def _unchecked(self) -> list[tuple[int, int, Path]]:
        """Files whose checksums have not been compared yet, with the range of their frames."""
        ends = np.cumsum([len(table) for table in self._tables]).tolist()
        return list(zip([0, *ends[:-1]], ends, self.paths, strict=True))

    def _check(self, index: int) -> None:
        """Compare the checksum of the file of a frame, if that was not done yet."""
        for entry in self._unchecked:
            begin, end, path = entry
            if begin <= index < end:
                check_checksum(path, DatasetError, MAKE_AGAIN)
                self._unchecked.remove(entry)
                return

    @cached_property
    def poses(self) -> NDArray[np.float64]:
        """(frames, 3) from which the views were rendered."""
        return np.concatenate([np.asarray(part.flatten()) for part in self._table["pose"].chunks]).reshape(-1, 3)

    @cached_property
    def has_twin(self) -> NDArray[np.bool_]:
        """(frames,) whether the views were rendered in another weather, too."""
        return np.asarray(self._table["twins"].is_valid())

    def images(self, index: int, twin: bool = False) -> NDArray[np.uint8]:
        """(C, H, W, 3) views of a frame, without the rows that are cropped."""
        self._check(index)
        files = self._table["twins" if twin else "images"][index].as_py()
        return np.stack([np.asarray(Image.open(io.BytesIO(file)))[self.geometry.crop_top :] for file in files])

    def labels(self, index: int) -> DenseLabels:
        """Labels of a frame."""
        self._check(index)
        return DenseLabels.unpack(self._table["labels"][index].as_py(), self.geometry.label_shape)


def _read_geometry(path: Path) -> str:
    with _map(path, check=False) as reader:
        metadata = reader.schema.metadata or {}
    try:
        notes = json.loads(metadata[NOTES])
        if notes.pop("format") != FORMAT:
            raise KeyError("format")
    except (KeyError, ValueError) as error:
        raise DatasetError(f"{path}: not a file of dense views ({error}); {MAKE_AGAIN}") from error
    return json.dumps(notes, sort_keys=True)


def _map(path: Path, check: bool) -> Any:
    return map_arrow(path, DatasetError, "file of dense views", MAKE_AGAIN, check=check)
