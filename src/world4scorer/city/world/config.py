"""Configuration of a city dataset: places, splits, sizes, presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, get_args

from world4scorer.city.render.cameras import DEFAULT_CAMERAS
from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.places import PLACES, TOWNS
from world4scorer.city.world.segments import Selection
from world4scorer.datasets.navsim.cameras import CAMERAS

MIN_IMAGE_SIZE, MAX_IMAGE_SIZE = 16, 4096
"""Pixels."""
MAX_SEED: Final = 2_000_000
"""SUMO seeds have 32 bits, and a city uses a thousand of them."""
DATA_SPLITS: Final = ("trainval", "test", "mini")
"""NAVSIM's log folders."""
PresetName = Literal["tiny", "quick", "standard", "large"]
TRAINING_SPLIT: Final = "city_train"
QUICK_TOWNS: Final = ("old-town", "avenues", "circles", "star", "village", "market-town")
"""Generated towns of the preset `quick`."""
SMALL_PLACES: Final = ("wusterhausen-north", "corridor", "grid6", "square")
"""Training places with few junctions."""


@dataclass(frozen=True)
class Share:
    """The part of a split that comes from one place."""

    split: str
    """Name of the split file, e.g. `city_train`."""
    data_split: str
    """Folder of its logs: `trainval` or `test`."""
    place: str
    simulations: int
    """Number of simulations, each with its own seed and many egos."""
    decisions: int
    """Scenes of the split from this place."""
    selection: Selection = "ranked"
    """How segments of drives are selected. ranked: the most interesting ones first, waiting thinned out, for validation
    and test. balanced: by shares of situations (`segment_balance.TARGET_SHARES`), uneventful driving thinned out too,
    for training."""


@dataclass(frozen=True)
class Simulation:
    """One traffic simulation of a share."""

    share: Share
    number: int
    seed: int

    @property
    def name(self) -> str:
        """Name of its files and prefix of its logs' names."""
        return f"{self.share.place}_{self.number:03d}"

    @property
    def decisions(self) -> int:
        """Scenes wanted from it: those of the share, spread evenly."""
        each, rest = divmod(self.share.decisions, self.share.simulations)
        return each + (self.number < rest)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class CityConfig:
    """Configuration of a city dataset; it determines every byte."""

    shares: tuple[Share, ...]
    seed: int = 0
    """Seed of traffic, egos, scenery and weather."""
    height: int = 112
    """Image height [pixels]."""
    width: int = 196
    """Image width [pixels]."""
    supersample: int = 2
    """Samples per pixel and axis."""
    quality: int = 90
    """JPEG quality, 1 to 100."""
    cameras: tuple[str, ...] = DEFAULT_CAMERAS
    """Rendered cameras; logs describe all eight."""
    warm_up: float = 40.0
    """Simulated time before recording [s]."""
    duration: float = 120.0
    """Recorded time [s]."""
    devkit_maps: bool = False
    """Write maps under the NAVSIM devkit's map names, so that it can read the dataset."""
    perturbed: float = 0.0
    """Share of training scenes that are there a second time, seen from a shifted pose; 0 for none."""

    @property
    def simulations(self) -> list[Simulation]:
        """All simulations, each with its own seed."""
        return [
            Simulation(share, number, 1000 * self.seed + 100 * index + number + 1)
            for index, share in enumerate(self.shares)
            for number in range(share.simulations)
        ]

    def __post_init__(self) -> None:
        if not self.shares:
            raise CityError("shares: empty; a city needs at least one")
        for share in self.shares:
            _check_share(share, self.shares)
        splits = {place: {s.split for s in self.shares if s.place == place} for place in PLACES}
        for place, names in splits.items():
            if len(names) > 1:
                raise CityError(
                    f"place {place!r} is in the splits {', '.join(sorted(names))}; streets must be disjoint"
                )
        _check_devkit_maps(self)
        if not 0 <= self.seed <= MAX_SEED:
            raise CityError(f"seed {self.seed}: choose one from 0 to {MAX_SEED:,}")
        size = min(self.height, self.width) >= MIN_IMAGE_SIZE and max(self.height, self.width) <= MAX_IMAGE_SIZE
        if not size or not 1 <= self.supersample <= 4 or not 1 <= self.quality <= 100:
            raise CityError(
                f"images of {self.width} x {self.height} at {self.supersample} x supersampling and JPEG quality "
                f"{self.quality}: at least {MIN_IMAGE_SIZE} x {MIN_IMAGE_SIZE}, at most {MAX_IMAGE_SIZE} x "
                f"{MAX_IMAGE_SIZE}, 1 x to 4 x, and a quality of 1 to 100"
            )
        unknown = [name for name in self.cameras if name not in CAMERAS]
        if unknown or not self.cameras or len(set(self.cameras)) < len(self.cameras):
            raise CityError(
                f"cameras {', '.join(self.cameras) or 'none'}: choose different ones of {', '.join(CAMERAS)}"
            )
        if not 0 <= self.perturbed <= 1:
            raise CityError(f"perturbed {self.perturbed}: a share from 0 to 1")
        if self.warm_up < 0 or self.duration <= 0:
            raise CityError(f"warm-up of {self.warm_up} s, duration of {self.duration} s: both must be positive")


def plain_config(config: CityConfig) -> dict[str, Any]:
    """The configuration as JSON values, without settings that earlier cities did not have and that change nothing."""
    values = {name: value for name, value in asdict(config).items() if (name, value) != ("perturbed", 0.0)}
    shares = [{k: v for k, v in share.items() if (k, v) != ("selection", "ranked")} for share in values["shares"]]
    return {**values, "shares": shares, "cameras": list(values["cameras"])}


def _check_share(share: Share, shares: tuple[Share, ...]) -> None:
    if share.place not in PLACES:
        raise CityError(f"place {share.place!r} is unknown; there are {', '.join(PLACES)}")
    if share.simulations < 1 or share.decisions < 1:
        raise CityError(
            f"place {share.place!r}: {share.simulations} simulations, {share.decisions} frames; at least one"
        )
    if share.selection not in get_args(Selection):
        raise CityError(
            f"place {share.place!r}: selection {share.selection!r}; choose one of {', '.join(get_args(Selection))}"
        )
    if share.data_split not in DATA_SPLITS or not share.split.isidentifier():
        raise CityError(
            f"split {share.split!r} in {share.data_split!r}: want a plain name, in one of {', '.join(DATA_SPLITS)}"
        )
    if any(other.split == share.split and other.data_split != share.data_split for other in shares):
        raise CityError(f"split {share.split!r} is in two folders; one split, one folder")


def _check_devkit_maps(config: CityConfig) -> None:
    networks = {PLACES[share.place].network for share in config.shares}
    nameless = sorted(network.name for network in networks if not network.devkit_location)
    if config.devkit_maps and nameless:
        raise CityError(
            f"devkit_maps: the NAVSIM devkit knows four maps only, and none for {', '.join(nameless)}; "
            "leave their shares out (`preset(name, devkit_maps=True)` does)"
        )


def _training(scenes: Mapping[str, tuple[int, int]]) -> tuple[Share, ...]:
    """Training shares from the numbers of simulations and scenes of each place."""
    return tuple(
        Share(TRAINING_SPLIT, "trainval", place, simulations, decisions, "balanced")
        for place, (simulations, decisions) in scenes.items()
    )


# Seeds of simulations depend on the position of their share: shares of other splits keep theirs, training shares are
# appended.
STANDARD_EVALUATION: Final = (
    Share("city_val", "trainval", "berlin-west", 3, 3000),
    Share("city_test", "test", "ingolstadt", 3, 1000),
    Share("city_test", "test", "braunschweig", 3, 1000),
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
            *_training({"berlin-east": (2, 2000)}),
            Share("city_val", "trainval", "berlin-west", 1, 1000),
            Share("city_test", "test", "ingolstadt", 1, 150),
            Share("city_test", "test", "braunschweig", 1, 150),
            *_training(dict.fromkeys(QUICK_TOWNS, (1, 1000))),
        )
    ),
    "standard": CityConfig(
        shares=(
            *_training({"berlin-east": (8, 9000), "wusterhausen": (3, 2600)}),
            *STANDARD_EVALUATION,
            *_training(dict.fromkeys(SMALL_PLACES, (1, 900))),
            *_training(dict.fromkeys(TOWNS, (3, 2200))),
        )
    ),
    "large": CityConfig(
        shares=(
            *_training({"berlin-east": (35, 36_000), "wusterhausen": (10, 10_000)}),
            *STANDARD_EVALUATION,
            *_training(dict.fromkeys(SMALL_PLACES, (4, 3500))),
            *_training(dict.fromkeys(TOWNS, (12, 10_000))),
        )
    ),
}
"""tiny: seconds, for tests. quick: minutes on two cores. standard: for reported results. large: for pretraining."""


def preset(name: PresetName, **changes: object) -> CityConfig:
    """A preset with some fields changed.

    With `devkit_maps` places without a devkit map name are left out, and their scenes come from the first share.
    """
    base = PRESETS[name]
    if changes.get("devkit_maps") and "shares" not in changes:
        base = replace(base, shares=_devkit_shares(base.shares))
    return replace(base, **changes)  # type: ignore[arg-type]


def _devkit_shares(shares: tuple[Share, ...]) -> tuple[Share, ...]:
    kept = [share for share in shares if PLACES[share.place].network.devkit_location]
    left_out = [share for share in shares if share not in kept]
    first = replace(
        kept[0],
        simulations=kept[0].simulations + sum(share.simulations for share in left_out),
        decisions=kept[0].decisions + sum(share.decisions for share in left_out),
    )
    return (first, *kept[1:])
