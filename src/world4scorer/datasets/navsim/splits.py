"""Finding a split by name, and knowing those that neither training nor the choice of a checkpoint may see."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.filters import SceneFilter, Split, read_split
from world4scorer.jobs.data_folder import DataFolder, split_name

DEVKIT_VARIABLE = "NAVSIM_DEVKIT_ROOT"
DEVKIT_FOLDER = Path("navsim/planning/script/config/common/train_test_split")

TEST_SPLITS: Final = (
    "navtest",
    "navhard",
    "navhard_two_stage",
    "warmup_two_stage",
    "warmup_test_e2e",
    "private_test_e2e",
    "private_test_hard_two_stage",
    "competition_test",
    "test",
    "city_test",
)
"""Names of NAVSIM's splits and of the city's, with the folder of logs `test`."""
FLAG: Final = "--i-know-this-is-the-test-split"


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


def check_not_test(name: str, root: Path, purpose: str) -> None:
    """Raise a ValueError for a split that is a known test split, by its name, its tokens or its logs.

    Tokens and logs are compared with the split files that are at hand, in the dataset or in a checkout of the devkit.
    """
    found = _overlap(name, root)
    if found is not None:
        raise ValueError(
            f"{purpose} {name}: {found}; results on a split that training or the choice of a checkpoint has seen mean "
            f"nothing. Cut a validation split out of the training split (`w4s split`), or give {FLAG}"
        )


def _overlap(name: str, root: Path) -> str | None:
    """How a split meets a test split, in words; None if it does not. A folder of logs has only its name."""
    if split_name(name) in TEST_SPLITS:
        return "this is a test split"
    own = Path(name) if name.endswith((".yaml", ".yml")) else split_file(name, root)
    if own is None:
        return None
    split = read_split(own)
    for path in filter(None, (split_file(name, root) for name in TEST_SPLITS)):
        test = read_split(path)
        tokens = (split.filter.token_set or frozenset()) & (test.filter.token_set or frozenset())
        if tokens:
            return f"{len(tokens):,} of its tokens are of the test split {test.name}"
        logs = set(split.filter.log_names or ()) & set(test.filter.log_names or ())
        if logs and split.data_split == test.data_split:
            return f"{len(logs):,} of its logs are of the test split {test.name}"
    return None
