from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from tests.support.model_golden import tiny_inputs, tiny_planner
from world4scorer.planner.model import COMPONENTS
from world4scorer.planner.model.utility import DDC
from world4scorer.planner.training.losses import (
    LABEL_COLUMN,
    LossConfig,
    Targets,
    bank_loss,
    baseline,
    bench2drive,
    compute_losses,
    count_labels,
    future_loss,
    paper,
    score_loss,
    winner_takes_all,
)
from world4scorer.planner.training.predictions import Predictions, predict, propose


def labels_of(**columns):
    labels = torch.ones(1, 2, 7)
    for name, values in columns.items():
        labels[..., LABEL_COLUMN[name]] = torch.tensor(values)
    return labels


def test_columns_are_those_of_outcome_tables():
    assert [LABEL_COLUMN[name] for name in COMPONENTS] == [0, 1, 5, 3, 2, 4]


def test_only_the_winner_is_pulled():
    plans = torch.zeros(2, 3, 8, 3)
    plans[:, 0] += 5.0
    plans[0, 1] += 1.0
    plans[0, 2] += 2.0
    plans.requires_grad_()
    target = torch.zeros(2, 8, 3)
    loss = winner_takes_all(plans, target)
    assert loss.item() == pytest.approx((3.0 + 0.0) / 2)
    loss.backward()
    assert plans.grad[0, 1].ne(0).all()
    assert not plans.grad[0, [0, 2]].any()


def test_invalid_time_to_collision_is_left_out():
    ttc, nc = "time_to_collision_within_bound", "no_at_fault_collisions"
    logits = torch.full((1, 2, 6), 3.0)
    base = functional.binary_cross_entropy_with_logits(torch.tensor(3.0), torch.tensor(1.0)).item()
    zero = functional.binary_cross_entropy_with_logits(torch.tensor(3.0), torch.tensor(0.0)).item()
    assert score_loss(logits, labels_of(**{ttc: [2.0, 0.0]})).item() == pytest.approx(5 * base + zero)
    assert score_loss(logits, labels_of(**{ttc: [2.0, 2.0]})).item() == pytest.approx(5 * base)
    assert score_loss(logits, labels_of(**{nc: [0.5, 0.0]})).item() == pytest.approx(5 * base + zero)


def test_bank_without_scenes_is_zero_and_has_a_gradient():
    logits = torch.randn(1, 2, 6, requires_grad=True)
    loss = bank_loss(logits, labels_of(), torch.tensor([False]))
    loss.backward()
    assert loss.item() == 0 and not logits.grad.any()


def test_future_without_scenes_is_zero_and_has_a_gradient():
    read = torch.randn(2, 4, requires_grad=True)
    loss = future_loss(read, torch.randn(2, 4), torch.zeros(2, dtype=torch.bool))
    loss.backward()
    assert loss.item() == 0 and not read.grad.any()
    one = future_loss(read, read.detach(), torch.ones(2, dtype=torch.bool))
    assert one.item() == pytest.approx(0, abs=1e-6)


def tiny_targets(config):
    generator = torch.Generator().manual_seed(1)
    return Targets(
        trajectory=torch.randn(3, 8, 3, generator=generator),
        trajectory_warped=torch.randn(3, 8, 3, generator=generator),
        labels=torch.randint(0, 2, (3, config.proposals, 7), generator=generator).float(),
        bank_labels=torch.randint(0, 2, (3, 4, 7), generator=generator).float(),
        bank_valid=torch.tensor([True, False, True]),
        future=torch.randn(3, config.future_width, generator=generator),
        future_valid=torch.tensor([True, True, False]),
    )


def tiny_losses(network, config: LossConfig):
    image, ego = tiny_inputs()
    targets = tiny_targets(network.config)
    bank = torch.randn(3, 4, 8, 3, generator=torch.Generator().manual_seed(2))
    proposed = propose(network, image, ego)
    with_future = network.readout is not None
    predictions = predict(network, proposed, bank, targets.trajectory if with_future else None, config.future_gradient)
    return compute_losses(predictions, targets, config)


def test_weights_and_switches():
    network = tiny_planner().network
    full = tiny_losses(network, paper())
    assert full.total.item() == pytest.approx(
        (full.imitation + full.score + full.future + 0.5 * full.bank).item(), rel=1e-6
    )
    one_target = tiny_losses(network, replace(paper(), warped_target=False))
    assert one_target.imitation < full.imitation
    plain = tiny_losses(tiny_planner(readout=False, predictor_norm=False).network, baseline())
    assert plain.future is None and plain.bank is None
    assert plain.total.item() == pytest.approx((plain.imitation + plain.score).item(), rel=1e-6)


def test_driving_direction_can_be_left_out():
    network = tiny_planner().network
    losses = tiny_losses(network, bench2drive())
    expected = losses.imitation + 0.5 * losses.score + 0.5 * losses.bank + 0.1 * losses.future
    assert losses.total.item() == pytest.approx(expected.item(), rel=1e-6)
    losses.total.backward()
    heads = network.heads.components
    assert all(parameter.grad is None or not parameter.grad.any() for parameter in heads[DDC].parameters())
    assert heads[COMPONENTS[0]][0].weight.grad.any()
    logits = torch.full((1, 2, 6), 3.0)
    one = functional.binary_cross_entropy_with_logits(torch.tensor(3.0), torch.tensor(1.0)).item()
    kept = bench2drive().components
    assert DDC not in kept and len(kept) == 5
    assert score_loss(logits, labels_of(), components=kept).item() == pytest.approx(5 * one)
    error = 0.1 * (1 - torch.sigmoid(torch.tensor(3.0)).item())  # NAVSIM's bank loss, without driving direction
    bank = bank_loss(logits, labels_of(), torch.tensor([True]), components=kept)
    assert bank.item() == pytest.approx(one + error)


def test_the_vocabulary_of_bench2drive_has_the_loss_of_generated_plans():
    """The same plans with the same labels cost the same, whether they were generated or drawn."""
    torch.manual_seed(2)
    logits, labels = torch.randn(3, 4, 6), torch.rand(3, 4, 7).round()
    labels[0, 1, LABEL_COLUMN["time_to_collision_within_bound"]] = 2.0
    labels[..., LABEL_COLUMN["ego_progress"]] = torch.rand(3, 4)
    plans = torch.randn(3, 4, 8, 3)
    targets = Targets(plans[:, 0], plans[:, 1], labels, labels, torch.tensor([True, True, True]))
    config = replace(bench2drive(), future=0.0)
    predictions = Predictions(plans, plans.new_zeros(0), logits, logits, None)
    losses = compute_losses(predictions, targets, config)
    assert losses.bank.item() == pytest.approx(losses.score.item(), rel=1e-6)
    assert losses.total.item() == pytest.approx((losses.imitation + losses.score).item(), rel=1e-6)
    # Scenes without plans of the vocabulary do not count, and NAVSIM's bank loss is another one.
    some = targets._replace(bank_valid=torch.tensor([True, False, True]))
    expected = score_loss(logits[[0, 2]], labels[[0, 2]], components=config.components)
    assert compute_losses(predictions, some, config).bank.item() == pytest.approx(expected.item(), rel=1e-6)
    alone = targets._replace(bank_labels=None, bank_valid=None)
    assert compute_losses(predictions, alone, replace(config, bank=0.0)).bank is None
    assert not paper().bank_like_generated
    other = compute_losses(predictions, targets, replace(config, bank_like_generated=False)).bank
    assert other.item() < 0.5 * losses.bank.item()


def test_a_loss_without_its_target_says_so():
    network = tiny_planner().network
    image, ego = tiny_inputs()
    predictions = predict(network, propose(network, image, ego))
    with pytest.raises(ValueError, match=r"predictions\.future: missing"):
        compute_losses(predictions, tiny_targets(network.config), LossConfig(bank=0))
    with pytest.raises(ValueError, match="bank: -1"):
        LossConfig(bank=-1)


def test_scaled_future_gradient_reaches_the_predictor_weakly_and_the_readout_whole():
    gradients = {}
    for config in (paper(), bench2drive()):
        network = tiny_planner().network
        loss = tiny_losses(network, config).future
        loss.backward()
        gradients[config] = (network.readout.weight.grad, network.predictor.norm.weight.grad)
    whole, scaled = gradients[paper()], gradients[bench2drive()]
    torch.testing.assert_close(scaled[0], whole[0])
    torch.testing.assert_close(scaled[1], 0.05 * whole[1])


def test_bank_plans_and_executed_plan_are_not_seen_by_generated_ones():
    network = tiny_planner().network
    image, ego = tiny_inputs()
    proposed = propose(network, image, ego)
    executed, bank = torch.randn(3, 8, 3), torch.randn(3, 4, 8, 3)
    alone, together = predict(network, proposed), predict(network, proposed, bank, executed)
    assert torch.equal(alone.logits, together.logits)
    assert torch.equal(together.bank_logits, predict(network, proposed, bank).bank_logits)


@pytest.mark.parametrize("bank_like_generated", [False, True])
def test_processes_with_unequal_shares_give_the_gradient_of_the_whole(bank_like_generated):
    """Scenes with a bank, with a future, and valid TTC labels lie unevenly: only shared counts make the means right."""
    torch.manual_seed(0)
    scenes, plans = 4, 5
    labels, bank_labels = torch.rand(scenes, plans, 7).round(), torch.rand(scenes, 3, 7).round()
    labels[0, :4, LABEL_COLUMN["time_to_collision_within_bound"]] = 2.0
    if bank_like_generated:  # packs of NAVSIM's bank have no such labels
        bank_labels[1, :2, LABEL_COLUMN["time_to_collision_within_bound"]] = 2.0
    parts = {
        "plans": torch.randn(scenes, plans, 8, 3),
        "logits": torch.randn(scenes, plans, 6),
        "bank_logits": torch.randn(scenes, 3, 6),
        "future": torch.randn(scenes, 7),
    }
    known = Targets(
        trajectory=torch.randn(scenes, 8, 3),
        trajectory_warped=torch.randn(scenes, 8, 3),
        labels=labels,
        bank_labels=bank_labels,
        bank_valid=torch.tensor([True, True, True, False]),
        future=torch.randn(scenes, 7),
        future_valid=torch.tensor([False, False, True, False]),
        bank=torch.randn(scenes, 3, 8, 3),
        taught=torch.tensor([True, False, True, True]),
    )
    config = LossConfig(coverage=0.5, bank_like_generated=bank_like_generated)

    def gradients(share: slice, counts: torch.Tensor | None) -> dict[str, torch.Tensor]:
        leaves = {name: part[share].clone().requires_grad_() for name, part in parts.items()}
        predictions = Predictions(states=torch.zeros(0), **leaves)
        targets = Targets(*(part[share] for part in known))
        compute_losses(predictions, targets, config, counts).total.backward()
        return {name: leaf.grad for name, leaf in leaves.items()}

    whole = gradients(slice(0, 4), None)
    halves = [slice(0, 2), slice(2, 4)]
    counts = torch.stack([count_labels(Targets(*(part[half] for part in known)), config) for half in halves]).mean(0)
    shared = [gradients(half, counts) for half in halves]
    alone = [gradients(half, None) for half in halves]
    for name in parts:
        torch.testing.assert_close(torch.cat([part[name] for part in shared]) / 2, whole[name])
    for name in ("logits", "bank_logits", "future"):
        assert not torch.allclose(torch.cat([part[name] for part in alone]) / 2, whole[name])


def test_coverage_pulls_the_nearest_plan_to_each_good_bank_plan():
    """Against loops; plans of scenes without a bank, and plans that score badly, pull nothing."""
    torch.manual_seed(1)
    plans, bank = torch.randn(3, 4, 8, 3), torch.randn(3, 5, 8, 3)
    labels, valid = torch.rand(3, 5, 7), torch.tensor([True, True, False])
    labels[0, 0, 6], labels[1, 2, 6] = 0.95, 0.9
    labels[1, 3, 6] = 0.89
    good = [(b, k) for b in range(2) for k in range(5) if labels[b, k, 6] >= 0.9]
    expected = 0.0
    for b, k in good:
        nearest = min(float((plans[b, n] - bank[b, k]).abs().sum() / 8) for n in range(4))
        expected += nearest / len(good)
    config = LossConfig(imitation=0, score=0, future=0, coverage=2.0)
    predictions = Predictions(plans, plans.new_zeros(0), plans.new_zeros(0), torch.zeros(3, 5, 6), None)
    targets = Targets(plans[:, 0], None, None, labels, valid, bank=bank)
    losses = compute_losses(predictions, targets, config)
    assert losses.coverage is not None and losses.bank is not None
    assert float(losses.coverage) == pytest.approx(expected, rel=1e-5)
    assert float(losses.total) == pytest.approx(2 * expected + 0.5 * float(losses.bank), rel=1e-5)
    with pytest.raises(ValueError, match="coverage"):
        LossConfig(coverage=1.0, bank=0.0)
