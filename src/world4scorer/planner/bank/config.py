"""Configuration of a bank: sizes, quota and ranges of perturbations."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from enum import IntEnum
from typing import Any, Final

MAX_CANDIDATES: Final = 64
"""Candidates per scene of a bank."""

Range = tuple[float, float]


class Family(IntEnum):
    """How the logged trajectory was perturbed; values are those of `bank_family.npy`."""

    UNKNOWN = -1
    """Imported, or empty."""
    LATERAL_OFFSET = 0
    """Moves over to one side, and perhaps back."""
    ENDPOINT_SHIFT = 1
    """Drifts to one side until the end."""
    SPEED_SCALE = 2
    """Slower or faster throughout."""
    TIME_WARP = 3
    """Same path and end, other timing."""
    EXTENSION = 4
    """Goes on further and faster."""
    SLOW_FIRST = 5
    """Slow at first, then catches up."""
    DELAY = 6
    """Everything some time later."""
    SHIFTED_TURN = 7
    """Turns too early or too late."""
    HARD_BRAKE = 8
    """Brakes hard, to a stop if there is time."""
    WRONG_BRANCH = 9
    """Turns where the log goes straight, and the other way round."""
    STATIONARY = 10
    """Stays where it is."""

    @property
    def label(self) -> str:
        """Label in tables."""
        return self.name.lower().replace("_", " ")


FAMILIES = tuple(family for family in Family if family is not Family.UNKNOWN)


@dataclass(frozen=True)
class BankConfig:
    """Everything that the content of a bank depends on, besides the scenes. Ranges are uniform."""

    seed: int = 0
    """Seed of all random numbers, combined with a scene's token."""
    kept: int = MAX_CANDIDATES
    """Candidates kept per scene, at most 64."""
    unsafe: int = 32
    """Quota of unsafe candidates (at-fault collision, or off the drivable area). What either kind cannot fill goes to
    the other; training draws 8 of each whatever the shares."""
    proposals: int = 128
    """Candidates proposed and labelled per scene and round."""
    rounds: int = 2
    """Largest number of rounds, while a scene lacks candidates of either kind."""
    duplicate_distance: float = 0.25
    """m; a candidate within this distance of another one at every pose is a duplicate."""
    duplicate_heading: float = 0.1
    """rad; and within this heading difference."""

    lateral_offset: Range = (0.5, 5.0)
    """m to either side."""
    lateral_ramp: Range = (1.2, 3.0)
    """s in which the offset is reached at the log's mean speed."""
    lateral_start: Range = (0.0, 1.5)
    """s before it begins."""
    lateral_return: float = 0.4
    """Share of offsets that return."""
    lateral_acceleration: float = 6.0
    """m/s^2; limit of lateral offsets and wrong turns."""
    grip: float = 10.0
    """m/s^2; plans with a larger lateral acceleration are left out."""
    hardest: float = 8.0
    """m/s^2; limit of speed changes."""
    steepest: float = 0.7
    """Largest slope of an offset: metres sideways per metre ahead."""
    endpoint_shift: Range = (1.0, 8.0)
    """m to either side after 4 s."""
    speed_scale: Range = (0.3, 2.0)
    """Times the log's speed, once reached."""
    speed_ramp: Range = (0.5, 1.5)
    """s until the new speed is reached."""
    time_warp: Range = (0.3, 0.9)
    """Largest change of pace; 0.9 comes almost to a stop in between, or goes at almost twice the pace."""
    extension_acceleration: Range = (0.5, 4.0)
    """m/s^2 on top of the log's."""
    extension_start: Range = (0.0, 2.0)
    """s before it begins."""
    slow_first_depth: Range = (0.4, 1.0)
    """Share of the pace that is lost in the middle of the slow part."""
    slow_first_recovery: Range = (0.5, 1.0)
    """Share of what was lost that is caught up later."""
    delay: Range = (0.3, 2.0)
    """s"""
    delay_ramp: Range = (1.6, 2.4)
    """Times the delay: the time in which it builds up."""
    turn_shift: Range = (2.0, 12.0)
    """m earlier or later."""
    least_turn: float = 0.25
    """rad; a log that turns less counts as straight."""
    brake: Range = (3.0, 8.0)
    """m/s^2"""
    brake_start: Range = (0.0, 2.0)
    """s before it begins."""
    branch_start: Range = (1.0, 20.0)
    """m before a wrong turn begins."""
    branch_radius: Range = (6.0, 20.0)
    """m"""
    branch_angle: Range = (0.6, 1.8)
    """rad"""
    standing: float = 3.0
    """m; logs shorter than this stand still; plans with another path then start from standstill."""
    set_off: Range = (0.8, 2.5)
    """m/s^2; largest acceleration from standstill."""
    fastest: float = 25.0
    """m/s; no plan speeds up beyond this."""

    share_lateral_offset: float = 5.0
    """Share of proposals of this family, relative to the other shares."""
    share_endpoint_shift: float = 4.0
    """Share of proposals of this family."""
    share_speed_scale: float = 3.0
    """Share of proposals of this family."""
    share_time_warp: float = 2.0
    """Share of proposals of this family."""
    share_extension: float = 4.0
    """Share of proposals of this family."""
    share_slow_first: float = 2.0
    """Share of proposals of this family."""
    share_delay: float = 2.0
    """Share of proposals of this family."""
    share_shifted_turn: float = 2.0
    """Share of proposals of this family."""
    share_hard_brake: float = 2.0
    """Share of proposals of this family."""
    share_wrong_branch: float = 4.0
    """Share of proposals of this family."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "Range":
                if len(value) != 2 or not 0.0 <= value[0] <= value[1] < float("inf"):
                    raise ValueError(f"{field.name}: {value} is no range; give two rising numbers from 0 on")
                object.__setattr__(self, field.name, (float(value[0]), float(value[1])))
            elif not 0.0 <= value < float("inf"):
                raise ValueError(f"{field.name}: {value}; must be a number from 0 on")
        if not 1 <= self.kept <= MAX_CANDIDATES:
            raise ValueError(f"kept: {self.kept}; a bank has at most {MAX_CANDIDATES} per scene")
        if self.unsafe > self.kept:
            raise ValueError(f"unsafe: {self.unsafe} of {self.kept} places")
        if self.proposals < 1 or self.rounds < 1:
            raise ValueError(f"proposals, rounds: {self.proposals}, {self.rounds}; at least one is needed")
        if self.delay_ramp[0] < 1.5:
            raise ValueError(f"delay_ramp: begins at {self.delay_ramp[0]}; below 1.5 a plan would go backwards")
        if not self.hardest:
            raise ValueError("hardest: 0; without acceleration no pace can change")
        for name in ("time_warp", "slow_first_depth", "slow_first_recovery"):
            if getattr(self, name)[1] > 1.0:
                raise ValueError(f"{name}: ends at {getattr(self, name)[1]}; more than 1 would go backwards or ahead")
        if not any(self.shares.values()):
            raise ValueError("all shares are 0; at least one family must have proposals")

    @property
    def shares(self) -> dict[Family, float]:
        """Share of the proposals by family; `STATIONARY` has a single proposal and no share."""
        return {
            family: getattr(self, f"share_{family.name.lower()}")
            for family in FAMILIES
            if family is not Family.STATIONARY
        }

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as JSON would have them."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
