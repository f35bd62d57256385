"""Street geometry: resampled centrelines, bands along them, merged outlines.

Lines are (n, 2) arrays [m]. Many lines at once are concatenated vertices (V, 2) with offsets `start` (lines + 1,).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray

from world4scorer.city.streets.errors import CityError
from world4scorer.engine.scene.geometry import Floats, arc_length_hypot

Line = Floats
Shapes = NDArray[np.object_]

MIN_SPACING: Final = 0.25
"""Minimum spacing of vertices [m]; networks are rounded to centimetres, so closer ones have noisy directions."""
MAX_SPACING: Final = 1.0
"""Maximum spacing of vertices [m]; routes are matched by nearest vertex, not by nearest point of a segment."""
MAX_MITRE: Final = 2.0
"""Maximum distance of a corner from its vertex, in half widths."""
MIN_HOLE_AREA: Final = 40.0
"""Area below which holes in a carriageway are seams, not islands [m^2]."""
MAX_PIECE_GAP: Final = 8.0
"""Maximum distance between the pieces of one outline [m]."""
JUNCTION_GAP: Final = 1.0
"""Junctions close gaps between their connections up to twice this [m]."""
SIMPLIFY_TOLERANCE: Final = 0.02
"""Tolerance of simplified outlines [m]."""


def resample(line: Line) -> Line:
    """The line with vertices `MIN_SPACING` to `MAX_SPACING` apart and the same ends."""
    steps = np.hypot(*np.diff(line, axis=0).T)
    kept, travelled, length = [0], 0.0, float(steps.sum())
    if length == 0.0:
        raise CityError(f"line at {line[0].tolist()}: its length is 0")
    done = 0.0
    for index, step in enumerate(steps[:-1].tolist(), start=1):
        travelled, done = travelled + step, done + step
        if travelled >= MIN_SPACING and length - done >= MIN_SPACING:
            kept.append(index)
            travelled = 0.0
    points = line[[*kept, len(line) - 1]]
    steps = np.hypot(*np.diff(points, axis=0).T)
    marks = arc_length_hypot(points)
    inserted = [
        np.linspace(a, b, pieces, endpoint=False)
        for a, b, pieces in zip(
            marks[:-1], marks[1:], np.maximum(np.ceil(steps / MAX_SPACING), 1).astype(int), strict=True
        )
    ]
    where = np.concatenate([*inserted, marks[-1:]])
    return np.column_stack([np.interp(where, marks, points[:, 0]), np.interp(where, marks, points[:, 1])])


def fit_to_ends(line: Line, first: Line, last: Line) -> Line:
    """The line moved to start at `first` and end at `last`; vertices shift in proportion to arc length."""
    travelled = arc_length_hypot(line)
    if travelled[-1] == 0.0:
        return np.stack([first, last])
    share = (travelled / travelled[-1])[:, None]
    moved: Line = line + (1.0 - share) * (first - line[0]) + share * (last - line[-1])
    moved[0], moved[-1] = first, last  # to the last bit: lines that join share their vertex
    return moved


def directions(line: Line) -> Line:
    """(2, 2) unit directions at the start and end of a line."""
    ends = np.stack([line[1] - line[0], line[-1] - line[-2]])
    unit: Line = ends / np.hypot(*ends.T)[:, None]
    return unit


def sides(lines: Sequence[Line], half_widths: Sequence[Floats], ends: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """The left and right boundary of each line, vertex by vertex.

    `half_widths` (n,) may vary along a line. Bands are cut perpendicular to the directions `ends` (2, 2), so that
    consecutive bands can share a seam.
    """
    start = np.cumsum([0, *map(len, lines)])
    points, half = np.concatenate(lines), np.concatenate(half_widths)
    ahead = np.zeros_like(points)
    ahead[:-1] = np.diff(points, axis=0)
    last = start[1:] - 1
    ahead[last] = ahead[last - 1]
    ahead /= np.hypot(*ahead.T)[:, None]
    behind = np.roll(ahead, 1, axis=0)
    behind[start[:-1]] = ahead[start[:-1]]
    cut = np.stack(ends)
    behind[start[:-1]] = ahead[start[:-1]] = cut[:, 0]
    behind[last] = ahead[last] = cut[:, 1]
    normal = np.stack([-(ahead + behind)[:, 1], (ahead + behind)[:, 0]], axis=1)
    square = (normal * normal).sum(1)
    # |normal| is 2 cos(a/2) at a corner of angle a; the mitre lies at 1 / cos(a/2).
    reach = np.minimum(2.0 / np.maximum(square, 1e-9), MAX_MITRE / np.sqrt(np.maximum(square, 1e-9)))
    outward = normal * (reach * half)[:, None]
    cuts = start[1:-1]
    return np.split(points + outward, cuts), np.split(points - outward, cuts)


def bands(lines: Sequence[Line], half_widths: Sequence[Floats], lefts: list[Line], rights: list[Line]) -> Shapes:
    """Polygons between boundaries; where one crosses itself, in tight bends, the buffered line."""
    rings = [np.concatenate([left, right[::-1]]) for left, right in zip(lefts, rights, strict=True)]
    out: Shapes = shapely.polygons(
        shapely.linearrings(np.concatenate(rings), indices=np.repeat(np.arange(len(rings)), [len(r) for r in rings]))
    )
    for index in np.flatnonzero(~shapely.is_valid(out)).tolist():
        out[index] = grown(shapely.LineString(lines[index]), float(half_widths[index].max()))
    simple: Shapes = shapely.simplify(out, SIMPLIFY_TOLERANCE)
    return simple


def grown(line: shapely.LineString, half_width: float) -> shapely.Polygon:
    """A line buffered with flat ends."""
    return one_piece(shapely.buffer(line, half_width, cap_style="flat", quad_segs=4), 0.0, 0.0)


def line_bands(lines: Sequence[Line], widths: Sequence[float]) -> Shapes:
    """Bands of constant width along lines."""
    halves = [np.full(len(line), width / 2) for line, width in zip(lines, widths, strict=True)]
    return bands(lines, halves, *sides(lines, halves, [directions(line) for line in lines]))


def one_piece(shape: shapely.Geometry, margin: float, reach: float, sharp: bool = False) -> shapely.Polygon:
    """A shape buffered by `margin`, with gaps up to twice `reach` closed and small holes filled, as one polygon."""
    style = {"join_style": "mitre", "mitre_limit": MAX_MITRE} if sharp else {"quad_segs": 4}
    while True:
        closed = shape
        if margin + reach > 0.0:
            closed = shapely.buffer(shapely.buffer(shape, margin + reach, **style), -reach, **style)
        if isinstance(closed, shapely.Polygon) and not closed.is_empty:
            break
        if reach > MAX_PIECE_GAP:
            closed = shapely.convex_hull(shape)
            break
        reach = 2.0 * reach + 0.25
    holes = [ring for ring in closed.interiors if shapely.Polygon(ring).area > MIN_HOLE_AREA]
    return shapely.simplify(shapely.Polygon(closed.exterior, holes), SIMPLIFY_TOLERANCE)
