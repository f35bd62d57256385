"""Extension of the action encoder: where plans lead, measured along the route.

The ego status holds four points of the route. To compare a plan with them a network would have to learn geometry; here
every pose is projected onto the polyline from the ego through these points instead, and gives its distance from the
route, the worst so far, the way along the route, and its heading against it.

Shapes: B scenes, N plans, T poses, S segments of the route.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import torch
from torch import Tensor

from world4scorer.engine.routes.route import POLYLINE_DISTANCES
from world4scorer.engine.selection.corridor import CORRIDOR_HALF_WIDTH

READ_NUMBERS: Final = 5
"""Numbers of a pose: distance to the left, worst distance so far, way along the route, heading as cosine and sine."""
AWAY_SCALE: Final = 4.0
"""Distance from the route that counts as one [m]."""
AWAY_LIMIT: Final = 3.0
"""Largest of these numbers."""
ALONG_SCALE: Final = 20.0
"""Way along the route that counts as one [m]."""


def route_points(ego_status: Tensor) -> Tensor:
    """The route (B, S + 1, 2) [m] from the ego on, in its frame: what the last values of an ego status stand for."""
    distances = ego_status.new_tensor(POLYLINE_DISTANCES)
    ahead = ego_status[:, -2 * len(distances) :].unflatten(1, (-1, 2)) * distances[:, None]
    return torch.cat([torch.zeros_like(ahead[:, :1]), ahead], 1)


class _Projected(NamedTuple):
    """Poses of plans on the nearest segment of a route; (B, N, T) each."""

    distance: Tensor
    """m"""
    left: Tensor
    """Distance to the left of the segment's line [m]."""
    way: Tensor
    """Along the route [m]."""
    direction: Tensor
    """Of the segment [rad]."""


def _project(plans_BNT3: Tensor, route_BS2: Tensor) -> _Projected:
    start, step = route_BS2[:, :-1], route_BS2.diff(dim=1)
    length = step.norm(dim=-1).clamp(min=1e-3)
    ahead = step / length[..., None]
    before = length.cumsum(1) - length
    offset = plans_BNT3[:, :, :, None, :2] - start[:, None, None]
    along = (offset * ahead[:, None, None]).sum(-1)
    left = offset[..., 1] * ahead[:, None, None, :, 0] - offset[..., 0] * ahead[:, None, None, :, 1]
    on_segment = torch.minimum(along.clamp(min=0), length[:, None, None])
    away = torch.hypot(along - on_segment, left)
    nearest = away.argmin(-1, keepdim=True)

    def of_nearest(numbers: Tensor) -> Tensor:
        return numbers.expand_as(away).gather(-1, nearest)[..., 0]

    direction = torch.atan2(ahead[..., 1], ahead[..., 0])[:, None, None]
    way = on_segment + before[:, None, None]
    return _Projected(of_nearest(away), of_nearest(left), of_nearest(way), of_nearest(direction))


def read_route(plans_BNT3: Tensor, route_BS2: Tensor) -> Tensor:
    """Plans along a route (B, N, T * READ_NUMBERS)."""
    distance, left, way, direction = _project(plans_BNT3, route_BS2)
    heading = plans_BNT3[..., 2] - direction
    numbers = (
        (torch.copysign(distance, left) / AWAY_SCALE).clamp(-AWAY_LIMIT, AWAY_LIMIT),
        (distance.cummax(-1).values / AWAY_SCALE).clamp(max=AWAY_LIMIT),
        way / ALONG_SCALE,
        heading.cos(),
        heading.sin(),
    )
    return torch.stack(numbers, -1).flatten(2)


def outside_corridor(plans_BNT3: Tensor, route_BS2: Tensor) -> Tensor:
    """Metres (B, N) by which plans leave the corridor around a route, on average: `engine/selection/corridor.py`."""
    last = (route_BS2[:, -1] - route_BS2[:, -2])[:, None, None]
    beyond = ((plans_BNT3[..., :2] - route_BS2[:, None, None, -1]) * last).sum(-1) > 0
    left = (_project(plans_BNT3, route_BS2).distance - CORRIDOR_HALF_WIDTH).clamp(min=0)
    return torch.where(beyond, 0.0, left).mean(-1)
