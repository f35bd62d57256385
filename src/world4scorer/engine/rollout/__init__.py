"""Plans to ego states: resampling, profile fits, LQR tracker, kinematic bicycle."""

from world4scorer.engine.rollout.plans import LqrProfile, roll_out, roll_out_batch

__all__ = ["LqrProfile", "roll_out", "roll_out_batch"]
