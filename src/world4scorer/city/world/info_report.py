"""Contents of a city dataset as tables, Markdown and JSON.

Example::

    info = city_info("city")
    write_info(info, "city.md")
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from world4scorer.city.render.weather import PRESETS as WEATHERS
from world4scorer.city.streets.errors import CityError
from world4scorer.city.world.info import SITUATIONS, CityInfo, PlaceInfo
from world4scorer.datasets.prepare.progress import human_bytes
from world4scorer.jobs.files import atomic_write

TableText = tuple[str, Sequence[str], list[Sequence[str]]]
"""Title, head and rows."""
TEXT_COLUMNS: Final = ("network", "map", "split", "folder", "places", "selection")
"""Columns of text; the others are numbers."""


def write_info(info: CityInfo, path: str | os.PathLike[str]) -> None:
    """Write JSON or Markdown, by file suffix, atomically."""
    path = Path(path)
    if path.suffix.lower() == ".json":
        text = json.dumps({**asdict(info), "bytes": sum(info.size.values())}, indent=1)
    elif path.suffix.lower() == ".md":
        text = as_markdown(info)
    else:
        raise CityError(f"{path}: unknown suffix; choose .json or .md")
    with atomic_write(path) as stream:
        stream.write(text.encode())


def as_markdown(info: CityInfo) -> str:
    """The tables as Markdown."""
    lines = [f"# {Path(info.root).name}", "", headline(info), "", info.state, ""]
    for title, head, rows in tables(info):
        marks = ["---" if column == 0 or name in TEXT_COLUMNS else "---:" for column, name in enumerate(head)]
        lines += [f"## {title}", "", *(f"| {' | '.join(row)} |" for row in (head, marks, *rows)), ""]
    return "\n".join([*lines, info.attribution, ""])


def headline(info: CityInfo) -> str:
    """Preset, seed, cameras and size in a line."""
    config = info.config
    preset = f"preset {info.preset}" if info.preset else "settings of its own"
    return (
        f"{preset}, seed {config['seed']}, {len(config['cameras'])} cameras of {config['width']} x {config['height']}, "
        f"{human_bytes(sum(info.size.values()))}"
    )


def tables(info: CityInfo) -> list[TableText]:
    """Title, head and rows of each table."""
    splits = info.splits
    names = [split.name for split in splits]
    return [
        (
            "Places",
            ("place", "split", "network", "map", "km of streets", "of network"),
            [
                (place.name, place.split, place.network, place.location, _km(place.place_km), _km(place.network_km))
                for place in info.places
            ],
        ),
        (
            "Scenes of places",
            ("place", "selection", "decision frames", "wanted", "turning", "left", "right", "slow", "starting"),
            [
                (place.name, place.selection, f"{place.decisions:,}", f"{place.decisions_wanted:,}", *_shares(place))
                for place in info.places
            ],
        ),
        (
            "Splits",
            ("split", "folder", "simulations", "logs", "frames", "decision frames", "wanted"),
            [
                (
                    split.name,
                    split.data_split,
                    f"{split.simulations} of {split.simulations_wanted}",
                    f"{split.logs:,}",
                    f"{split.frames:,}",
                    f"{split.decisions:,}",
                    f"{split.decisions_wanted:,}",
                )
                for split in splits
            ],
        ),
        (
            "Situations (share of decision frames)",
            ("situation", *names),
            [
                (flag.replace("_", " "), *(f"{s.share(flag):.1%}" if flag in s.situations else "-" for s in splits))
                for flag in SITUATIONS
            ],
        ),
        (
            "Weather (share of frames)",
            ("weather", *names),
            [
                (
                    weather.replace("_", " "),
                    *(f"{split.weather[weather] / split.frames:.1%}" if split.frames else "-" for split in splits),
                )
                for weather in WEATHERS
            ],
        ),
        ("Size", ("part", "bytes"), [(part, human_bytes(size)) for part, size in info.size.items()]),
    ]


def _shares(place: PlaceInfo) -> list[str]:
    flags = (("left_turn", "right_turn"), ("left_turn",), ("right_turn",), ("slow",), ("start",))
    return [f"{place.share(*names):.1%}" if place.situations.keys() & set(names) else "-" for names in flags]


def _km(length: float | None) -> str:
    return "-" if length is None else f"{length:.1f}"
