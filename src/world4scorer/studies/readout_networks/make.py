"""The readout networks of a run: trained where they are missing, kept in RUN/readouts.

>>> readouts = make_readouts(Path("runs/city"), ReadoutConfig())
>>> grids = readouts.condgrid.predict(now, readouts.scaled(planner.readout(states)))
>>> readouts.decoder.images(grids)

May be killed at any time: finished networks are kept, the one in training resumes from its checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from world4scorer.jobs.files import read_json, write_json
from world4scorer.jobs.resumable import check_settings, resumable
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.jobs.tensor_files import check_tensors, read_tensors, write_tensors
from world4scorer.planner.pretrained.image_encoder import ImageEncoder
from world4scorer.planner.pretraining.patch_grid import PatchGrid
from world4scorer.planner.pretraining.schedule import loss_curve
from world4scorer.planner.targets.future_targets import FutureTargets
from world4scorer.planner.training.bf16_linear import Bf16Linear
from world4scorer.planner.training.run import TrainData
from world4scorer.planner.training.run_files import read_run
from world4scorer.studies.readout_networks.condgrid import CondGrid, condgrid_loss
from world4scorer.studies.readout_networks.config import ReadoutConfig
from world4scorer.studies.readout_networks.diffusion import GridDiffusion
from world4scorer.studies.readout_networks.fitting import DELETE, Loss, fit
from world4scorer.studies.readout_networks.pairs import Pairs, as_images, grid_encoder, read_pairs
from world4scorer.studies.readout_networks.patch_decoder import GridDecoder, PatchDecoder, image_loss
from world4scorer.studies.readout_networks.rae_decoder import load_rae_decoder
from world4scorer.studies.readout_networks.vectors import kept, of_length, perturbed

Network = TypeVar("Network", bound=nn.Module)


@dataclass(frozen=True, eq=False)
class Readouts:
    """Networks that turn predicted vectors into images, and what they were trained with."""

    encoder: ImageEncoder
    condgrid: CondGrid
    diffusion: GridDiffusion
    decoder: GridDecoder
    length: float
    """Mean length of the training split's targets."""
    config: ReadoutConfig

    def scaled(self, vectors: Tensor) -> Tensor:
        """Predicted vectors (..., E) with the length that networks expect."""
        return of_length(vectors.float(), self.length)


def make_readouts(
    run: Path, config: ReadoutConfig, encoder: str | Path, decoder: Path | None = None, show: bool = False
) -> Readouts:
    """Train what is missing of a run's readout networks; `decoder` names an RAE decoder to use instead of our own."""
    folder = RunFolder(run).readouts
    with resumable(folder, "training readouts there"):
        making = _Making(run, folder, config, encoder, show)
        condgrid, diffusion = making.condgrid(), making.diffusion()
        drawn: GridDecoder = making.decoder() if decoder is None else load_rae_decoder(decoder, making.encoder)
    return Readouts(making.encoder, condgrid, diffusion, drawn, making.length, config)


class _Making:
    """What is needed to make networks; pairs are read only if something has to be trained."""

    def __init__(self, run: Path, folder: Path, config: ReadoutConfig, encoder: str | Path, show: bool) -> None:
        _, self.data = read_run(run)
        self.folder, self.config, self.show = folder, config, show
        self.targets = _targets(run, self.data)
        self.encoder = grid_encoder(encoder)
        features, there = self.targets.features(self.targets.tokens)
        self.length = float(features[there].norm(dim=1).mean())
        self.grid = PatchGrid.of(self.encoder)
        self.sizes = (len(self.grid), self.encoder.config.vit_width, self.targets.width)

    def settings(self, name: str) -> dict[str, Any]:
        """What a kept network must have been made with."""
        return {
            **self.config.of_network(name),
            "encoder": self.encoder.digest(),
            "data": str(self.data.data),
            "split": self.data.split,
            "centred": self.targets.notes.centre,
        }

    @cached_property
    def pairs(self) -> Pairs:
        data, config = self.data, self.config
        return read_pairs(
            data.data, data.split, data.store, self.encoder, self.targets, config.pairs, config.seed, self.show
        )

    def condgrid(self) -> CondGrid:
        network = self._new(lambda: CondGrid(self.config, *self.sizes))

        def prepare() -> Loss:
            pairs, config = self.pairs, self.config
            network.statistics.measure(torch.cat([pairs.now, pairs.future]), pairs.vectors)

            def loss(step: int, generator: torch.Generator) -> Tensor:
                rows = torch.randint(len(pairs), (config.batch,), generator=generator)
                now, future = pairs.now[rows].float(), pairs.future[rows].float()
                vector = perturbed(pairs.vectors[rows], config, generator)
                change = network(now, vector, kept(len(rows), config, generator))
                return condgrid_loss(change, now, future, network.statistics.grid_spread, config)

            return loss

        return self._trained("condgrid", network, prepare, self.config.condgrid_steps)

    def diffusion(self) -> GridDiffusion:
        network = self._new(lambda: GridDiffusion(self.config, *self.sizes))

        def prepare() -> Loss:
            pairs, config = self.pairs, self.config
            network.statistics.measure(torch.cat([pairs.now, pairs.future]), pairs.vectors)

            def loss(step: int, generator: torch.Generator) -> Tensor:
                rows = torch.randint(len(pairs), (config.batch,), generator=generator)
                vector = perturbed(pairs.vectors[rows], config, generator)
                with_vector = kept(len(rows), config, generator)
                return network.loss(pairs.now[rows].float(), pairs.future[rows].float(), vector, with_vector, generator)

            return loss

        return self._trained("diffusion", network, prepare, self.config.diffusion_steps)

    def decoder(self) -> PatchDecoder:
        config, grid = self.config, self.grid
        network = self._new(
            lambda: PatchDecoder(
                (grid.rows, grid.columns),
                grid.side,
                self.encoder.config.vit_width,
                config.decoder_width,
                config.decoder_layers,
                config.heads,
                config.decoder_maps,
                (grid.height, grid.width),
            )
        )

        def prepare() -> Loss:
            pairs = self.pairs
            grids, views = (pairs.now, pairs.future), (pairs.now_views, pairs.future_views)
            network.solve(torch.cat(grids), np.concatenate(views))

            def loss(step: int, generator: torch.Generator) -> Tensor:
                rows = torch.randint(len(pairs), (config.decoder_batch,), generator=generator)
                when = step % 2
                seen = network.disturbed(grids[when][rows].float(), config.decoder_noise, generator)
                return image_loss(network(seen), as_images(views[when][rows.numpy()]))

            return loss

        return self._trained("decoder", network, prepare, config.decoder_steps)

    def _new(self, make: Callable[[], Network]) -> Network:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.config.seed)
            return make()

    def _trained(self, name: str, network: Network, prepare: Callable[[], Loss], steps: int) -> Network:
        """The network with its kept weights, or trained now."""
        weights, checkpoint = self.folder / f"{name}.safetensors", self.folder / f"{name}.checkpoint.pt"
        notes, settings = self.folder / f"{name}.json", self.settings(name)
        if not weights.is_file():
            loss = prepare()
            multiply_short(network, self.config.bf16_products)
            losses = fit(f"readouts: {name}", network, loss, steps, self.config, checkpoint, settings, show=self.show)
            assert losses is not None
            multiply_short(network, False)
            write_json(notes, {"settings": settings, "curve": loss_curve(losses)})
            write_tensors(network.state_dict(), weights)
        else:
            check_settings(weights, _made_with(notes), settings, ValueError, remedy=DELETE)
        checkpoint.unlink(missing_ok=True)  # of a call that was killed just before, too
        tensors = read_tensors(weights)
        check_tensors(tensors, {key: tensor.shape for key, tensor in network.state_dict().items()}, weights)
        network.load_state_dict(tensors)
        return network.requires_grad_(False).eval()


def multiply_short(network: nn.Module, short: bool) -> None:
    """Let the linear layers of a network multiply in bfloat16, or no longer."""
    for module in network.modules():
        if type(module) in (nn.Linear, Bf16Linear):
            module.__class__ = Bf16Linear if short else nn.Linear


def _targets(run: Path, data: TrainData) -> FutureTargets:
    if data.targets is None:
        raise ValueError(f"{run}: trained without future targets, so it predicts no feature that could be shown")
    return FutureTargets.open(data.targets)


def _made_with(notes: Path) -> dict[str, Any]:
    try:
        return dict(read_json(notes)["settings"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{notes}: does not say how the network was made ({error}); delete it and the network to train another"
        ) from error
