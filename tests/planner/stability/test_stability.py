"""Radii of comparisons against dense algebra: Jacobians row by row, G as a matrix, NumPy's solver."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.model_golden import TINY
from world4scorer.planner.model import COMPONENTS, utility
from world4scorer.planner.model.network import Network
from world4scorer.planner.planner import Planner
from world4scorer.planner.stability import Geometry, LossWeights, NotConverged, SupervisedScenes, Supervision
from world4scorer.planner.stability.conjugate_gradients import solve
from world4scorer.planner.stability.geometry import make_sketch
from world4scorer.planner.stability.nystrom import Nystrom
from world4scorer.planner.stability.observations import curvature_product, jacobian_product, transpose_product
from world4scorer.planner.stability.radii import contrasts, radii
from world4scorer.planner.stability.shared_scorer import SharedScorer
from world4scorer.planner.stability.supervision import bank_outcomes

SMALL = replace(
    TINY, width=8, heads=2, feed_forward=8, predictor_layers=1, decoder_mlp_ratio=1, future_width=5, proposals=4
)
EP, TTC = COMPONENTS.index("ego_progress"), COMPONENTS.index("time_to_collision_within_bound")


@pytest.fixture(scope="module")
def network() -> Network:
    torch.manual_seed(0)
    network = Network(SMALL).double().eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return network


def scenes(count: int, seed: int, network: Network) -> SupervisedScenes:
    rng = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=rng)

    ttc = torch.rand(count, SMALL.proposals, generator=rng) < 0.7
    return SupervisedScenes(
        image=random(count, 2, 3, 28, 42),
        ego_status=random(count, 11),
        ttc_valid=ttc,
        bank=random(count, 3, 8, 3),
        bank_valid=torch.arange(count) > 0,
        executed=random(count, 8, 3),
        future_valid=torch.arange(count) != 1,
    )


@pytest.fixture(scope="module")
def supervision(network) -> Supervision:
    batches = [scenes(2, 1, network), scenes(1, 2, network)]
    return Supervision.of(network, batches, LossWeights(score=0.9, bank=0.5, future=0.7), torch.float64)


@pytest.fixture(scope="module")
def sketch(supervision):
    """As many tests as there are rows: with it a few iterations are enough."""
    return make_sketch(supervision, 100)


@pytest.fixture(scope="module")
def pool(network, supervision):
    given = scenes(1, 9, network)
    scene, ego = network.encode(given.image), network.encode_ego(given.ego_status)
    return supervision.scorer.call(network.propose(scene, ego), scene, ego)


def jacobian(scorer, call, reading) -> np.ndarray:
    """(numbers, P), a row at a time by reverse derivatives of the module itself."""
    theta = scorer.theta.clone().requires_grad_(True)
    seen = scorer.observe(theta, call, reading).flatten()
    if not seen.requires_grad:  # nothing of theta is on the way
        return np.zeros((len(seen), len(theta)))
    rows = [torch.autograd.grad(one, theta, retain_graph=True, materialize_grads=True)[0] for one in seen]
    return torch.stack(rows).numpy()


def rows(scorer, seen) -> np.ndarray:
    return seen.weight.flatten().sqrt().numpy()[:, None] * jacobian(scorer, seen.call, seen.reading)


@pytest.fixture(scope="module")
def dense(supervision):
    """A_O and A_F."""
    scorer = supervision.scorer
    return np.concatenate([rows(scorer, seen) for seen in supervision.outcomes]), rows(scorer, supervision.future)


def dense_radius(c: np.ndarray, mu: float, *parts: np.ndarray) -> float:
    matrix = mu * np.eye(len(c)) + sum(part.T @ part for part in parts)
    return float(np.sqrt(c @ np.linalg.solve(matrix, c)))


@pytest.fixture(scope="module")
def outcome_spectrum(dense):
    """Eigenvalues and vectors of A_O^T A_O."""
    return np.linalg.eigh(dense[0].T @ dense[0])


def gradients(scorer, call, first, second) -> torch.Tensor:
    return contrasts(scorer, call, torch.tensor(first), torch.tensor(second), "v2")


def test_the_function_of_theta_is_the_network(network, supervision):
    given = scenes(2, 5, network)
    scene, ego = network.encode(given.image), network.encode_ego(given.ego_status)
    scorer = supervision.scorer
    states = network.predict(given.bank, scene, ego)
    logits = scorer.observe(scorer.theta, scorer.call(given.bank, scene, ego), "logits")
    torch.testing.assert_close(logits.float(), network.score(states, ego), rtol=1e-6, atol=1e-6)
    call = scorer.call(given.executed[:, None], scene, ego)
    read = network.read_future(network.predict(given.executed[:, None], scene, ego)[:, 0])
    unit = torch.nn.functional.normalize(read, dim=-1)
    torch.testing.assert_close(scorer.observe(scorer.theta, call, "view"), unit, rtol=0, atol=1e-6)


def test_weights_are_the_hessian_of_the_training_loss(supervision):
    """The cross-entropies of training, differentiated twice in their logits."""
    from world4scorer.planner.training.losses import bank_loss, score_loss

    generated, bank = supervision.outcomes
    scorer = supervision.scorer
    valid = torch.cat([scenes(2, 1, None).ttc_valid, scenes(1, 2, None).ttc_valid])
    labels = torch.rand(*generated.weight.shape[:2], 7, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    labels[..., 3] = torch.where(valid, labels[..., 3], 2.0)  # TTC
    for seen, loss in (
        (generated, lambda x: 0.9 * score_loss(x.double(), labels.float().double())),
        (bank, lambda x: 0.5 * bank_loss(x, labels[:1, :3], torch.tensor([True]), progress_weight=0.0)),
    ):
        logits = scorer.observe(scorer.theta, seen.call, "logits").detach()
        count = logits.numel()
        found = torch.autograd.functional.hessian(loss, logits).reshape(count, count)
        torch.testing.assert_close(found.diagonal(), seen.weight.flatten(), rtol=1e-6, atol=1e-12)
        assert found.fill_diagonal_(0).abs().max() == 0
    assert (bank.weight[..., EP] == 0).all() and (generated.weight[..., EP] > 0).all()
    assert torch.equal(generated.weight[..., TTC] > 0, valid)
    assert len(bank.call) == 1 and len(supervision.future.call) == 2  # scenes without bank or future take no part
    torch.testing.assert_close(supervision.future.weight, torch.full_like(supervision.future.weight, 0.5))


def test_products(supervision, dense):
    scorer = supervision.scorer
    outcomes, futures = dense
    vectors = torch.randn(3, len(scorer.theta), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    matrix = 0.3 * np.eye(len(scorer.theta)) + outcomes.T @ outcomes
    geometry = Geometry(supervision, 0.3)
    np.testing.assert_allclose(geometry.product(vectors, False), vectors.numpy() @ matrix, rtol=1e-9, atol=1e-12)
    matrix += 0.7 * futures.T @ futures
    np.testing.assert_allclose(geometry.product(vectors, True), vectors.numpy() @ matrix, rtol=1e-9, atol=1e-12)
    seen = supervision.future
    np.testing.assert_allclose(jacobian_product(scorer, seen, vectors), vectors.numpy() @ futures.T, atol=1e-12)
    back = torch.randn(2, seen.rows, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    np.testing.assert_allclose(transpose_product(scorer, seen, back), back.numpy() @ futures, atol=1e-12)


def test_chunks_do_not_matter(supervision, monkeypatch):
    scorer, seen = supervision.scorer, supervision.outcomes[0]
    vectors = torch.randn(2, len(scorer.theta), dtype=torch.float64)
    whole = curvature_product(scorer, seen, vectors)
    monkeypatch.setattr("world4scorer.planner.stability.observations.MAX_CHUNK", 2)
    torch.testing.assert_close(curvature_product(scorer, seen, vectors), whole)


def test_contrast_is_the_gradient_of_a_lead(supervision, pool):
    scorer = supervision.scorer
    theta = scorer.theta.clone().requires_grad_(True)
    logits = scorer.observe(theta, pool, "logits")[0]
    worth = utility(dict(zip(COMPONENTS, logits.unbind(-1), strict=True)), "v2")
    expected = torch.autograd.grad(worth[3] - worth[1], theta)[0]
    torch.testing.assert_close(gradients(scorer, pool, [3], [1])[0], expected)


def test_radii_reductions_and_labels(supervision, sketch, pool, dense):
    scorer, (outcomes, futures), mu = supervision.scorer, dense, 0.05
    geometry = Geometry(supervision, mu, sketch, tolerance=1e-10)
    c = gradients(scorer, pool, [0, 2, 1], [1, 3, 3])
    found = radii(geometry, c)
    lit = np.sqrt(0.7) * futures
    out = [dense_radius(one.numpy(), mu, outcomes) for one in c]
    both = [dense_radius(one.numpy(), mu, outcomes, lit) for one in c]
    np.testing.assert_allclose(found.out, out, rtol=1e-6)
    np.testing.assert_allclose(found.out_future, both, rtol=1e-6)
    # Woodbury, in the space of observations
    difference = np.square(out) - np.square(both)
    reduction = geometry.reduction(supervision.future, found.outcomes.x[:1], False, 0.7).checked()
    np.testing.assert_allclose(reduction.value, difference[:1], rtol=1e-6)
    # more outcome labels: other plans of the same pool, in a call of their own
    fresh = bank_outcomes(scorer, pool, 0.5, 4)
    more = rows(scorer, fresh)
    enlarged = [dense_radius(one.numpy(), mu, outcomes, lit, more) for one in c]
    direct = geometry.solve(c, True, found.both.x, [[fresh]] * 3).checked()
    np.testing.assert_allclose(direct.value.sqrt(), enlarged, rtol=1e-6)
    by_rows = geometry.reduction(fresh, found.both.x[:1], True).checked()
    np.testing.assert_allclose(by_rows.value, (np.square(both) - np.square(enlarged))[:1], rtol=1e-6)


@settings(max_examples=6, deadline=None)
@given(
    pair=st.sampled_from([(0, 1), (1, 0), (2, 3), (1, 3), (0, 2)]),
    mu=st.floats(1e-3, 10.0),
    weight=st.floats(1e-2, 10.0),
)
def test_futures_never_widen_a_radius(supervision, sketch, pool, outcome_spectrum, pair, mu, weight):
    held = replace(supervision, future_weight=weight)
    geometry = Geometry(held, mu, sketch, tolerance=1e-8)
    c = gradients(held.scorer, pool, [pair[0]], [pair[1]])
    found = radii(geometry, c)
    assert found.out_future <= found.out * (1 + 1e-8)
    assert found.proven_smaller and found.foreseen > 0
    # The bracket holds what is sought.
    values, vectors = outcome_spectrum
    exact = ((c[0].numpy() @ vectors) ** 2 / (values + mu)).sum()
    assert found.outcomes.lower <= exact * (1 + 1e-10) and exact <= found.outcomes.upper * (1 + 1e-10)


@pytest.mark.parametrize(
    ("varied", "narrower"),
    [
        (lambda name: name.startswith("heads."), False),  # the future does not go through the heads
        (lambda name: "self_attention.in_bias" in name, True),  # its values do
        (lambda name: name.startswith(("heads.", "readout.")), False),  # nothing couples the two
        (lambda name: name.startswith(("heads.", "predictor.norm.")), True),
    ],
)
def test_narrower_exactly_where_the_condition_holds(network, pool, varied, narrower):
    held = Supervision.of(network, [scenes(2, 1, network)], LossWeights(), torch.float64, varied)
    geometry = replace(Geometry.of(held, 0.1, 80), tolerance=1e-10)
    c = gradients(held.scorer, pool, [0], [1])
    found = radii(geometry, c)
    b = rows(held.scorer, held.future) @ np.linalg.solve(
        0.1 * np.eye(len(held.scorer.theta))
        + sum(rows(held.scorer, seen).T @ rows(held.scorer, seen) for seen in held.outcomes),
        c[0].numpy(),
    )
    np.testing.assert_allclose(found.foreseen[0], np.linalg.norm(b), rtol=1e-4, atol=1e-12)
    assert bool(found.foreseen[0] > 1e-9) == narrower
    assert bool(found.proven_smaller) == narrower
    if not narrower:
        assert found.out_future == found.out > 0


def test_queries_and_keys_of_self_attention_are_decoupled(network, pool):
    """A single query's attention is constant: no future constrains what only queries and keys move."""
    held = Supervision.of(network, [scenes(2, 1, network)], LossWeights(), torch.float64)
    moved = jacobian_product(held.scorer, held.future, _only_queries_and_keys(held.scorer))
    assert moved.abs().max() == 0


def _only_queries_and_keys(scorer: SharedScorer) -> torch.Tensor:
    parts = dict(scorer._unflattened(torch.zeros_like(scorer.theta)))
    for name, part in parts.items():
        if "self_attention.in_" in name:
            part[: 2 * len(part) // 3] = 1.0
    return torch.cat([part.flatten() for part in parts.values()])[None]


def spd(size: int, seed: int, mu: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(rng.normal(size=(size, size)))
    return rotation @ np.diag(mu + 10.0 ** -np.arange(size)) @ rotation.T


@given(seed=st.integers(0, 100), mu=st.sampled_from([1e-4, 1e-2, 1.0]))
@settings(max_examples=20, deadline=None)
def test_conjugate_gradients(seed, mu):
    matrix = torch.from_numpy(spd(12, seed, mu))
    right = torch.randn(4, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    right[2] = 0.0
    solution = solve(lambda v, _: v @ matrix, right, mu, tolerance=1e-10).checked()
    exact = (right * torch.linalg.solve(matrix, right.T).T).sum(1)
    torch.testing.assert_close(solution.value, exact, rtol=1e-9, atol=0)
    assert (solution.lower <= exact * (1 + 1e-12)).all() and (exact <= solution.upper * (1 + 1e-12)).all()
    assert solution.iterations[2] == 0


def test_the_preconditioner_saves_iterations():
    mu, size = 1e-3, 60
    matrix = torch.from_numpy(spd(size, 0, 0.0)) * 1e4
    right = torch.randn(2, size, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    tests = torch.randn(10, size, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    nystrom = Nystrom.of(tests, tests @ matrix)
    torch.testing.assert_close(nystrom.basis @ nystrom.basis.T, torch.eye(len(nystrom.values)).double())
    torch.testing.assert_close(nystrom.values[:3], 10.0 ** torch.arange(4, 1, -1).double(), rtol=1e-3, atol=0)

    def product(v, _):
        return v @ matrix + mu * v

    plain, helped = (solve(product, right, mu, one) for one in (None, lambda r: nystrom.inverse(r, mu)))
    torch.testing.assert_close(plain.checked().value, helped.checked().value, rtol=1e-5, atol=0)
    assert 2 * helped.iterations.max() < plain.iterations.max()


def test_no_convergence_is_said():
    matrix = torch.from_numpy(spd(12, 3, 1e-4))
    solution = solve(lambda v, _: v @ matrix, torch.ones(2, 12, dtype=torch.float64), 1e-4, max_iterations=2)
    assert not solution.converged.any()
    exact = np.linalg.solve(matrix.numpy(), np.ones(12)).sum()
    assert (solution.lower <= exact).all() and (exact <= solution.upper).all()
    with pytest.raises(NotConverged, match="2 of 2 right-hand sides did not converge in 2 iterations"):
        solution.checked()


def test_planner(network, supervision, sketch):
    planner = Planner.from_network(network)
    given = scenes(2, 7, network)
    geometry = Geometry(supervision, 0.1, sketch, tolerance=1e-9)
    found = planner.stability(given.image, given.ego_status, geometry, rivals=3, epsilon=1e-3)
    scored = planner(given.image, given.ego_status)
    assert torch.equal(found.choice, scored.choice("v1"))
    assert (found.lead >= 0).all() and found.complete.all()  # all three rivals were solved for
    assert (found.critical >= found.critical_out).all()
    assert torch.equal(found.certified, ~found.fragile)
    # fewer rivals: the nearest ones, and never a larger claim_run_folder
    fewer = planner.stability(given.image, given.ego_status, geometry, rivals=1, epsilon=1e-3)
    assert not (fewer.certified & ~found.certified).any()
    assert (torch.minimum(fewer.critical, fewer.others) <= found.critical * (1 + 1e-9)).all()
    torch.testing.assert_close(fewer.critical[fewer.complete], found.critical[fewer.complete])
    # pairs, both ways round
    pairs = torch.tensor([[[0, 1], [1, 0]], [[2, 3], [3, 2]]])
    both = planner.stability(given.image, given.ego_status, geometry, pairs=pairs)
    torch.testing.assert_close(both.lead[:, 0], -both.lead[:, 1])
    torch.testing.assert_close(both.radius[:, 0], both.radius[:, 1])
    other = Planner.from_network(Network(SMALL).double())
    with pytest.raises(ValueError, match="other weights"):
        other.stability(given.image, given.ego_status, geometry)


def test_a_choice_holds_up_to_its_critical_budget(network, supervision, sketch):
    """Along the worst direction the linear lead is zero exactly at the critical budget."""
    planner = Planner.from_network(network)
    given = scenes(1, 7, network)
    geometry = Geometry(supervision, 0.1, sketch, tolerance=1e-11)
    found = planner.stability(given.image, given.ego_status, geometry, rivals=3)
    row = int((found.lead / found.radius).argmin())
    scene, ego = network.encode(given.image), network.encode_ego(given.ego_status)
    call = supervision.scorer.call(network.propose(scene, ego), scene, ego)
    c = contrasts(supervision.scorer, call, found.first[0, row : row + 1], found.second[0, row : row + 1])
    solved = geometry.solve(c, True)
    worst = -found.critical * solved.x[0] / solved.value.sqrt()
    torch.testing.assert_close(
        found.lead[0, row] + c[0] @ worst, torch.zeros((), dtype=torch.float64), atol=1e-8, rtol=0
    )
    budget = worst @ geometry.product(worst[None], True)[0]
    torch.testing.assert_close(budget, found.critical[0] ** 2, rtol=1e-6, atol=0)


def test_errors(network):
    with pytest.raises(ValueError, match="no scenes"):
        Supervision.of(network, [])
    with pytest.raises(ValueError, match="every loss has a weight of 0"):
        Supervision.of(network, [scenes(1, 1, network)], LossWeights(0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="no parameter"):
        SharedScorer(network, varied=lambda name: False)
    with pytest.raises(ValueError, match="mu: 0"):
        Geometry(Supervision.of(network, [scenes(1, 1, network)]), 0.0)
    with pytest.raises(ValueError, match="without a visual readout"):
        Supervision.of(Network(replace(SMALL, readout=False)), [scenes(1, 1, network)])
