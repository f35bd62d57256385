"""What the study of readouts found, in numbers, tables and words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.drawing.finding import Table
from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap, cell, verdict
from world4scorer.studies.readout_networks.config import ReadoutConfig
from world4scorer.studies.readout_networks.regions import REGIONS
from world4scorer.studies.readouts.measures import GRIDS

Floats = NDArray[np.float64]
Intervals = dict[str, Interval]

ABSENT: Final = "-"
PAPER: Final = {"null": "grid_cos_none", "selected_g1": "grid_cos_guidance1", "selected_g2": "grid_cos_guidance2"}
GAINS: Final = {"observed_g2": "observed vector, guidance 2", "executed_g2": "g(z) of the executed plan, guidance 2"}


@dataclass(frozen=True)
class Found:
    """Every number with its interval."""

    cosine: Intervals
    centred: Intervals
    over_null: Intervals
    """Centred cosine less that without vector."""
    psnr: Intervals
    absolute: Intervals
    vectors: Intervals
    """Cosine of predicted with observed vectors."""
    gain: Intervals = field(default_factory=dict)
    """Cosine of patches less that without vector, by `vector region`"""
    agreement: Intervals = field(default_factory=dict)
    agreement_centred: Intervals = field(default_factory=dict)
    """Between queries: `all`, and by region"""
    shift: Intervals = field(default_factory=dict)
    """Pixels by which the view of a turning query lies to the right of the straight one's"""

    def gain_by_region(self, bootstrap: LogBootstrap, cosine: Mapping[str, Floats], regions: NDArray[np.int8]) -> None:
        """What a vector adds to the cosine of patches (K, P), over all patches of a region."""
        for name in GAINS:
            for number, region in enumerate(REGIONS):
                self.gain[f"{name} {region}"] = by_region(bootstrap, cosine[name] - cosine["null"], regions == number)

    def agreement_between(
        self, bootstrap: LogBootstrap, raw: Floats, centred: Floats, regions: NDArray[np.int8] | None
    ) -> None:
        """Cosines (J, P) between queries, over all patches and over those of a region."""
        for found, values in ((self.agreement, raw), (self.agreement_centred, centred)):
            found["all"] = bootstrap.mean(values.mean(1))
            if regions is not None:
                for number, region in enumerate(REGIONS):
                    found[region] = by_region(bootstrap, values, regions == number)


def by_region(bootstrap: LogBootstrap, values: Floats, inside: NDArray[np.bool_]) -> Interval:
    """The mean of values (K, P) over all patches that are inside (K, P)."""
    return bootstrap.ratio((values * inside).sum(1), inside.sum(1))


def tables(found: Found, reported: Mapping[str, Any]) -> tuple[Table, ...]:
    """Fidelity of grids and images, and agreement between queries."""
    grids = tuple(
        (
            words,
            cell(found.cosine[name], 1, 3),
            cell(found.centred[name], 1, 3),
            ABSENT if name == "null" else cell(found.over_null[name], 1, 3, signed=True),
            f"{reported[PAPER[name]]:.3f}" if name in PAPER else ABSENT,
        )
        for name, words in GRIDS.items()
    )
    columns = ("grid", "cosine", "cosine, centred", "centred, less without vector", "cosine in the paper, NAVSIM")
    words = GRIDS | {"ceiling": "observed future's grid (ceiling)", "current view": "current view itself, not decoded"}
    pixels = tuple((words[name], cell(one, 1, 2), cell(found.absolute[name], 1, 4)) for name, one in found.psnr.items())
    made = [
        Table("Grids against the observed future", columns, grids),
        Table("Decoded images against the observed view", ("grid", "PSNR [dB]", "mean absolute difference"), pixels),
        Table(
            "Predicted vectors against observed ones",
            ("plan", "cosine", "cosine, centred"),
            tuple(
                (name, cell(found.vectors[name], 1, 3), cell(found.vectors[f"{name}_centred"], 1, 3))
                for name in ("executed", "selected")
            ),
        ),
    ]
    if found.gain:
        low, high = reported["null_gain"]
        rows = tuple(
            (words, *(cell(found.gain[f"{name} {region}"], 1, 3, signed=True) for region in REGIONS),
             f"{low:+.3f} to {high:+.3f}" if name == "observed_g2" else ABSENT)
            for name, words in GAINS.items()
        )  # fmt: skip
        made.append(Table("Cosine of patches, less without vector", ("vector", *REGIONS, "paper, NAVSIM"), rows))
    if found.agreement:
        theirs = reported["consistency"]
        rows = tuple(
            (name, cell(one, 1, 3), cell(found.agreement_centred[name], 1, 3),
             f"{theirs[name]:.3f}" if name in theirs else ABSENT)
            for name, one in found.agreement.items()
        )  # fmt: skip
        made.append(Table("Agreement of three queries", ("patches", "cosine", "centred", "paper, NAVSIM"), rows))
        shifts = tuple((f"{name} query", cell(found.shift[name], 1, 1, signed=True)) for name in ("left", "right"))
        made.append(Table("Shift of the view against the straight query", ("readout", "pixels to the right"), shifts))
    return tuple(made)


def remarks(found: Found, config: ReadoutConfig, scenes: int, crossings: int, foreign: bool) -> tuple[str, ...]:
    """What the numbers say."""
    said = [_sources(found), _guidance(found), _diffusion(found, config)]
    if found.agreement:
        said.append(_queries(found, crossings))
    else:
        said.append("No pool holds a left, a straight and a right plan by the rule, so queries are not compared.")
    if not found.gain:
        said.append("The data have no true masks, so nothing is said by region; --masks FOLDER gives them.")
    drawn = "Images are drawn by the decoder that was given."
    if not foreign:
        drawn = "Images are drawn by a small decoder trained on the same pairs."
    said.append(
        f"Numbers are over {scenes} scenes drawn without regard to what they show, one of each log first; the gallery "
        "shows the first 30 of them, sorted by change (1 - cosine of the pooled views). The paper has 30 and 6 scenes "
        "of NAVSIM, DINOv2's grids and the RAE decoder, so its cosines are not comparable with these. Grids share a "
        f"mean, which makes every cosine high; centred ones take it off. {drawn}"
    )
    return tuple(said)


def _sources(found: Found) -> str:
    value = {name: f"{one.value:.3f}" for name, one in found.centred.items()}
    closed = {name: _closed(found.centred, name) for name in ("null", "executed_g1", "observed_g1")}
    return (
        f"Where the picture comes from: the current grid alone has a centred cosine of {value['copy']} with the "
        f"observed future, CondGrid without vector {value['null']}, at guidance 1 with g(z) of the executed plan "
        f"{value['executed_g1']}, with the observed vector {value['observed_g1']}. Of what the current grid leaves "
        f"open, CondGrid without vector closes {closed['null']}, with the predicted vector {closed['executed_g1']}, "
        f"with the observed one {closed['observed_g1']}."
    )


def _guidance(found: Found) -> str:
    first, second = found.over_null["executed_g1"], found.over_null["executed_g2"]
    return (
        f"Against no vector, g(z) of the executed plan {verdict(first)} the similarity to the observed future at "
        f"guidance 1 ({cell(first, 1, 3, signed=True)}) and {verdict(second)} it at guidance 2 "
        f"({cell(second, 1, 3, signed=True)}), which exaggerates what the vector says."
    )


def _diffusion(found: Found, config: ReadoutConfig) -> str:
    return (
        f"Diffusion ({config.diffusion_steps} steps of training, 20 of DDIM, seed 17) has a centred cosine of "
        f"{found.centred['diffusion'].value:.3f} and {cell(found.psnr['diffusion'], 1, 2)} dB, CondGrid at guidance 1 "
        f"{found.centred['executed_g1'].value:.3f} and {cell(found.psnr['executed_g1'], 1, 2)} dB; the full grid, "
        f"decoded, {cell(found.psnr['ceiling'], 1, 2)} dB, which is what the decoder allows."
    )


def _queries(found: Found, crossings: int) -> str:
    left, right, apart = (found.shift[name] for name in ("left", "right", "left_less_right"))
    moves = "moves" if apart.low > 0 or apart.high < 0 else "does not clearly move"
    return (
        f"Three queries at {crossings} junctions agree with a cosine of {cell(found.agreement['all'], 1, 3)} "
        f"({cell(found.agreement_centred['all'], 1, 3)} centred). The query {moves} the decoded view sideways: "
        f"{cell(left, 1, 1, signed=True)} pixels to the right for left turns, {cell(right, 1, 1, signed=True)} for "
        "right turns (a camera that turns left sees things move to the right). Nobody drove these plans: whether the "
        "views are true is not measured."
    )


def _closed(centred: Mapping[str, Interval], name: str) -> str:
    """Share of the distance from the current grid to the observed future."""
    copied = centred["copy"].value
    return f"{(centred[name].value - copied) / (1.0 - copied):.0%}"
