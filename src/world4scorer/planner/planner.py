"""Planner API: load a planner from files; plans with scores from images.

>>> planner = Planner.from_released("epoch23.ckpt")
>>> scored = planner(image, ego_status)          # (B, 4, 3, H, W), (B, 11)
>>> best = scored.plans[0, scored.choice("v1")[0]]
>>> planner.score(image, ego_status, my_plans).utility("v2")

Shapes: B scenes, N plans, T poses, D width, E features of the future.
"""

from __future__ import annotations

import copy
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.tensor_files import as_safetensors, check_tensors, read_tensors, write_together
from world4scorer.planner.bf16_attention import use_blocks
from world4scorer.planner.bundled import planner_folder
from world4scorer.planner.hub import CARD_FILE, is_repository, repository_folder, upload
from world4scorer.planner.model.config import ModelConfig
from world4scorer.planner.model.dense_encoder import DenseEncoder, Perception
from world4scorer.planner.model.encoder import SceneEncoder
from world4scorer.planner.model.images import Frames
from world4scorer.planner.model.network import Forward, FrozenSceneEncoder, Network
from world4scorer.planner.model.plan_sampling import Cameras
from world4scorer.planner.model.utility import COMPONENTS, Benchmark, utility
from world4scorer.planner.model_card import digest_of_files, model_card
from world4scorer.planner.pretrained.dinov2 import load_dinov2
from world4scorer.planner.pretrained.released import export_released, load_released
from world4scorer.planner.stability.decisions import Stability, compared, stability
from world4scorer.planner.stability.geometry import Geometry


@dataclass(frozen=True, eq=False)
class ScoredPlans:
    """Plans of some scenes, with what the model predicts for each."""

    plans: Tensor
    """(B, N, T, 3) x forward [m], y left [m], heading [rad] in the ego frame"""
    states: Tensor
    """(B, N, D) what the model foresees for each"""
    logits: dict[str, Tensor]
    """By component, (B, N) each"""

    def __repr__(self) -> str:
        scenes, plans = self.plans.shape[:2]
        return f"ScoredPlans({scenes} scenes, {plans} plans each)"

    def utility(self, benchmark: Benchmark = "v1", progress: float = 0.0) -> Tensor:
        """Utility (B, N) of plans under a benchmark, with another weight of progress unless that is 0."""
        return utility(self.logits, benchmark, progress)

    def choice(self, benchmark: Benchmark = "v1") -> Tensor:
        """Index of the best plan of each scene (B,); of equally good ones the first, as `argmax` promises."""
        return self.utility(benchmark).argmax(1)


class Planner(nn.Module):
    """A network ready for use. Its calls keep no gradients; training works on `planner.network`."""

    _source: Path | None = None
    """Folder that it was read from."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.network: Network = Network(config)
        use_blocks(self.network)
        self.eval()

    if TYPE_CHECKING:  # torch leaves the type of a module's calls open

        def __call__(
            self,
            image: Tensor | Frames | Perception,
            ego_status: Tensor,
            cameras: Cameras | None = None,
            corridor: Tensor | None = None,
        ) -> ScoredPlans:
            """Propose plans and score them, see `forward`."""

    @property
    def config(self) -> ModelConfig:
        """Sizes of the network."""
        return self.network.config

    @torch.no_grad()
    def forward(
        self,
        image: Tensor | Frames | Perception,
        ego_status: Tensor,
        cameras: Cameras | None = None,
        corridor: Tensor | None = None,
    ) -> ScoredPlans:
        """Propose plans and score them.

        Args:
            image: (B, C, 3, H, W) views of C cameras, normalised as `model.images.normalise` does; or what the frozen
                encoder of this planner has perceived in them.
            ego_status: (B, 11) pose (zeros), velocity [m/s], acceleration [m/s^2], command.
            cameras: Where they are; only models with plan sampling ask for it.
            corridor: (B, m, 2) route ahead in the ego frame [m]: of a vocabulary, manoeuvres that leave it come last.
        """
        return _scored(self.network(image, ego_status, None, cameras, corridor))

    @torch.no_grad()
    def score(
        self, image: Tensor | Frames | Perception, ego_status: Tensor, plans: Tensor, cameras: Cameras | None = None
    ) -> ScoredPlans:
        """Score plans (B, N, T, 3) from elsewhere; those of one call are seen together, as the model's own are."""
        return _scored(self.network(image, ego_status, plans, cameras))

    @torch.no_grad()
    def perceive(
        self,
        image: Tensor,
        before: Perception | None = None,
        pose_before: Tensor | None = None,
        cameras: Cameras | None = None,
    ) -> Perception:
        """What a frozen encoder makes of views (B, C, 3, H, W): for a drive, in which each frame is encoded once.

        Args:
            image: As in `forward`.
            before: What this returned half a second before; None at the beginning.
            pose_before: (B, 3) ego pose then, in the present ego frame [m, rad].
            cameras: If given, they are compared with those that the encoder was taught with.
        """
        encoder = self.network.encoder
        if not isinstance(encoder, FrozenSceneEncoder):
            raise ValueError("this planner encodes images itself; give them to it")
        if not isinstance(encoder.perceiver, DenseEncoder):
            return encoder.perceive(image)
        if cameras is not None:
            encoder.perceiver.config.check_cameras(cameras)
        seen = encoder.perceiver.look(image.to(self.network.dtype))
        return encoder.perceiver.foresee(seen, None if before is None else before.features, pose_before)

    @torch.no_grad()
    def readout(self, states: Tensor) -> Tensor:
        """The visual future (..., E) that states (..., D) stand for."""
        return self.network.read_future(states)

    @torch.no_grad()
    def judge(self, states: Tensor, ego_status: Tensor) -> dict[str, Tensor]:
        """Logits by component, (B, N) each, of states (B, N, D) as they are."""
        return _by_component(self.network.score(states, self.network.encode_ego(ego_status)))

    def stability(
        self,
        image: Tensor | Frames | Perception,
        ego_status: Tensor,
        geometry: Geometry,
        cameras: Cameras | None = None,
        plans: Tensor | None = None,
        *,
        pairs: Tensor | None = None,
        epsilon: float = 0.01,
        rivals: int = 3,
        benchmark: Benchmark = "v1",
    ) -> Stability:
        """Which choices are stable under parameter changes that the supervision allows (docs/model.md).

        Args:
            image: As in `forward`.
            ego_status: As in `forward`.
            geometry: Of scenes that this planner was trained on, see `model.stability`.
            cameras: As in `forward`.
            plans: (B, N, T, 3) to choose from; the planner's own unless given.
            pairs: (B, R, 2) plans to compare, instead of each choice with its nearest rivals.
            epsilon: Budget of the local model.
            rivals: How many of each choice are solved for; a bound speaks for the others.
            benchmark: Whose utility chooses.
        """
        scorer, network = geometry.supervision.scorer, self.network
        if not scorer.belongs_to(network):
            raise ValueError("geometry: made for a planner with other weights; make it for this one")
        with torch.no_grad():
            scene, ego = network.encode(image), network.encode_ego(ego_status)
            plans = network.propose(scene, ego) if plans is None else plans.float()
        calls = scorer.call(plans, scene, ego, cameras)
        if pairs is not None:
            return compared(geometry, calls, pairs, epsilon, benchmark)
        return stability(geometry, calls, rivals, epsilon, benchmark)

    def merged(self) -> Planner:
        """A copy without adapters that plans the same, a little faster."""
        merged = copy.deepcopy(self)
        if isinstance(merged.network.encoder, SceneEncoder):
            merged.network.encoder.vit.merge_adapters()
            merged.network.encoder.config = replace(self.config, lora_rank=0)
        merged.network.config = replace(self.config, lora_rank=0)
        return merged

    @classmethod
    def from_network(cls, network: Network) -> Planner:
        """A planner around a network, which it shares and puts into evaluation mode."""
        planner = cls.__new__(cls)
        nn.Module.__init__(planner)
        planner.network = network
        use_blocks(network)
        return planner.eval()

    @classmethod
    def from_released(
        cls, path: str | os.PathLike[str], heads: int = 1, vit_heads: int = 6, image_size: tuple[int, int] | None = None
    ) -> Planner:
        """Read a released checkpoint or safetensors file.

        Sizes come from the shapes of its tensors; the numbers of attention heads leave no trace there, nor does the
        image size (height, width), for which the arrangement of patches nearest to the paper's is taken.
        """
        return cls.from_network(load_released(path, heads, vit_heads, image_size))

    def export_released(self, path: str | os.PathLike[str]) -> None:
        """Write a safetensors file under the released names."""
        export_released(self.network, path)

    def load_dinov2(self, path: str | os.PathLike[str]) -> None:
        """Put pretrained DINOv2 weights (a file or a folder; timm's names or Hugging Face's) into the ViT."""
        load_dinov2(self.network, path)

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write `config.json` and `model.safetensors`, both or none."""
        write_together(self.files(folder))

    def files(self, folder: str | os.PathLike[str]) -> dict[Path, bytes]:
        """Files written by `save_pretrained`: content by path."""
        weights_file, config_file = ModelFolder(Path(folder)).files
        return {weights_file: as_safetensors(self.network.state_dict()), config_file: self.config.to_file()}

    def push_to_hub(
        self,
        name: str,
        *,
        run: str | os.PathLike[str] | None = None,
        private: bool | None = None,
        message: str = "Upload planner",
    ) -> str:
        """Upload to a repository (user/repo) with a model card, which holds what `run` has measured of these weights.

        The repository is made if it is missing; returns its address. Needs a token that may write (`HF_TOKEN`).
        """
        weights, config = self._source_files() or self.files(Path()).values()
        count = sum(parameter.numel() for parameter in self.parameters())
        found = None if run is None else Path(run)
        card = model_card(name, self.config, count, digest_of_files(weights, config), found)
        weights_file, config_file = ModelFolder(Path()).files
        files = {weights_file.name: weights, config_file.name: config, CARD_FILE: card.encode()}
        return upload(name, files, message=message, private=private)

    def _source_files(self) -> tuple[bytes, bytes] | None:
        """Weights and configuration as they were read, if they still hold this planner.

        Findings name a planner by the digest of its files, and another version writes another `config.json`.
        """
        if self._source is None or not ModelFolder(self._source).exists:
            return None
        weights_file, config_file = ModelFolder(self._source).files
        config, tensors = config_file.read_bytes(), read_tensors(weights_file)
        state = self.network.state_dict()
        same = ModelConfig.from_json(config, str(config_file)) == self.config and tensors.keys() == state.keys()
        if not same or any(
            tensor.dtype != state[key].dtype or not torch.equal(tensor, state[key].cpu())
            for key, tensor in tensors.items()
        ):
            return None
        return weights_file.read_bytes(), config

    @classmethod
    def from_pretrained(
        cls, folder: str | os.PathLike[str], *, download: bool = False, revision: str | None = None
    ) -> Planner:
        """A bundled planner by name ("city", "city-driver"), or what `save_pretrained` wrote, in its own precision.

        Args:
            folder: Name or folder of the planner; or a repository (user/repo) of a Hugging Face hub.
            download: Whether a repository may be fetched from the hub; otherwise it must be in the local cache.
            revision: Branch, tag or commit of a repository.
        """
        named = is_repository(folder)
        path = repository_folder(folder, download, revision) if named else planner_folder(folder)
        weights_file, config_file = ModelFolder(path).files
        if not config_file.is_file():
            raise ValueError(f"{config_file}: no such file; {folder} is not the folder of a planner")
        config = ModelConfig.from_json(config_file.read_bytes(), str(config_file))
        tensors = read_tensors(weights_file)
        with torch.device("meta"):
            network = Network(config)
        check_tensors(tensors, {name: tensor.shape for name, tensor in network.state_dict().items()}, weights_file)
        network.load_state_dict(tensors, assign=True)
        planner = cls.from_network(network)
        planner._source = path
        return planner


def _scored(passed: Forward) -> ScoredPlans:
    return ScoredPlans(passed.plans, passed.states, _by_component(passed.logits))


def _by_component(logits: Tensor) -> dict[str, Tensor]:
    return dict(zip(COMPONENTS, logits.unbind(-1), strict=True))
