"""What limits a study's searches: the world model's predictions, the latent cost, or the outcome head?

    python benchmarks/cube_limits.py study     # after `w4s cube head study`

Orders the labelled candidates of the study's validation groups by the latent cost, by the heads, and by what the world
model itself predicts of the cube: a small network is taught to read the cube's position from latents of recorded
states, and applied to the latents that were predicted after each block of a candidate. What that reaches is what a
scorer can know from the predictions; the best candidate is what a perfect one would choose. By kind of start.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import tyro
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.cube.collect import Groups, read_groups
from world4scorer.cube.episodes import EpisodeKind, read_episodes
from world4scorer.cube.model.world_model import LewmWorldModel
from world4scorer.cube.simulator.cube_env import CUBE
from world4scorer.cube.study import Study
from world4scorer.cube.train_head import load_head, quality, scores_of, split_by_episode, usable

STEPS, BATCH, RATE = 2500, 512, 2e-3


def cube_reader(study: Study, model: LewmWorldModel) -> nn.Module:
    """A network from latents to the cube's position [dm], taught on the episodes that the world model learned from."""
    expert = read_episodes(study.episodes, EpisodeKind.EXPERT)
    parts = [
        expert.only(sorted(set(range(len(expert))) - study.held_out)),
        read_episodes(study.episodes, EpisodeKind.NOISY),
    ]
    seen = np.concatenate([part.observations.reshape(-1, part.observations.shape[-1]) for part in parts])
    torch.manual_seed(0)
    reader = nn.Sequential(nn.Linear(model.latent, 128), nn.GELU(), nn.Linear(128, 128), nn.GELU(), nn.Linear(128, 3))
    optimiser = torch.optim.Adam(reader.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS)
    generator = np.random.default_rng(0)
    loss = torch.zeros(())
    for _ in range(STEPS):
        drawn = seen[generator.integers(len(seen), size=BATCH)]
        loss = functional.mse_loss(reader(model.encode(drawn).clone()), torch.from_numpy(drawn[:, CUBE]))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    print(
        f"The cube's position is read from a latent to {10 * loss.item() ** 0.5:.2f} cm (one axis, root mean square).\n"
    )
    return reader


@torch.inference_mode()
def predicted_distances(reader: nn.Module, groups: Groups) -> Tensor:
    """Distance between cube and goal after each block, as predicted [dm], (groups, candidates, blocks)."""
    path, goal = reader(torch.from_numpy(groups.path)), reader(torch.from_numpy(groups.goal))
    return (path - goal[:, None, None]).norm(dim=-1)


def main(folder: tyro.conf.Positional[Path]) -> None:
    """Print the tables."""
    study = Study.open(folder)
    model = LewmWorldModel.load(study.model)
    reader = cube_reader(study, model)
    config = study.preset.head
    _, validated = split_by_episode(usable(read_groups(study.groups)), config.validation, config.seed)
    heads = {"outcome head": load_head(study.head), "per-step head": load_head(study.path_head)}
    for name, chosen in (("held", validated.held), ("not held", ~validated.held)):
        groups = validated.only(chosen)
        if not len(groups):
            continue
        utility, distances = torch.from_numpy(groups.utility), predicted_distances(reader, groups)
        scores = {
            "latent cost": -torch.from_numpy(groups.cost),
            **{label: scores_of(head, groups) for label, head in heads.items()},
            "predicted distance at the end": -distances[..., -1],
            "least predicted distance": -distances.min(-1).values,
            "best candidate": utility,
        }
        print(f"| {len(groups)} groups, {name} at the start | rank correlation | chosen [cm] | chosen: success [%] |")
        print("|---|--:|--:|--:|")
        for label, score in scores.items():
            mean = quality(score.double(), utility).mean()
            ends, solved = 100 * mean["chosen_metres"], 100 * mean["chosen_success"]
            print(f"| {label} | {mean['rank_correlation']:.3f} | {ends:.2f} | {solved:.1f} |")
        print()


if __name__ == "__main__":
    tyro.cli(main)
