"""Outcome labels of plans in clips, from logged boxes and the drivable raster.

>>> label_plans(plans, surroundings)         # (N, 7), columns of `V1_COLUMNS`

Plans are rear-axle poses at 0.5, 1.0, ... 4.0 s; the car's box is centred 1.35 m ahead. Other agents follow the log.

NC    1 unless, at one of the eight times, the box meets that of an obstacle. Obstacles whose centre lies more than
      0.5 m behind the car's centre, along its heading, are ignored: they ran into it.
TTC   The same with the car one step ahead: its pose of time k + 1 among the obstacles of time k, for all eight times.
      The pose after the last is the last one moved on by the last step.
EP    The plan's end, measured along the direction from the ego to the expert's end, over the distance of the
      expert's end; from 0 to 1. Where the expert came no farther than 5 m, 1.
C     1 if accelerations are below 9 m/s^2 and yaw rates below 1.5 rad/s at all times but the first and the last. Both
      are central differences over one second: of positions the second one, of headings the first. The ego is at the
      origin at the beginning.
DAC   The share of the eight positions that are drivable; positions outside the raster are.
DDC   Not known, and not trained: 1.
PDMS  NC * DAC * (5 EP + 5 TTC + 2 C) / 12.

Shapes: N plans, T = 8 poses, M obstacles of all times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world4scorer.driving.clips.drivable import RASTER_SHAPE, Bits
from world4scorer.driving.clips.outcome_kernels import label_kernel
from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.engine.scene.indices import PLAN_POSES
from world4scorer.engine.scene.plan import as_plans


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Everything that the labels of plans depend on at one sample, in ego axes."""

    token: str
    boxes: NDArray[np.float64]
    """(M, 5) x, y [m], heading [rad], half length, half width [m] of obstacles at 0.5, 1.0, ... 4.0 s."""
    offsets: NDArray[np.int64]
    """(T + 1,) time k has the boxes from `offsets[k]` to before `offsets[k + 1]`."""
    drivable: Bits
    """(120, 100) raster, see `drivable`."""
    expert_end: NDArray[np.float64]
    """(2,) expert position at 4 s [m]."""

    def __post_init__(self) -> None:
        assert self.offsets.shape == (PLAN_POSES + 1,) and self.offsets[-1] == len(self.boxes)
        assert self.drivable.shape == RASTER_SHAPE


def label_plans(plans: Any, surroundings: Surroundings) -> NDArray[np.float64]:
    """Labels (N, 7) of plans (N, 8, 3), in the order of `V1_COLUMNS`."""
    poses = as_plans(plans, surroundings.token)
    table = np.empty((len(poses), len(V1_COLUMNS)))
    boxes = np.ascontiguousarray(surroundings.boxes, np.float64)
    end = np.ascontiguousarray(surroundings.expert_end, np.float64)
    label_kernel(poses, boxes, surroundings.offsets, surroundings.drivable, end, table)
    return table
