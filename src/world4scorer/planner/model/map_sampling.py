"""Plan sampling from maps: what a dense encoder sees where a plan leads.

At every pose of a plan and half-way between poses, the corners and the centre of the car's box are read from the maps
of the encoder; at the poses, the feature map as well, and the forecast of the time of each pose. The worst points so
far are read on their own. The network appends what it reads along the route, if it knows one. A linear layer, zero
before training, adds all of it to the plan's query, as `plan_sampling.py` does with image features.

Shapes: B scenes, N plans, T poses, K = 5 points of a box, M maps, F features of a map cell, D width,
X x Y cells of the feature map, 4X x 4Y cells of maps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import accumulate
from typing import Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.datasets.dense.labels import X_RANGE, Y_RANGE
from world4scorer.engine.scene import vehicle
from world4scorer.planner.model.config import ModelConfig
from world4scorer.planner.model.dense_encoder import MapHeads, Perception
from world4scorer.planner.model.dense_encoder_config import MAP_CLASSES, DenseEncoderConfig
from world4scorer.planner.model.forecast import forecast_maps
from world4scorer.planner.model.plan_sampling import Cameras
from world4scorer.planner.model.route_reading import READ_NUMBERS

BOX_POINTS: Final = (
    (vehicle.REAR_AXLE_TO_CENTRE, 0.0),
    (vehicle.FRONT_OVERHANG, vehicle.HALF_WIDTH),
    (vehicle.FRONT_OVERHANG, -vehicle.HALF_WIDTH),
    (vehicle.REAR_AXLE_TO_CENTRE * 2 - vehicle.FRONT_OVERHANG, vehicle.HALF_WIDTH),
    (vehicle.REAR_AXLE_TO_CENTRE * 2 - vehicle.FRONT_OVERHANG, -vehicle.HALF_WIDTH),
)
"""Forward and left of the rear axle [m]: centre, front left, front right, rear left, rear right."""
STEPS_PER_POSE: Final = 2
"""Times per pose at which maps are read."""
DECISIVE_CLASSES: Final = tuple(MAP_CLASSES.index(name) for name in ("drivable", "vehicle", "person", "red"))
"""Maps of which one bad point decides the outcome of a plan."""
BADNESS: Final = (-1.0, 1.0, 1.0, 1.0)
"""Sign of their logits where they are bad: not drivable, or occupied."""
OCCUPIED: Final = (1.0,)
"""The same for a forecast."""
WORST_SCALE: Final = 4.0
"""Logit that counts as one in the worst so far."""
WORST_LIMIT: Final = 3.0
"""Largest of these numbers."""


class Maps(NamedTuple):
    """Maps of some scenes, for reading along plans."""

    classes: Tensor
    """(B, M, 4X, 4Y) logits of `MAP_CLASSES`"""
    direction: Tensor
    """(B, 2, 2X, 2Y) cosine and sine of lane headings"""
    features: Tensor
    """(B, F, X, Y)"""
    forecast: Tensor | None
    """(B, T, 2X, 2Y) logits of occupancy at the times of a plan's poses, if the encoder makes a forecast"""

    def detach(self) -> Maps:
        """Itself: nothing in it is trained."""
        return self

    @classmethod
    @torch.no_grad()
    def of(cls, heads: MapHeads, perception: Perception) -> Maps:
        """The maps that a frozen encoder's features stand for."""
        features, forecast = perception.features, perception.forecast
        occupied = None if forecast is None else forecast_maps(forecast)
        return cls(heads(features), heads.directions(features), features, occupied)


def map_positions(points: Tensor) -> Tensor:
    """Points (..., 2) [m] as positions for `grid_sample`: -1 to 1 along columns, then rows."""
    x, y = points.unbind(-1)
    along = 2 * (x - X_RANGE[0]) / (X_RANGE[1] - X_RANGE[0]) - 1
    across = 2 * (y - Y_RANGE[0]) / (Y_RANGE[1] - Y_RANGE[0]) - 1
    return torch.stack([across, along], -1)


def box_points(poses: Tensor, points: tuple[tuple[float, float], ...] = BOX_POINTS) -> Tensor:
    """Points (..., K, 2) of the car's box at poses (..., 3), in the ego frame [m]."""
    x, y, heading = poses[..., None, :].unbind(-1)
    forward, left = poses.new_tensor(points).unbind(-1)
    cosine, sine = heading.cos(), heading.sin()
    return torch.stack([x + forward * cosine - left * sine, y + forward * sine + left * cosine], -1)


def read_map(map_BMXY: Tensor, points_BU2: Tensor) -> Tensor:
    """Values (B, U, M) at points [m] by bilinear interpolation; zero beyond the map."""
    read = functional.grid_sample(map_BMXY, map_positions(points_BU2)[:, None], align_corners=False)
    return read[:, :, 0].transpose(1, 2)


ReadMap = Callable[[Tensor, Tensor], Tensor]
"""Values (B, U, M) of maps (B, M, X, Y) at points (B, U, 2) [m]."""


class MapSampling(nn.Module):
    """Plans and maps to an addition to the plans' queries."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.reduce = nn.Linear(DenseEncoderConfig().map_width, config.sampling_width)
        steps = STEPS_PER_POSE * config.poses
        self.worst = config.worst_points
        numbers = steps * (len(BOX_POINTS) * len(MAP_CLASSES) + 2) + config.poses * config.sampling_width
        numbers += steps * len(DECISIVE_CLASSES) if self.worst else 0
        numbers += config.poses * (len(BOX_POINTS) + 1) if config.forecast else 0
        numbers += config.poses * READ_NUMBERS if config.route_reading else 0
        self.out = nn.Linear(numbers, config.width)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def read(self, plans_BNT3: Tensor, readable: object, cameras: Cameras | None = None) -> Tensor:
        """What maps say along plans (B, N, numbers); `cameras` do not matter here."""
        if not isinstance(readable, Maps):
            raise ValueError("scene: without maps; encode it with the model that reads it")
        maps = readable
        scenes, plans = plans_BNT3.shape[:2]
        plans_BNT3 = plans_BNT3.to(maps.classes.dtype)
        before = torch.cat([torch.zeros_like(plans_BNT3[:, :, :1]), plans_BNT3[:, :, :-1]], 2)
        fine = torch.stack([(before + plans_BNT3) / 2, plans_BNT3], 3).flatten(2, 3)
        boxes = box_points(fine)
        logits = read_map(maps.classes, boxes.flatten(1, 3)).view(*boxes.shape[:-1], -1)
        lane = read_map(maps.direction, boxes[..., 0, :].flatten(1, 2)).view(scenes, plans, -1, 2)
        heading = fine[..., 2]
        along = lane[..., 0] * heading.cos() + lane[..., 1] * heading.sin()
        across = lane[..., 1] * heading.cos() - lane[..., 0] * heading.sin()
        centres = box_points(plans_BNT3)[..., 0, :]
        features = functional.gelu(self.reduce(read_map(maps.features, centres.flatten(1, 2))))
        read = [logits.sigmoid().flatten(2), along, across, features.reshape(scenes, plans, -1)]
        if self.worst:
            read.append(worst_so_far(decisive(logits)))
        if maps.forecast is not None:
            met = read_forecast(maps.forecast, boxes[:, :, STEPS_PER_POSE - 1 :: STEPS_PER_POSE])
            read += [met.sigmoid().flatten(2), worst_so_far(met[..., None], OCCUPIED)]
        return torch.cat(read, -1)


def decisive(read: Tensor) -> Tensor:
    """Of values (..., M) of all maps those of `DECISIVE_CLASSES`."""
    return read.index_select(-1, torch.tensor(DECISIVE_CLASSES, device=read.device))


def read_forecast(forecast_BTXY: Tensor, points_BNTK2: Tensor, read: ReadMap = read_map) -> Tensor:
    """Logits (B, N, T, K) of the forecast for the time of each pose, at points around it."""
    scenes, plans, times, points, _ = points_BNTK2.shape
    by_time = points_BNTK2.transpose(1, 2).reshape(scenes * times, plans * points, 2)
    found = read(forecast_BTXY.flatten(0, 1)[:, None], by_time)
    return found.view(scenes, times, plans, points).transpose(1, 2)


def worst_so_far(logits: Tensor, badness: tuple[float, ...] = BADNESS) -> Tensor:
    """The worst that any point of the car has met until each step (..., steps * maps).

    Of logits (..., steps, K, maps) of `DECISIVE_CLASSES`, or of others with their signs. A plan leaves the road or
    collides at its worst point; a linear layer cannot find that among all points.
    """
    bad = logits * logits.new_tensor(badness) / WORST_SCALE
    of_points = reduce(torch.maximum, bad.unbind(-2))  # several times as fast as amax and cummax over a few numbers
    worst = torch.stack(list(accumulate(of_points.unbind(-2), torch.maximum)), -2)
    return worst.clamp(-WORST_LIMIT, WORST_LIMIT).flatten(-2)
