from __future__ import annotations

import pytest
import torch

from world4scorer.studies.readout_networks.config import ReadoutConfig
from world4scorer.studies.readout_networks.fitting import fit, learning_rate

CONFIG = ReadoutConfig(checkpoint_every=3, learning_rate=0.05)


def trained(folder, stops=(), width=2):
    """A line through noisy points, in as many calls as there are stops, and one more."""
    losses = None
    for stop in (*stops, None):
        torch.manual_seed(3)
        network = torch.nn.Linear(2, 1)

        def loss(step, generator, network=network):
            x = torch.randn(8, 2, generator=generator)
            return (network(x)[:, 0] - x @ torch.tensor([1.0, -2.0])).square().mean()

        losses = fit("line", network, loss, 10, CONFIG, folder / "checkpoint.pt", {"width": width}, stop_after=stop)
    return network.weight.detach(), losses


def test_a_stopped_training_ends_with_the_same_bits(tmp_path):
    once, losses = trained(tmp_path / "once")
    again, same = trained(tmp_path / "again", stops=(4, 1))
    assert torch.equal(once, again) and losses == same
    assert len(losses) == 10 and losses[-1] < losses[0]


def test_other_settings_are_not_continued(tmp_path):
    trained(tmp_path)
    with pytest.raises(ValueError, match=r"checkpoint\.pt: made with other settings \(width: 2, now 3\)"):
        trained(tmp_path, width=3)


def test_a_damaged_checkpoint_is_named(tmp_path):
    (tmp_path / "checkpoint.pt").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"checkpoint\.pt: not a readable checkpoint"):
        trained(tmp_path)


def test_learning_rate_rises_and_falls():
    rates = [learning_rate(step, 100, ReadoutConfig(learning_rate=1.0, warm_up=0.1)) for step in range(100)]
    assert rates.index(max(rates)) == 10 and max(rates) == 1.0
    assert rates[0] == pytest.approx(1 / 11) and rates[-1] < 0.001
    assert rates[55] == pytest.approx(0.5)
