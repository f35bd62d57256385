"""The finding on calibration: numbers, tables, figure, command."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.support.calibrated_pools import calibrated_pools
from tests.support.log_draws import assert_close, mean_interval
from tests.support.random_pools import random_pools
from world4scorer.cli.run import main
from world4scorer.engine.selection.utility import OUTCOMES, utility_of_logits
from world4scorer.evaluation.pools import PoolFolder, ScoredPools
from world4scorer.studies.calibration.study import calibration
from world4scorer.studies.calibration.temperature import half_of_frames

DRAWS = 60


def test_temperatures_of_other_logs_calibrate(tmp_path):
    pools = calibrated_pools(temperature=3.0)
    finding = calibration(pools, draws=DRAWS)
    for name in OUTCOMES:
        for kind in ("temperature", "temperature_and_bias"):
            ece = finding.numbers["scaled"][kind]["heads"][name]["ece"]
            assert ece["before"]["value"] > 0.1 and ece["after"]["value"] < 0.03
            assert ece["change"]["high"] < 0
            assert ece["change"]["value"] == pytest.approx(ece["after"]["value"] - ece["before"]["value"])
            assert ece["before"] == finding.numbers["heads"][name]["ece"]
    assert "Overconfident (temperature above 1 in both halves): NC, DAC, DDC, TTC, EP, C" in finding.remarks[1]
    finding.save(tmp_path, "w4s study calibration pools")
    assert (tmp_path / "calibration.png").stat().st_size > 10_000
    assert json.loads((tmp_path / "calibration.json").read_text())["numbers"]["against"] is None


@pytest.mark.parametrize("seed", range(2))
def test_selection_by_hand(seed):
    """One head is off: choices before and after, from utilities of logits scaled frame by frame."""
    pools = calibrated_pools(seed, plans=8)
    logits = pools.logits.copy()
    logits[..., OUTCOMES.index("TTC")] *= 4
    pools = replace(pools, logits=logits)
    found = calibration(pools, seed=seed, draws=DRAWS).numbers["scaled"]["temperature"]
    half = half_of_frames(pools.log_names, seed)
    scores = {"before": [], "after": []}
    different = 0
    for s in range(len(pools)):
        temperatures = np.array([found["scalings"][name][half[s]]["temperature"] for name in OUTCOMES])
        old = int(np.argmax(utility_of_logits(logits[s])))
        new = int(np.argmax(utility_of_logits(logits[s] / temperatures)))
        scores["before"].append(pools.pdms[s, old])
        scores["after"].append(pools.pdms[s, new])
        different += old != new
    scores["change"] = np.subtract(scores["after"], scores["before"])
    expected = {part: mean_interval(pools.log_names, values, DRAWS) for part, values in scores.items()}
    assert_close(found["selection"]["PDMS"], expected)
    assert found["changed_choices"] == pytest.approx(different / len(pools)) and different > 0


def test_against_other_streets():
    """The gap is the difference of the two tables of heads."""
    here, there = calibrated_pools(0, temperature=2.0), calibrated_pools(1)
    there = replace(there, about={**there.about, "split": "city_train"})
    finding = calibration(here, there, draws=DRAWS)
    numbers, titles = finding.numbers, [table.title for table in finding.tables]
    assert titles[:3] == ["Heads, nowhere", "Heads, city_train", "Gap: nowhere minus city_train"]
    gap = dict(zip(finding.tables[2].columns, finding.tables[2].rows[0], strict=True))
    ece = [numbers[part]["NC"]["ece"]["value"] for part in ("heads", "against")]
    assert ece[1] < 0.03 < ece[0] and gap["ECE [%]"] == f"{100 * (ece[0] - ece[1]):+.1f}"
    assert "auc_within_frames" in numbers["against"]["NC"] and "correlation" in numbers["against"]["EP"]
    assert not any("different planners" in remark for remark in finding.remarks)
    other = calibration(here, replace(there, about={**there.about, "weights": "other"}), draws=DRAWS)
    assert any("different planners" in remark for remark in other.remarks)


def test_the_same_split_twice_has_two_names():
    pools = calibrated_pools(frames=4)
    assert calibration(pools, pools, draws=20).tables[1].title == "Heads, nowhere (against)"


def test_what_cannot_be_calibrated():
    with pytest.raises(ValueError, match="no logits"):
        calibration(random_pools(), draws=20)
    with pytest.raises(ValueError, match="one log"):
        calibration(calibrated_pools(logs=1), draws=20)


def test_pools_of_files_have_their_logits(pool_folder):
    pools, folder = ScoredPools.open(pool_folder), PoolFolder(pool_folder)
    expected = np.concatenate([folder.read(name).logits for name in folder.logs])
    np.testing.assert_array_equal(pools.logits, expected)


def test_command(pool_folder, tmp_path, capsys):
    words = ["study", "calibration", str(pool_folder), "--against", str(pool_folder), "--draws", "20"]
    assert main([*words, "--out", str(tmp_path)]) == 0
    assert "Selection with scalings of the other half" in capsys.readouterr().out
    numbers = json.loads((tmp_path / "calibration.json").read_text())["numbers"]
    assert numbers["heads"] == numbers["against"]
