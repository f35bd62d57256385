"""Configuration of aggregation."""

from __future__ import annotations

from dataclasses import dataclass, field

from world4scorer.driving.closed_loop.disturbance import DisturbanceConfig
from world4scorer.driving.closed_loop.drive_log import Thinning
from world4scorer.driving.closed_loop.driver_spec import FRAMEWISE, DriverSpec
from world4scorer.driving.closed_loop.infraction_monitor import TerminationRules
from world4scorer.planner.training.rollouts import Imitation


@dataclass(frozen=True)
class AggregateConfig:
    """How a planner is driven, taught and measured in each round."""

    rounds: int = 3
    """Most rounds; fewer if a round does not pay."""
    routes: int = 60
    """Routes that are driven in a round, on training streets."""
    simulations: int = 4
    """Simulations that the routes of a round come from, drawn anew in each; 0 for all."""
    driver: str = FRAMEWISE
    """How the planner chooses while it drives, as `w4s drive` names it."""
    imitation: Imitation = "off"
    """Whom plans imitate in scenes that the planner drove into: nobody, or PDM-Closed."""
    epochs: int = 1
    """Passes through logs and own scenes in a round."""
    learning_rate: float = 5e-4
    """Peak value of a round, for the reference batch of the run."""
    scenes: int = 0
    """Scenes of the logs that a round trains on, drawn by seed; 0 for as many as the run."""
    ego_numbers: int = 0
    """Values of the ego status from the first round on: 13 with a route point, 21 with four points more; 0: the run's.
    """
    suite: str = "city-val"
    """Suite that every round is measured on; empty for routes of the run's validation split."""
    evaluation_routes: int = 28
    """Routes of the validation split, if there is no suite."""
    least_gain: float = 1.0
    """Points of Driving Score by which a round must exceed the best before it, or it is the last."""
    target_encoder: str = "city"
    """Encoder of future targets, the one of the run's own targets."""
    disturbance: DisturbanceConfig | None = field(default_factory=DisturbanceConfig)
    """Disturbances of the drives to learn from, not of those that measure; None for none."""
    thinning: Thinning = field(default_factory=Thinning)
    rules: TerminationRules = field(default_factory=TerminationRules)
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("rounds", "routes", "epochs", "evaluation_routes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: {getattr(self, name)}; at least 1")
        if self.learning_rate <= 0:
            raise ValueError(f"learning_rate: {self.learning_rate}; above 0")
        if DriverSpec.parse(self.driver).options is None:
            raise ValueError(f"driver {self.driver!r}: drives without the planner, which would learn nothing from it")
