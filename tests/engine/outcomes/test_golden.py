"""Parity with the official implementations on every golden file."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.support.ego_areas import ego_areas
from tests.support.golden import outcome_files
from world4scorer.engine.outcomes.ego import ego_boxes
from world4scorer.engine.outcomes.extended_comfort import extended_comfort, plans_last
from world4scorer.engine.outcomes.v1 import label
from world4scorer.engine.outcomes.v2 import epdms
from world4scorer.engine.scene import State, read_exchange
from world4scorer.engine.selection import pair_interval
from world4scorer.evaluation.scores.exchange_files import score_frames

POSE = [State.X, State.Y, State.HEADING]
OTHER = [column for column in State if column not in POSE]


FILES = outcome_files()
LOGS = [path for path in FILES if "_log" in path.stem]


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.stem)
def golden(request):
    return load(request.param)


@pytest.fixture(scope="module", params=LOGS, ids=lambda path: path.stem)
def golden_log(request):
    return load(request.param)


def load(path):
    with np.load(path, allow_pickle=False) as archive:
        fields = {name: archive[name] for name in archive.files}
    frames = read_exchange(path)
    return fields, frames, score_frames(frames, "all")


def test_rollouts(golden):
    fields, _, scored = golden
    every = scored["sim_states"].shape[1] // fields["sim_states"].shape[1]
    difference = scored["sim_states"][:, ::every] - fields["sim_states"]
    difference[..., State.HEADING] = np.angle(np.exp(1j * difference[..., State.HEADING]))
    assert np.abs(difference[..., POSE]).max() < 1e-8
    assert np.abs(difference[..., OTHER]).max() < 1e-7


@pytest.mark.parametrize(
    "name",
    [
        "progress_raw",
        "v1_train",
        "v1_eval",
        "v2_raw",
        "v2_filtered",
        "v2_human",
        "v2_epdms_noec_raw",
        "v2_epdms_noec_filtered",
    ],
)
def test_tables(golden, name):
    fields, _, scored = golden
    assert fields["v1_fragile"].sum() == 0 and fields["v2_fragile"].sum() == 0  # nothing to excuse
    np.testing.assert_allclose(scored[name], fields[name], rtol=0, atol=1e-9)


def test_discrete_values_are_equal_not_just_close(golden):
    fields, _, scored = golden
    np.testing.assert_array_equal(scored["v1_train"][..., [0, 1, 3, 4, 5]], fields["v1_train"][..., [0, 1, 3, 4, 5]])
    discrete = [0, 1, 2, 3, 5, 6, 7, 8]
    np.testing.assert_array_equal(scored["v2_raw"][..., discrete], fields["v2_raw"][..., discrete])
    np.testing.assert_array_equal(scored["v2_filtered"][..., discrete], fields["v2_filtered"][..., discrete])


def test_log_fields(golden_log):
    fields, _, scored = golden_log
    for name in ("ec_shift", "ec_const", "rerank_lambdas", "rerank_sel", "rerank_ec"):
        np.testing.assert_array_equal(scored[name], fields[name], err_msg=name)
    np.testing.assert_array_equal(scored["ec_given_prev"][1:], fields["ec_given_prev"][1:])
    for name in ("epdms_const_filtered", "epdms_const_raw", "rerank_epdms_filtered"):
        np.testing.assert_allclose(scored[name], fields[name], rtol=0, atol=1e-9, err_msg=name)


def test_extended_comfort_of_every_pair(golden_log):
    fields, frames, scored = golden_log
    for f in range(1, len(frames)):
        interval = pair_interval(frames[f].scene.time_us, frames[f - 1].scene.time_us)
        for j in range(64) if interval is not None else []:
            flags = extended_comfort(scored["sim_states"][f], scored["sim_states"][f - 1, j], interval)
            np.testing.assert_array_equal(flags, fields["ec_matrix"][f, j])


def test_causes(golden):
    fields, frames, _ = golden
    for f, frame in enumerate(frames):
        v1 = label(frame.scene, frame.plans)
        v2 = epdms(frame.scene, frame.plans, human_filter=False)
        np.testing.assert_array_equal(v1.comfort_checks, fields["v1_comfort_flags"][f].astype(bool))
        np.testing.assert_array_equal(v2.comfort_checks, fields["v2_history_comfort_flags"][f].astype(bool))
        np.testing.assert_array_equal(v1.causes["TTC"].step, fields["v1_ttc_idx"][f])
        np.testing.assert_array_equal(v2.causes["TTC"].step, fields["v2_ttc_idx"][f])
        for outcome, first in ((v1, fields["v1_collision_idx"][f]), (v2, fields["v2_collision_idx"][f])):
            cause = outcome.causes["NC"]
            np.testing.assert_array_equal(cause.violated, first >= 0)
            # The golden step is the first at fault; ours the one that decided, later only after a static object.
            later = cause.step != first
            assert (cause.step[later] > first[later]).all() and (outcome.nc[later] == 0.0).all()
            assert all(cause.names[i] in frame.scene.tracks.ids for i in cause.index[cause.violated])


def test_areas(golden):
    fields, frames, scored = golden
    for f, frame in enumerate(frames):
        flags = ego_areas(frame.scene.packed_map, ego_boxes(plans_last(scored["sim_states"][f])))
        np.testing.assert_array_equal(flags, fields["ego_areas"][f].astype(bool))


def test_result_says_how_it_was_made(golden):
    _, frames, scored = golden
    meta = json.loads(str(scored["meta_json"]))
    assert meta["lqr"] == "navsim" and meta["tokens"] == [frame.scene.token for frame in frames]
