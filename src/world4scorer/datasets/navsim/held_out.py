"""Splits that results are reported on, which neither training nor the choice of a checkpoint may see."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from world4scorer.datasets.navsim.filters import read_split
from world4scorer.datasets.navsim.splits import split_file
from world4scorer.jobs.data_folder import split_name

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
