from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tests.support.model_golden import tiny_inputs, tiny_planner
from world4scorer.planner.model import Network, baseline, city, city_vit, paper
from world4scorer.planner.model.dense_encoder_config import DenseEncoderConfig
from world4scorer.planner.planner import Planner
from world4scorer.planner.profiling.operations import FVCORE_NORM, OperationCounter, TensorMemory
from world4scorer.planner.profiling.profile import latency, peak_memory, profile
from world4scorer.planner.profiling.profile_report import REPORTED, RERANKING, as_rows, measure
from world4scorer.planner.profiling.reranking_time import reranking_time


def test_the_paper_numbers():
    report = profile(paper())
    assert report.total_parameters == 35_520_926
    assert report.parameters == {
        "vit": 23_043_072,
        "adapters": 589_824,
        "scene queries": 24_576,
        "neck": 98_560,
        "ego encoder": 3_072,
        "proposal queries": 16_384,
        "generator": 4_215_808,
        "trajectory head": 1_341_464,
        "action encoder": 288_000,
        "predictor": 4_216_320,
        "score heads": 1_585_158,
        "visual readout": 98_688,
    }
    assert report.shared_parameters == 4_504_320
    assert report.unreached_parameters == 524_288
    assert round(report.encoder.total(1) / 1e9, 1) == 349.1
    assert round(report.rest.total(1) / 1e9, 2) == 0.74
    assert round(report.operations() / 1e9, 1) == 349.9
    assert round(report.operations(attention=True) / 1e9, 1) == 927.1
    text = " ".join(value for _, value in as_rows(report))
    assert "35,520,926" in text and "349.9 G" in text and "927.1 G" in text


@pytest.mark.parametrize("config", [paper(), baseline(), city(), city_vit()], ids=["paper", "baseline", "dense", "vit"])
def test_parts_make_up_the_whole(config):
    with torch.device("meta"):
        whole = sum(parameter.numel() for parameter in Network(config).parameters())
    assert profile(config).total_parameters == whole


@pytest.mark.parametrize("config", [city(), city_vit()], ids=["dense", "vit"])
def test_real_tensors_count_as_fake_ones_do(config):
    planner = Planner(config)
    with torch.no_grad(), OperationCounter() as counter:
        cameras = DenseEncoderConfig().cameras
        planner.network(torch.zeros(1, 4, 3, 84, 196), torch.zeros(1, 11), None, cameras)
    report = profile(config)
    assert counter.operations - (report.encoder - report.spared) == report.rest


def test_fvcore_convention():
    """278,800,384 is what fvcore 0.1.5.post20221221 gives for this model."""
    config = replace(
        city_vit(),
        image_height=112,
        patch=14,
        decoder_mlp_ratio=4,
        generator_layers=2,
        future_width=384,
        plan_sampling=False,
        sampling_fine=0,
        anchors=False,
        motion_queries=False,
    )
    assert profile(config).operations(per_normalised=FVCORE_NORM) == 278_800_384


def test_against_fvcore_itself():
    fvcore = pytest.importorskip("fvcore.nn")
    network = tiny_planner(plan_sampling=False).network
    with torch.no_grad():
        analysis = fvcore.FlopCountAnalysis(network, tiny_inputs(scenes=1))
        analysis.unsupported_ops_warnings(False).uncalled_modules_warnings(False)
        report = profile(network.config)
        assert analysis.total() == report.operations(per_normalised=FVCORE_NORM) - report.spared.total(FVCORE_NORM)


def test_baseline_lacks_readout_and_norm():
    assert profile(paper()).total_parameters - profile(baseline()).total_parameters == 98_688 + 512


def test_memory_follows_what_is_alive():
    with TensorMemory() as memory:
        first = torch.zeros(1000)
        second = first + 1
        first.add_(1)
        view = second[10:]
        assert memory.peak == 8000
        del first
        third = view * 2
        del second, view
        fourth = third + third
        assert memory.peak == 8000
        assert fourth.numel() == 990


def test_measured_on_this_machine():
    planner = tiny_planner()
    assert latency(planner, repeats=1) > 0
    weights = sum(parameter.nbytes for parameter in planner.parameters())
    assert peak_memory(planner) > weights
    assert peak_memory(planner.bfloat16()) < peak_memory(planner.float())


def test_what_the_appendix_reports_is_measured():
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    rows = measure(tiny_planner(), ("fp32", "tf32"), passes=1, batch=3)
    assert before == (torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32)
    for row in rows:
        assert row.encoder_milliseconds > 0 and row.frames_per_second > 0
        assert row.head_milliseconds == max(0.0, row.milliseconds - row.encoder_milliseconds)
        assert row.batch == 3 and row.batch_bytes > row.bytes
    named = dict(as_rows(profile(paper()), rows, reranking_time(8, repeats=2)))
    assert {"  encoder, fp32", "one pass, tf32", "3 frames at once, fp32", RERANKING} <= named.keys()
    assert set(REPORTED) - named.keys() == {
        "one pass, fp16",
        "  encoder, fp16",
        "32 frames at once, fp32",
        "memory at most, 32 frames, fp32",
    }


def test_unreached_parameters_are_those_that_get_no_gradient():
    network = tiny_planner().network
    scene = network.encode(tiny_inputs()[0]).detach()
    network.read_future(
        network.predict(torch.randn(3, 1, 8, 3), scene, network.encode_ego(torch.zeros(3, 11)))
    ).sum().backward()
    shared = [*network.action_encoder.named_parameters(), *network.predictor.named_parameters()]
    weights = [parameter.grad for name, parameter in shared if name.endswith("self_attention.in_weight")]
    zero = sum(int((gradient == 0).all(1).sum()) * gradient.shape[1] for gradient in weights)
    assert zero == profile(network.config).unreached_parameters == 2 * 2 * 16 * 16
    assert isinstance(network, Network)
