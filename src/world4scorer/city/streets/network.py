"""Build smooth street networks from those in SUMO's wheel and from generated towns.

OpenStreetMap polylines have sharp corners at which a car's heading would jump. The edges are exported, every corner is
rounded, and the network is rebuilt with detailed connections. Names of edges, signals and signal programs stay.
"""

from __future__ import annotations

import gzip
import os
import re
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.places import Network
from world4scorer.city.streets.sumo import netconvert, sumo_home
from world4scorer.city.streets.town_generator import generate_town
from world4scorer.city.streets.town_plan import TownPlan
from world4scorer.jobs.files import atomic_write

FILLET_LENGTH: Final = 12.0
"""Length replaced by the arc on each side of a corner [m]."""
MIN_CORNER_ANGLE: Final = np.radians(3.0)
"""Smaller corners are not rounded [rad]."""
DEGREES_PER_PIECE: Final = 4.0
MIN_POINT_SPACING: Final = 0.02
"""Minimum distance of points of an edge [m]; networks are written in centimetres."""
LANE_WIDTH: Final = 3.6
"""Default lane width [m]."""
BUILD_OPTIONS: Final = (
    *("--default.lanewidth", f"{LANE_WIDTH}"),
    *("--junctions.internal-link-detail", "20"),
    *("--junctions.corner-detail", "8"),
    *("--junctions.limit-turn-speed", "1.6"),
    *("--default.junctions.radius", "9"),
    *("--no-turnarounds", "true"),  # also as guesses for lanes that have lost theirs
    *("--geometry.avoid-overlap", "true"),
    *("--offset.disable-normalization", "true"),
    "--no-warnings",
)
SIDEWALK_OPTIONS: Final = (
    *("--sidewalks.guess", "true"),
    *("--sidewalks.guess.max-speed", "14"),
    *("--crossings.guess", "true"),
    *("--walkingareas", "true"),
)
FICTIONAL_PROJECTION: Final = "+proj=utm +zone=31 +ellps=WGS84 +datum=WGS84 +units=m +no_defs"
"""Projection of networks that are no real place: they lie in the Gulf of Guinea."""


def build_network(network: Network, path: str | os.PathLike[str]) -> Path:
    """Write the smooth version of a network to `path` (`.net.xml`), atomically; an existing file is kept."""
    path = Path(path)
    if path.exists():
        return path
    with tempfile.TemporaryDirectory(prefix="w4s-network-") as folder:
        prefix = Path(folder) / "plain"
        if isinstance(network.source, TownPlan):
            generate_town(network.source, prefix)
        else:
            _export_plain(network.source, prefix)
        _round_corners(Path(f"{prefix}.edg.xml"))
        _forbid_turning_around(prefix)
        built = Path(folder) / "built.net.xml"
        inputs = [
            part
            for option, ending in (("-n", "nod"), ("-e", "edg"), ("-x", "con"), ("-i", "tll"), ("-t", "typ"))
            if Path(f"{prefix}.{ending}.xml").exists()
            for part in (option, f"{prefix}.{ending}.xml")
        ]
        netconvert([*inputs, "-o", built, *_build_options(network)])
        with atomic_write(path) as stream:
            stream.write(_placed(_without_history(built.read_bytes()), network.origin))
    return path


def _build_options(network: Network) -> list[str]:
    generated = isinstance(network.source, TownPlan)
    return [
        *BUILD_OPTIONS,
        # Where two streets of a generated town meet is a corner that cars slow down for, not a bend of one street.
        *("--geometry.remove", "false" if generated else "true"),
        *(SIDEWALK_OPTIONS if network.guess_sidewalks or generated else ()),
    ]


def _export_plain(source: str, prefix: Path) -> None:
    """Write a network of SUMO's wheel as plain nodes, edges, connections and signals."""
    path = sumo_home() / "tools" / "game" / source
    if not path.is_file():
        raise CityError(f"{path}: SUMO's wheel lacks this network; `pip install --force-reinstall eclipse-sumo`")
    plain = prefix.with_name("source.net.xml")
    data = path.read_bytes()
    plain.write_bytes(gzip.decompress(data) if path.suffix == ".gz" else data)
    netconvert(["-s", plain, "--plain-output-prefix", prefix, "--no-warnings"])


def _placed(text: bytes, origin: tuple[float, float] | None) -> bytes:
    """The network with its origin at a place on the globe, if it has none of its own."""
    if origin is None:
        return text
    easting, northing = origin
    text = re.sub(rb'netOffset="[^"]*"', f'netOffset="{-easting:.2f},{-northing:.2f}"'.encode(), text, count=1)
    return re.sub(rb'projParameter="[^"]*"', f'projParameter="{FICTIONAL_PROJECTION}"'.encode(), text, count=1)


def _without_history(text: bytes) -> bytes:
    """The network without its comment on date and input files, so that the same input gives the same bytes."""
    start, end = text.find(b"<!--"), text.find(b"-->")
    return text[:start] + text[end + 3 :].lstrip() if 0 <= start < end else text


def _round_corners(path: Path) -> None:
    tree = ElementTree.parse(path)
    for edge in tree.getroot().iter("edge"):
        text = edge.get("shape")
        if text:
            points = np.array([[float(value) for value in point.split(",")[:2]] for point in text.split()])
            edge.set("shape", " ".join(f"{x:.2f},{y:.2f}" for x, y in round_corners(points)))
    tree.write(path)


def _forbid_turning_around(prefix: Path) -> None:
    """Remove U-turn connections: no car could drive their tiny arcs."""
    edges = ElementTree.parse(f"{prefix}.edg.xml").iter("edge")
    ends = {edge.get("id"): (edge.get("from"), edge.get("to")) for edge in edges}
    for ending in ("con", "tll"):
        path = Path(f"{prefix}.{ending}.xml")
        if not path.exists():
            continue
        tree = ElementTree.parse(path)
        root = tree.getroot()
        for connection in root.findall("connection"):
            before, after = ends.get(connection.get("from")), ends.get(connection.get("to"))
            if before is not None and after is not None and before == after[::-1]:
                root.remove(connection)
        tree.write(path)


def round_corners(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """A polyline (n, 2) with each inner corner replaced by a quadratic Bezier arc."""
    rounded = [points[0]]
    for before, corner, after in zip(points[:-2], points[1:-1], points[2:], strict=True):
        lengths = np.linalg.norm(corner - before), np.linalg.norm(after - corner)
        if min(lengths) < 0.05:
            continue
        inward, outward = (corner - before) / lengths[0], (after - corner) / lengths[1]
        angle = abs(np.arctan2(inward[0] * outward[1] - inward[1] * outward[0], inward @ outward))
        if angle < MIN_CORNER_ANGLE:
            rounded.append(corner)
            continue
        reach = min(FILLET_LENGTH, lengths[0] / 2, lengths[1] / 2)
        start, end = corner - reach * inward, corner + reach * outward
        pieces = max(3, int(np.degrees(angle) / DEGREES_PER_PIECE))
        for share in np.linspace(0.0, 1.0, pieces + 1):
            rounded.append((1 - share) ** 2 * start + 2 * share * (1 - share) * corner + share**2 * end)
    rounded.append(points[-1])
    line = np.array(rounded)
    # Where two arcs meet, one ends in the point where the next begins.
    distinct = np.linalg.norm(np.diff(line, axis=0), axis=1) > MIN_POINT_SPACING
    kept: NDArray[np.float64] = line[np.concatenate([[True], distinct[:-1], [True]])]
    return kept
