"""Plans to ego states: resampling, profile fits, LQR tracker, kinematic bicycle."""

from world4scorer.engine.rollout.plans import LqrProfile, roll_out

__all__ = ["LqrProfile", "roll_out"]
