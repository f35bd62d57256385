"""Parameters, operations, memory and latency of a model.

>>> report = profile(paper())            # shapes only: no weights, no arithmetic, exact counts
>>> report.operations(attention=True)
>>> latency(planner, repeats=10)         # seconds, on the device and in the precision the planner is in
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from world4scorer.planner.model.config import DENSE, ModelConfig
from world4scorer.planner.model.encoder import SceneEncoder
from world4scorer.planner.model.frozen_vit import FrozenViT
from world4scorer.planner.model.generator import VocabularyGenerator
from world4scorer.planner.model.network import Network
from world4scorer.planner.model.plan_sampling import Cameras
from world4scorer.planner.planner import Planner
from world4scorer.planner.profiling.operations import (
    PAPER_NORM,
    OperationCounter,
    Operations,
    TensorMemory,
)

GIGA = 1e9
MEBI = 2**20


@dataclass(frozen=True)
class Profile:
    """Counts for one frame of a model."""

    parameters: dict[str, int]
    """Parameters by module, with the ViT, its adapters and the scene queries separate."""
    shared_parameters: int
    """Parameters of action encoder and predictor, shared by visual prediction and scoring."""
    unreached_parameters: int
    """Of these, self-attention query and key weights, which get no gradient from a single query."""
    encoder: Operations
    """With every token through every block, as the paper counts."""
    rest: Operations
    spared: Operations
    """Encoder operations that a pass skips: most of the ViT's last block, where only scene queries matter."""
    weight_bytes: int
    activation_bytes: int
    """At most alive at once in a pass without gradients, kernels' own scratch memory left out."""

    @property
    def total_parameters(self) -> int:
        """All of them."""
        return sum(self.parameters.values())

    def operations(self, attention: bool = False, per_normalised: int = PAPER_NORM) -> int:
        """Operations of a frame, by default in the paper's convention."""
        return self.encoder.total(per_normalised, attention) + self.rest.total(per_normalised, attention)


def profile(config: ModelConfig, scenes: int = 1) -> Profile:
    """Count a pass of some scenes, in float32, with tensors that have shapes but no numbers.

    Fake tensors, not the meta device: they are dispatched as on the processor, so that attention stays fused.
    """
    with FakeTensorMode(), torch.no_grad():
        network = Network(config).eval()
        image, ego, cameras = blank_inputs(config, scenes)
        with TensorMemory() as memory:
            network(image, ego, None, cameras)
        with OperationCounter() as whole:
            network(image, ego, None, cameras)
        with OperationCounter() as run:
            network.encode(image)
        network.encoder.spare_last_block = False
        with OperationCounter() as encoder:
            network.encode(image)
    return Profile(
        parameters=count_parameters(network),
        shared_parameters=_size(network.action_encoder) + _size(network.predictor),
        unreached_parameters=2 * config.predictor_layers * config.width**2,
        encoder=encoder.operations,
        rest=whole.operations - run.operations,
        spared=encoder.operations - run.operations,
        weight_bytes=sum(parameter.nbytes for parameter in network.parameters()),
        activation_bytes=memory.peak,
    )


def count_parameters(network: Network) -> dict[str, int]:
    """Parameters by module."""
    encoder = network.encoder
    if isinstance(encoder, SceneEncoder):
        adapters = sum(p.numel() for name, p in encoder.vit.named_parameters() if ".down." in name or ".up." in name)
        counts = {
            "vit": _size(encoder.vit) - adapters,
            "adapters": adapters,
            "scene queries": encoder.scene_queries.numel(),
            "neck": _size(encoder.neck),
        }
    else:
        name = "vit" if isinstance(encoder.perceiver, FrozenViT) else "dense encoder"
        counts = {name: _size(encoder.perceiver), "scene reader": _size(encoder.reader)}
    generator = network.generator
    vocabulary = generator if isinstance(generator, VocabularyGenerator) else None
    counts |= {
        "ego encoder": _size(network.ego_encoder),
        "proposal queries": generator.queries.numel(),
        "screen": 0 if vocabulary is None else _size(vocabulary.screen),
        "embedding of manoeuvres": 0 if vocabulary is None else _size(vocabulary.embed),
        "generator": _size(generator.decoder),
        "trajectory head": _size(generator.head),
        "action encoder": _size(network.action_encoder),
        "predictor": _size(network.predictor),
        "score heads": _size(network.heads),
        "visual readout": 0 if network.readout is None else _size(network.readout),
        "plan sampling": 0 if network.plan_sampling is None else _size(network.plan_sampling),
    }
    return {name: count for name, count in counts.items() if count}


def latency(planner: Planner, scenes: int = 1, repeats: int = 10) -> float:
    """Median seconds of a pass on the planner's device, in its precision, after two passes to warm up."""
    image, ego, cameras = blank_inputs(planner.config, scenes, *_place(planner))
    return _median_seconds(lambda: planner(image, ego, cameras), image.device, repeats)


def encoder_latency(planner: Planner, scenes: int = 1, repeats: int = 10) -> float:
    """The same of the image encoder alone; what is left of a pass is generation and scoring."""
    image, _, _ = blank_inputs(planner.config, scenes, *_place(planner))
    with torch.no_grad():
        return _median_seconds(lambda: planner.network.encode(image), image.device, repeats)


def _place(planner: Planner) -> tuple[torch.device, torch.dtype]:
    parameter = next(planner.parameters())
    return parameter.device, parameter.dtype


def _median_seconds(run: Callable[[], object], device: torch.device, repeats: int) -> float:
    times = []
    for _ in range(repeats + 2):
        _wait(device)
        start = time.perf_counter()
        run()
        _wait(device)
        times.append(time.perf_counter() - start)
    return statistics.median(times[2:])


def peak_memory(planner: Planner, scenes: int = 1) -> int:
    """Bytes in use at most during a pass, weights included: measured on CUDA, tensors counted elsewhere."""
    parameter = next(planner.parameters())
    image, ego, cameras = blank_inputs(planner.config, scenes, parameter.device, parameter.dtype)
    if parameter.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(parameter.device)
        planner(image, ego, cameras)
        return int(torch.cuda.max_memory_allocated(parameter.device))
    with TensorMemory() as memory:
        planner(image, ego, cameras)
    weights = sum(int(part.nbytes) for part in planner.parameters())
    return int(memory.peak + weights + image.nbytes)


def blank_inputs(
    config: ModelConfig, scenes: int, device: torch.device | None = None, dtype: torch.dtype | None = None
) -> tuple[Tensor, Tensor, Cameras | None]:
    """Images, ego statuses and cameras of the sizes that a model takes, all zero."""
    size = (config.cameras, 3, config.image_height, config.image_width)
    image = torch.zeros(scenes, *size, device=device, dtype=dtype)
    cameras = None
    if config.encoder != DENSE:  # which knows its own
        axes = torch.eye(3, device=device).expand(scenes, config.cameras, 3, 3)
        cameras = Cameras(axes, axes, torch.zeros(scenes, config.cameras, 3, device=device))
    return image, torch.zeros(scenes, config.ego_numbers, device=device, dtype=dtype), cameras


def _size(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
