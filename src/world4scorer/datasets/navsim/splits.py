"""Finding a split by name."""

from __future__ import annotations

import os
from pathlib import Path

from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.filters import SceneFilter, Split, read_split
from world4scorer.jobs.data_folder import DataFolder

DEVKIT_VARIABLE = "NAVSIM_DEVKIT_ROOT"
DEVKIT_FOLDER = Path("navsim/planning/script/config/common/train_test_split")


def find_split(name: str, root: Path) -> Split:
    """Return a split: a YAML file, the name of one, or the name of a folder of logs (all of its moments).

    Names are looked for in `<root>/config/train_test_split`, then in a devkit checkout that the environment variable
    NAVSIM_DEVKIT_ROOT points to.
    """
    if name.endswith((".yaml", ".yml")):
        return read_split(name)
    if not root.is_dir():
        raise DatasetError(f"{root}: no such folder; --data names the one that holds navsim_logs and maps")
    data, path = DataFolder(root), split_file(name, root)
    if path is not None:
        return read_split(path)
    if data.logs(name).is_dir():
        return Split(name, name, SceneFilter(frame_interval=1))
    places = ", ".join(str(folder) for folder in _folders(root))
    raise DatasetError(
        f"split {name!r}: no {name}.yaml in {places}, and no folder {data.logs(name)}; give the path of the "
        f"YAML file, or set {DEVKIT_VARIABLE} to a checkout of the devkit, which has the official splits"
    )


def split_file(name: str, root: Path) -> Path | None:
    """The YAML file of a named split, in the dataset or in a checkout of the devkit; None if neither has it."""
    paths = [folder / f"{name}.yaml" for folder in _folders(root)]
    return next((path for path in paths if path.is_file()), None)


def _folders(root: Path) -> list[Path]:
    folders = [DataFolder(root).splits]
    if DEVKIT_VARIABLE in os.environ:
        folders.append(Path(os.environ[DEVKIT_VARIABLE]) / DEVKIT_FOLDER)
    return folders
