"""World models for planning: observations, imagined rollouts, action scaling.

The search and the outcome head need nothing else, so that a model of another make can take the place of ours
(`world4scorer.cube.model.released`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world4scorer.cube.about import ABOUT
from world4scorer.cube.errors import CubeError
from world4scorer.cube.model.lewm import BLOCK_STEPS, Lewm, LewmConfig
from world4scorer.cube.simulator.camera import RenderQuality
from world4scorer.cube.simulator.cube_env import ACTION, CubeSimulator, CubeState, Floats
from world4scorer.jobs.files import read_json, write_json
from world4scorer.jobs.tensor_files import read_tensors, write_tensors

WEIGHTS: Final = "lewm.safetensors"
DESCRIPTION: Final = "lewm.json"
MAX_BATCH: Final = 4096
"""Candidates that are imagined together: more would only leave the caches."""


class WorldModel(Protocol):
    """Interface of a world model for planners."""

    latent: int
    """Numbers of a latent."""
    scale: ActionScale
    """Unit of its actions."""

    def look(self, simulator: CubeSimulator) -> NDArray[Any]:
        """Observation of the simulator's current state."""
        ...

    def look_at(self, simulator: CubeSimulator, state: CubeState) -> NDArray[Any]:
        """Observation of a recorded state; may reset the simulator to it."""
        ...

    def encode(self, seen: NDArray[Any]) -> Tensor:
        """Latents (moments, latent) of what it sees of moments."""
        ...

    def imagine(self, start: Tensor, actions: Tensor) -> Tensor:
        """Latents (starts, candidates, blocks, latent) after each block of actions (starts, candidates, blocks, 25)."""
        ...


@dataclass(frozen=True)
class ActionScale:
    """Actions of the simulator against those of the model: of mean 0 and standard deviation 1 over the data."""

    mean: Floats
    std: Floats

    @classmethod
    def of(cls, actions: Floats) -> ActionScale:
        """The scale of recorded actions (…, 5)."""
        flat = actions.reshape(-1, ACTION)
        std = flat.std(0)
        if not np.all(std > 0):
            raise CubeError("an action never varies in the episodes: they cannot have come from the expert")
        return cls(flat.mean(0), std)

    def to_model(self, actions: Floats) -> Floats:
        """Actions of the simulator (…, 5) in the model's unit."""
        return (actions - self.mean) / self.std

    def to_simulator(self, blocks: Tensor) -> Floats:
        """Action blocks (…, blocks, 25) as actions of the simulator (…, steps, 5)."""
        steps = blocks.double().numpy().reshape(*blocks.shape[:-2], -1, ACTION)
        return steps * self.std + self.mean

    def bounds(self) -> tuple[Tensor, Tensor]:
        """Least and most of an action block (25,) in the model's unit."""
        low, high = self.to_model(-np.ones(ACTION)), self.to_model(np.ones(ACTION))
        return torch.from_numpy(np.tile(low, BLOCK_STEPS)).float(), torch.from_numpy(np.tile(high, BLOCK_STEPS)).float()


class LewmWorldModel:
    """`Lewm` with its action scale, as planning uses it."""

    def __init__(self, network: Lewm, scale: ActionScale, camera: RenderQuality = "fast") -> None:
        """`camera` is the kind of pictures that the network was trained on, if it sees pictures."""
        self.network, self.scale, self.camera = network.eval(), scale, camera
        self.latent = network.config.latent

    def look(self, simulator: CubeSimulator) -> NDArray[Any]:
        """A state observation or a picture, as the model was trained."""
        if self.network.config.sees == "state":
            return simulator.observation()
        return simulator.picture(self.network.config.image, self.camera)

    def look_at(self, simulator: CubeSimulator, state: CubeState) -> NDArray[Any]:
        """Observation of a recorded state."""
        if self.network.config.sees == "state":
            return state.observation
        simulator.start_at(state)
        return self.look(simulator)

    @torch.inference_mode()
    def encode(self, seen: NDArray[Any]) -> Tensor:
        """Latents of observations (moments, 28) or pictures (moments, height, width, 3)."""
        return self.network.encode(as_input(torch.from_numpy(seen)))

    @torch.inference_mode()
    def imagine(self, start: Tensor, actions: Tensor) -> Tensor:
        """Predicted latents of candidates."""
        starts, candidates = actions.shape[:2]
        if starts * candidates <= MAX_BATCH:
            return self.network.roll_out(start, actions)
        at_once = max(1, MAX_BATCH // candidates)
        parts = zip(start.split(at_once), actions.split(at_once), strict=True)
        return torch.cat([self.network.roll_out(*part) for part in parts])

    def save(self, folder: Path) -> None:
        """Write weights and description."""
        folder.mkdir(parents=True, exist_ok=True)
        scale = {"mean": self.scale.mean.tolist(), "std": self.scale.std.tolist()}
        described = {"sizes": asdict(self.network.config), "camera": self.camera, "actions": scale}
        write_json(folder / DESCRIPTION, described)
        write_tensors(self.network.state_dict(), folder / WEIGHTS)

    @classmethod
    def load(cls, folder: Path) -> LewmWorldModel:
        """Read what `save` wrote; raises CubeError if there is no such model."""
        if not (folder / WEIGHTS).exists():
            raise CubeError(f"{folder} holds no finished world model: run `w4s cube world-model` with this folder")
        described = read_json(folder / DESCRIPTION, CubeError)
        try:
            network = Lewm(LewmConfig(**described["sizes"]))
            network.load_state_dict(read_tensors(folder / WEIGHTS))
            scale = ActionScale(*(np.asarray(described["actions"][name]) for name in ("mean", "std")))
        except (KeyError, TypeError, RuntimeError, ValueError) as error:
            raise CubeError(f"{folder} does not hold a world model of this version: {error}") from error
        return cls(network, scale, described.get("camera", "fast"))


def as_input(seen: Tensor) -> Tensor:
    """Network input: state observations unchanged, uint8 images (…, height, width, 3) as centred channels."""
    if seen.dtype != torch.uint8:
        return seen.float()
    return (seen.movedim(-1, -3).float() / 255 - 0.5) / 0.5


def held_out_episodes(folder: Path) -> set[int] | None:
    """Expert episodes that a model of ours did not learn from; None for a model of others."""
    if not (folder / ABOUT).exists():
        return None
    held_out = read_json(folder / ABOUT, CubeError)["made_from"].get("held_out")
    return None if held_out is None else set(held_out)
