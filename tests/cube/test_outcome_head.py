"""Features, standardisation, loss and ordering accuracy by definition; what the head can learn, and what not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from world4scorer.cube.collect import Groups
from world4scorer.cube.errors import CubeError
from world4scorer.cube.model.outcome_head import (
    HeadSees,
    OutcomeHead,
    candidate_features,
    outcome_loss,
    pairwise_accuracy,
    standardised,
)
from world4scorer.cube.train_head import (
    HeadConfig,
    load_head,
    rank_correlations,
    save_head,
    scores_of,
    split_by_episode,
    train_head,
    usable,
    validate,
)

LATENT, CANDIDATES = 6, 16


def normed(values: np.ndarray) -> np.ndarray:
    return (values - values.mean()) / np.sqrt(values.var() + 1e-5)


def test_features_are_819_numbers_for_lewm() -> None:
    features = candidate_features(
        torch.randn(2, 300, 192), torch.randn(2, 192), torch.rand(2, 300), torch.randn(2, 300, 5, 25)
    )
    assert features.shape == (2, 300, 819)


def test_features_by_hand() -> None:
    rng = np.random.default_rng(0)
    final, goal, actions = rng.normal(size=LATENT), rng.normal(size=LATENT), rng.normal(size=(5, 25))
    inputs = (final[None], goal, np.array([2.5]), actions[None])
    features = candidate_features(*(torch.from_numpy(one) for one in inputs))[0].numpy()
    end, aim = normed(final), normed(goal)
    parts = [end, aim, end - aim, end * aim, [np.log1p(2.5)], actions.mean(0), actions.std(0)]
    np.testing.assert_allclose(features, np.concatenate(parts), rtol=1e-9)


def test_a_negative_cost_counts_as_none() -> None:
    features = candidate_features(torch.ones(1, LATENT), torch.ones(LATENT), torch.tensor([-1.0]), torch.ones(1, 5, 25))
    assert features[0, 4 * LATENT] == 0


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20))
def test_standardised_groups_have_mean_0_and_spread_1_or_0(values: list[float]) -> None:
    group = np.array(values)
    found = standardised(torch.from_numpy(group)[None])[0].numpy()
    expected = (group - group.mean()) / max(group.std(), 1e-6)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_loss_by_hand() -> None:
    predicted, target = np.array([[0.2, -2.0, 1.0]]), np.array([[0.0, 0.5, 1.0]])
    off = np.abs(predicted - target)
    smooth = np.where(off < 1, off**2 / 2, off - 0.5).mean()
    wanted = np.exp(target / 0.5) / np.exp(target / 0.5).sum()
    logged = predicted / 0.5 - np.log(np.exp(predicted / 0.5).sum())
    expected = smooth - 0.25 * (wanted * logged).sum()
    assert outcome_loss(torch.from_numpy(predicted), torch.from_numpy(target)).item() == pytest.approx(expected)


def test_ordering_accuracy_by_hand() -> None:
    utility = torch.tensor([[3.0, 2.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]).double()
    scores = torch.tensor([[9.0, 8.0, 8.0, 10.0], [1.0, 2.0, 3.0, 4.0]]).double()
    found = pairwise_accuracy(scores, utility)
    # pairs of the first: 3>2 right, 3>1 right, 3>1 wrong, 2>1 tied, 2>1 wrong; the two of utility 1 are no pair
    assert found[0].item() == pytest.approx(2.5 / 5)
    assert torch.isnan(found[1])


def test_pairs_closer_than_the_limit_do_not_count() -> None:
    assert torch.isnan(pairwise_accuracy(torch.tensor([[1.0, 0.0]]), torch.tensor([[5e-8, 0.0]]).double()))[0]


def test_rank_correlations_are_scipys() -> None:
    from scipy.stats import spearmanr

    rng = np.random.default_rng(1)
    scores, utility = rng.integers(0, 5, (8, 12)).astype(float), rng.normal(size=(8, 12))
    expected = [spearmanr(*pair).statistic for pair in zip(scores, utility, strict=True)]
    np.testing.assert_allclose(rank_correlations(scores, utility), expected)


def made_groups(count: int, informative: bool, seed: int = 0) -> Groups:
    """Groups whose utility depends on the predicted latent in a way that the cost does not show."""
    rng = np.random.default_rng(seed)
    final = rng.normal(size=(count, CANDIDATES, LATENT)).astype(np.float32)
    before = np.random.default_rng(seed + 100).normal(size=(count, CANDIDATES, 4, LATENT)).astype(np.float32)
    goal = rng.normal(size=(count, LATENT)).astype(np.float32)
    cost = ((final - goal[:, None]) ** 2).sum(-1)
    utility = 0.1 * final[..., 0].astype(np.float64)
    if not informative:
        utility = rng.permuted(utility, axis=1)
    return Groups(
        candidates=rng.normal(size=(count, CANDIDATES, 5, 25)).astype(np.float32),
        path=np.concatenate([before, final[:, :, None]], 2),
        goal=goal,
        cost=cost.astype(np.float32),
        utility=utility,
        episode=np.arange(count) // 2,
        held=np.zeros(count, bool),
        iteration=np.zeros(count, np.int64),
    )


@pytest.mark.parametrize(("sees", "least"), [("final", 0.85), ("path", 0.8)])
def test_a_head_learns_what_can_be_learned(sees: HeadSees, least: float) -> None:
    config = HeadConfig(sees=sees, epochs=12, batch=32)
    trained = train_head(made_groups(300, informative=True), config, progress=False)
    quality = {name: one.mean() for name, one in trained.validation.scores.items()}
    assert quality["outcome head"]["ordering"] > least
    assert quality["cost + 0.3 head"]["chosen_metres"] < quality["latent cost"]["chosen_metres"] - 0.02
    assert quality["cost + 0.3 head"]["ordering"] > quality["latent cost"]["ordering"] + 0.05


def test_a_head_learns_nothing_from_permuted_labels() -> None:
    trained = train_head(made_groups(300, informative=False), HeadConfig(epochs=12, batch=32), progress=False)
    measured = validate(trained.head, made_groups(100, informative=True, seed=9)).scores
    fresh = {name: one.mean() for name, one in measured.items()}
    assert abs(fresh["outcome head"]["ordering"] - 0.5) < 0.1
    gain = fresh["latent cost"]["chosen_metres"] - fresh["cost + 0.3 head"]["chosen_metres"]
    assert gain < 0.02


def test_the_kept_epoch_is_the_best() -> None:
    groups = made_groups(120, informative=True)
    trained = train_head(groups, HeadConfig(epochs=6, batch=32), progress=False)
    assert trained.epoch == int(np.argmax(trained.history))
    _, validated = split_by_episode(groups, 0.2, 0)
    scores = scores_of(trained.head, validated)
    accuracy = pairwise_accuracy(scores, torch.from_numpy(validated.utility)).mean().item()
    assert accuracy == pytest.approx(max(trained.history))


@given(st.integers(2, 40), st.floats(0.05, 0.95), st.integers(0, 9))
def test_no_episode_is_on_both_sides(count: int, share: float, seed: int) -> None:
    groups = made_groups(2 * count, informative=True)
    learned, validated = split_by_episode(groups, share, seed)
    assert not set(learned.episode) & set(validated.episode)
    assert len(learned) + len(validated) == len(groups)
    assert len(learned) and len(validated)


def test_a_fifth_of_the_episodes_validates() -> None:
    _, validated = split_by_episode(made_groups(200, informative=True), 0.2, 0)
    assert len(set(validated.episode)) == 20


def test_groups_with_nothing_to_tell_apart_are_dropped() -> None:
    groups = made_groups(6, informative=True)
    groups.utility[2] = -0.3 + 1e-5 * np.arange(CANDIDATES)
    assert len(usable(groups)) == 5


def test_one_episode_is_too_few() -> None:
    with pytest.raises(CubeError, match="two episodes"):
        split_by_episode(made_groups(2, informative=True), 0.2, 0)


def test_only_the_head_that_sees_the_path_learns_from_the_way() -> None:
    groups = made_groups(300, informative=True)
    on_the_way = replace(groups, utility=0.1 * groups.path[:, :, 1, 0].astype(np.float64))
    ordering = {}
    kinds: tuple[HeadSees, ...] = ("final", "path")
    for sees in kinds:
        trained = train_head(on_the_way, HeadConfig(sees=sees, epochs=12, batch=32), progress=False)
        ordering[sees] = trained.validation.scores["outcome head"].mean()["ordering"]
    assert ordering["final"] < 0.6 < 0.8 < ordering["path"]


@pytest.mark.parametrize("sees", ["final", "path"])
def test_a_head_survives_its_file(sees: HeadSees, tmp_path: Path) -> None:
    config = HeadConfig(sees=sees, epochs=1)
    groups = made_groups(20, informative=True)
    trained = train_head(groups, config, progress=False)
    save_head(trained, config, tmp_path, {})
    features = groups.features(sees)
    torch.testing.assert_close(load_head(tmp_path)(features), trained.head(features))
    (tmp_path / "head.safetensors").write_bytes(b"garbage")
    with pytest.raises(CubeError, match="does not hold an outcome head"):
        load_head(tmp_path)


def test_sizes_of_the_head() -> None:
    shapes = [tuple(tensor.shape) for tensor in OutcomeHead(819).state_dict().values()]
    assert shapes == [(819,), (819,), (256, 819), (256,), (128, 256), (128,), (128,), (128,), (1, 128), (1,)]
