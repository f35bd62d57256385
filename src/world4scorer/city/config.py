"""How large a city dataset is, and of what it is made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from world4scorer.render.cameras import DEFAULT_CAMERAS
from world4scorer.streets.errors import CityError
from world4scorer.streets.places import PLACES

PresetName = Literal["tiny", "quick", "standard"]


@dataclass(frozen=True)
class Share:
    """The part of a split that comes from one place."""

    split: str
    """Name of the split file, e.g. `city_train`."""
    data_split: str
    """Folder of its logs: `trainval` or `test`."""
    place: str
    simulations: int
    """With seeds of their own; each serves many egos."""
    decisions: int
    """Frames that the split lists from here."""


@dataclass(frozen=True)
class CityConfig:
    """Everything that a city dataset depends on: same configuration, same bytes."""

    shares: tuple[Share, ...]
    seed: int = 0
    """Of traffic, egos, scenery and weather."""
    height: int = 112
    """Of images [pixels]."""
    width: int = 196
    """Of images [pixels]."""
    supersample: int = 2
    """Samples across and down a pixel."""
    quality: int = 90
    """Of JPEG files."""
    cameras: tuple[str, ...] = DEFAULT_CAMERAS
    """Which are drawn; all eight are described in the logs."""
    warm_up: float = 40.0
    """Simulated before anything is kept [s]."""
    duration: float = 120.0
    """Simulated for logs [s]."""
    devkit_maps: bool = False
    """Write maps under names that the NAVSIM devkit knows, so that it reads the dataset."""

    def __post_init__(self) -> None:
        for share in self.shares:
            if share.place not in PLACES:
                raise CityError(f"place {share.place!r} is unknown; there are {', '.join(PLACES)}")
        splits = {place: {s.split for s in self.shares if s.place == place} for place in PLACES}
        for place, names in splits.items():
            if len(names) > 1:
                raise CityError(
                    f"place {place!r} is in the splits {', '.join(sorted(names))}; streets must be disjoint"
                )
        if min(self.height, self.width) < 16 or self.supersample < 1 or not 1 <= self.quality <= 100:
            raise CityError(
                f"images of {self.width} x {self.height} at {self.supersample} x supersampling and JPEG quality "
                f"{self.quality}: at least 16 x 16, 1 x, and a quality of 1 to 100"
            )


PRESETS: Final[dict[str, CityConfig]] = {
    "tiny": CityConfig(
        shares=(
            Share("city_train", "trainval", "ingolstadt", 1, 60),
            Share("city_val", "trainval", "braunschweig", 1, 30),
        ),
        height=56,
        width=98,
        warm_up=25.0,
        duration=45.0,
    ),
    "quick": CityConfig(
        shares=(
            Share("city_train", "trainval", "berlin-east", 5, 8000),
            Share("city_val", "trainval", "berlin-west", 1, 1000),
            Share("city_test", "test", "ingolstadt", 1, 150),
            Share("city_test", "test", "braunschweig", 1, 150),
        ),
    ),
    "standard": CityConfig(
        shares=(
            Share("city_train", "trainval", "berlin-east", 20, 30000),
            Share("city_train", "trainval", "wusterhausen", 4, 5000),
            Share("city_val", "trainval", "berlin-west", 3, 3000),
            Share("city_test", "test", "ingolstadt", 3, 1000),
            Share("city_test", "test", "braunschweig", 3, 1000),
        ),
    ),
}
"""tiny: seconds, for tests. quick: minutes on two cores. standard: a quarter of an hour."""


def preset(name: PresetName, **changes: object) -> CityConfig:
    """A named configuration, with changes to its fields."""
    return replace(PRESETS[name], **changes)  # type: ignore[arg-type]
