"""Played windows and reports of heads, made up."""

from __future__ import annotations

import numpy as np

from world4scorer.cube.play import WindowResult
from world4scorer.cube.simulator.cube_env import SUCCESS_METRES
from world4scorer.cube.train_head import (
    BEST,
    LATENT_COST,
    OUTCOME_HEAD,
    RANDOM,
    SUMMED_WEIGHTS,
    GroupQuality,
    Validation,
    sum_name,
)

FAR, NEAR = 0.2, 0.01


def window(number, success, start=FAR, held=False, final=None, by_nothing=False):
    """A window of episode `number`."""
    if final is None:
        final = NEAR if success else FAR
    return WindowResult(
        episode=number,
        step=3,
        held=held,
        start_metres=start,
        steps=2,
        success=success,
        nearest_metres=final,
        final_metres=final,
        actions=[[0.0] * 5] * 2,
        solved_by_nothing=by_nothing or start <= SUCCESS_METRES,
    )


def windows(outcomes, solved_at_start=(), held=(), by_nothing=()):
    """Windows of a seed, one for each letter: `+` is a success."""
    return [
        window(
            number,
            letter == "+",
            NEAR if number in solved_at_start else FAR,
            number in held,
            by_nothing=number in by_nothing,
        )
        for number, letter in enumerate(outcomes)
    ]


def head_report(episodes, shift):
    """Of a head that moves rank correlation by `shift`, and the chosen candidate nearer by a tenth of it [m]."""
    count = len(episodes)
    noise = np.linspace(-0.1, 0.1, count)

    def one(better):
        return GroupQuality(0.1 + noise + better, 0.5 + noise / 2 + better / 2, 0.1 + noise / 10 - better / 10)

    shifts = {LATENT_COST: 0.0, OUTCOME_HEAD: shift, **{sum_name(weight): shift for weight in SUMMED_WEIGHTS}}
    scores = {name: one(better) for name, better in {**shifts, BEST: 0.5, RANDOM: -0.1}.items()}
    return {
        "config": {"epochs": 80},
        "epoch": 11,
        "train_groups": 30,
        "train_episodes": 7,
        "quality": {name: found.mean() for name, found in scores.items()},
        "history": [0.5],
        "validation": Validation(np.asarray(episodes), scores),
    }
