"""Size, operations and speed of the models, and the speed against a plain implementation of the same network.

    python benchmarks/model.py                          # counts of all models; times of the city's: minutes
    python benchmarks/model.py --store STORE            # with labels from the simulator in the training step
    python benchmarks/model.py --paper-passes 1         # also times the paper's model on this processor: minutes more

Writes results/model.json and results/model.md. Parameters and operations are exact counts from shapes. Times are of
this machine; each part of the file keeps what its last run measured, with the date, so that the minutes of the paper's
model are not spent again.

Against the plain implementation (benchmarks/eager_model.py): both have the same weights, and their outputs agree to
1e-4 before anything is timed. All variants take turns, round after round; a ratio is the median over rounds of
plain / ours, so that whatever else the machine does weighs on both. A training step is forward, losses, backward and
AdamW, with 64 generated, 16 bank and one executed plan per scene. With a store, the plain step labels its plans scene
after scene after the forward pass; ours labels in threads while the predictor runs. The step of preset city, from
cached features of its frozen encoder and with random labels, is timed in float32 and with products in bfloat16.
"""

from __future__ import annotations

import copy
import datetime
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tyro
from eager_model import EagerModel
from torch import Tensor

from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes import label, label_batch, set_threads
from world4scorer.planner.model import paper
from world4scorer.planner.model.config import PRESETS, ModelConfig, pretrained_city
from world4scorer.planner.model.dense_encoder import DenseEncoder, Perception
from world4scorer.planner.model.network import Network
from world4scorer.planner.planner import Planner
from world4scorer.planner.profiling.profile import peak_memory, profile
from world4scorer.planner.profiling.profile_report import as_rows
from world4scorer.planner.training.bf16_linear import use_bf16_in_vit, use_bf16_products
from world4scorer.planner.training.config import city
from world4scorer.planner.training.losses import LossConfig, Targets, compute_losses, screen_loss
from world4scorer.planner.training.predictions import Predictions, predict, propose, screen_logits

ROOT = Path(__file__).resolve().parents[1]
BANK = 16
"""Bank plans of a scene in a step."""
LABELS = 7
AGREEMENT = 1e-4
"""Outputs of the two implementations may differ by this much."""

Step = Callable[[], Any]


@dataclass(frozen=True)
class Options:
    """What to measure."""

    rounds: int = 7
    """In which all variants take turns."""
    batch: int = 16
    """Scenes of the larger batch."""
    threads: int = 1
    """Of torch."""
    compile: bool = False
    """Also what torch.compile makes of inference; compiling takes a minute or more."""
    store: Path | None = None
    """Label generated plans in the training step, on scenes of this store; random labels without."""
    paper_passes: int = 0
    """Passes of the paper's model per time; 0 keeps the times that are there."""
    out: Path = ROOT / "results"
    """Folder of model.json and model.md."""


def in_turn(steps: dict[str, Step], rounds: int) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Seconds by variant, one for each round after one that does not count: by the clock, and of processor time."""
    clock: dict[str, list[float]] = {name: [] for name in steps}
    processor: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds + 1):
        for name, step in steps.items():
            start, start_processor = time.perf_counter(), time.process_time()
            step()
            if number:
                clock[name].append(time.perf_counter() - start)
                processor[name].append(time.process_time() - start_processor)
    return clock, processor


def against_plain(steps: dict[str, Step], rounds: int) -> dict[str, dict[str, float]]:
    """Milliseconds and how many times as fast as the first variant, by variant."""
    clock, processor = in_turn(steps, rounds)
    plain = next(iter(clock.values()))
    return {
        name: {
            "milliseconds": 1e3 * statistics.median(times),
            "milliseconds of processor": 1e3 * statistics.median(processor[name]),
            "times as fast": statistics.median(p / t for p, t in zip(plain, times, strict=True)),
        }
        for name, times in clock.items()
    }


def same_weights(planner: Planner) -> EagerModel:
    """The plain implementation with a planner's weights, after a look whether it gives the same."""
    plain = EagerModel(planner.config).eval()
    plain.load_state_dict(planner.network.state_dict())
    image, ego = inputs(planner, 2)
    with torch.no_grad():
        ours, theirs = planner.network(image, ego), plain(image, ego)
    for part, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(part, other, rtol=0, atol=AGREEMENT)
    return plain


def inputs(planner: Planner, scenes: int) -> tuple[Tensor, Tensor]:
    """Random images and ego statuses."""
    config = planner.config
    image = torch.randn(scenes, config.cameras, 3, config.image_height, config.image_width)
    return image, torch.randn(scenes, config.ego_numbers)


def inference(planner: Planner, plain: EagerModel, scenes: int, compiled: bool) -> dict[str, Step]:
    """A pass of each variant."""
    image, ego = inputs(planner, scenes)
    variants: dict[str, Any] = {"plain": torch.no_grad()(plain), "ours": planner}
    if planner.config.lora_rank:
        variants["ours, merged"] = planner.merged()
    variants["ours, bf16"] = planner.merged().bfloat16()
    if compiled:
        variants["ours, compiled"] = torch.compile(planner.merged())
    return {name: (lambda variant=variant: variant(image, ego)) for name, variant in variants.items()}


def training(planner: Planner, plain: EagerModel, scenes: int, store: Path | None) -> dict[str, Step]:
    """A training step of each implementation."""
    image, ego = inputs(planner, scenes)
    config = planner.config
    bank, executed = torch.randn(scenes, BANK, config.poses, 3), torch.randn(scenes, config.poses, 3)
    everyone = torch.ones(scenes, dtype=torch.bool)
    drawn = (torch.rand(scenes, config.proposals, LABELS) > 0.5).float()
    bank_labels = (torch.rand(scenes, BANK, LABELS) > 0.5).float()
    future = torch.randn(scenes, config.future_width)
    network, pool = planner.network, ThreadPoolExecutor(1)
    network.train()
    plain.train()
    known = [] if store is None else _scenes(store, scenes)

    def losses(predictions: Predictions, labels: Tensor) -> Tensor:
        targets = Targets(executed, executed, labels, bank_labels, everyone, future, everyone)
        return compute_losses(predictions, targets, LossConfig()).total

    def optimised(model: torch.nn.Module) -> Callable[[Tensor], None]:
        optimiser = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 2e-4, weight_decay=0.01)

        def step(loss: Tensor) -> None:
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

        return step

    def as_labels(tables: list[np.ndarray]) -> Tensor:
        return torch.from_numpy(np.stack(tables)).float()

    shortened = copy.deepcopy(network)
    use_bf16_in_vit(shortened)
    plain_update = optimised(plain)

    def ours(network: Network) -> Step:
        update = optimised(network)

        def step() -> None:
            proposed = propose(network, image, ego)
            plans = proposed.plans.detach().numpy()
            pending = pool.submit(label_batch, known, plans) if known else None
            predictions = predict(network, proposed, bank, executed)
            labels = drawn if pending is None else as_labels([outcome.table for outcome in pending.result()])
            update(losses(predictions, labels))

        return step

    def theirs() -> None:
        scene, state = plain.encoder(image), plain.ego_encoder(ego)
        plans = plain.propose(scene, state)
        states = plain.predict(plans, scene)
        bank_logits = plain.score(plain.predict(bank, scene), state)
        read = plain.readout(plain.predict(executed[:, None], scene.detach())[:, 0])
        predictions = Predictions(plans, states, plain.score(states, state), bank_logits, read)
        given = plans.detach().numpy()
        labels = as_labels([label(s, p).table for s, p in zip(known, given, strict=True)]) if known else drawn
        plain_update(losses(predictions, labels))

    return {"plain": theirs, "ours": ours(network), "ours, bf16 in the ViT": ours(shortened)}


def training_from_features(scenes: int) -> dict[str, Step]:
    """A training step of preset city in float32 and with products in bfloat16."""
    model = city().model
    patches, features = DenseEncoder().shapes
    perception = Perception(torch.randn(scenes, *patches), torch.rand(scenes, *features)).float()
    ego = torch.randn(scenes, model.ego_numbers)
    bank, executed = torch.randn(scenes, BANK, model.poses, 3), torch.randn(scenes, model.poses, 3)
    everyone = torch.ones(scenes, dtype=torch.bool)
    labels = (torch.rand(scenes, model.proposals, LABELS) > 0.5).float()
    bank_labels = (torch.rand(scenes, BANK, LABELS) > 0.5).float()
    future = torch.randn(scenes, model.future_width)

    def of(network: Network) -> Step:
        optimiser = torch.optim.AdamW([p for p in network.parameters() if p.requires_grad], 1e-4, fused=True)

        def step() -> None:
            proposed = propose(network, perception, ego)
            predictions = predict(network, proposed, bank, executed)
            screen = screen_loss(screen_logits(network, proposed, proposed.plans.detach()), labels[..., 0])
            targets = Targets(executed, executed, labels, bank_labels, everyone, future, everyone)
            loss = compute_losses(predictions, targets, LossConfig(), screen=screen).total
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

        return step

    network = Network(model).train()
    torch.nn.init.normal_(network.generator.anchors, std=0.2)
    short = copy.deepcopy(network)
    use_bf16_products(short)
    return {"fp32": of(network), "bf16 products": of(short)}


def _scenes(store: Path, count: int) -> list[Any]:
    opened = SceneStore(store)
    tokens = opened.tokens
    if not tokens:
        raise ValueError(f"{store}: holds no scenes")
    return [opened[tokens[number % len(tokens)]] for number in range(count)]


def plain_city() -> ModelConfig:
    """The city's model without its extensions, which the plain implementation does not have, and with small patches."""
    return replace(
        pretrained_city(), plan_sampling=False, sampling_fine=0, anchors=False, motion_queries=False, dropout=0.1
    )


def city_times(options: Options) -> dict[str, Any]:
    """Everything about the city's model that takes time."""
    torch.set_num_threads(options.threads)
    set_threads(options.threads)
    torch.manual_seed(0)
    planner = Planner(plain_city())
    plain = same_weights(planner)
    parts: dict[str, Any] = {}
    for scenes in (1, options.batch):
        steps = inference(planner, plain, scenes, options.compile)
        parts[f"inference, {scenes} at once"] = against_plain(steps, options.rounds)
    labels = "random labels" if options.store is None else "labels by the simulator"
    steps = training(planner, plain, options.batch, options.store)
    parts[f"training step, {options.batch} scenes, {labels}"] = against_plain(steps, options.rounds)
    steps = training_from_features(options.batch)
    parts[f"training step of preset city, {options.batch} scenes"] = against_plain(steps, options.rounds)
    planner.eval()
    memory = {"fp32": peak_memory(planner), "bf16": peak_memory(planner.merged().bfloat16())}
    views = f"{planner.config.image_height} x {planner.config.image_width}"
    about = {"views": views, "threads": options.threads, "rounds": options.rounds}
    return {**about, "parts": parts, "bytes at most": memory}


def paper_times(passes: int) -> dict[str, Any]:
    """Milliseconds and bytes of a pass of the paper's model, on one thread."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    planner = Planner(paper())
    variants = {"fp32": planner, "fp32, merged": planner.merged(), "bf16, merged": planner.merged().bfloat16()}
    image, ego = inputs(planner, 1)
    steps = {name: (lambda variant=variant: variant(image, ego)) for name, variant in variants.items()}
    parts = {"inference, 1 at once": against_plain(steps, passes)}
    memory = {name: peak_memory(variant) for name, variant in variants.items()}
    views = f"{planner.config.image_height} x {planner.config.image_width}"
    return {"views": views, "threads": 1, "rounds": passes, "parts": parts, "bytes at most": memory}


def counts(name: str) -> dict[str, Any]:
    """Exact counts of a model, with their table."""
    report = profile(PRESETS[name]())
    return {
        "parameters": report.parameters,
        "all parameters": report.total_parameters,
        "operations": report.operations(),
        "operations with attention": report.operations(attention=True),
        "table": [f"{name:34}{value:>14}" for name, value in as_rows(report)],
    }


def stamped(measured: dict[str, Any]) -> dict[str, Any]:
    """With what they were measured on, and when."""
    return {
        "date": datetime.date.today().isoformat(),
        "processor": f"{platform.machine()}, {os.cpu_count()} cores",
        "load": round(os.getloadavg()[0], 1),
        "torch": torch.__version__,
        **measured,
    }


def as_text(results: dict[str, Any]) -> str:
    """The results for people."""
    lines = ["# Models", "", "Made by `python benchmarks/model.py`; what is measured is said there.", ""]
    for name, model in results["models"].items():
        lines += [f"## {name}", "", "```", *model["table"], "```", ""]
        if "times" in model:
            lines += [*_times(model["times"]), ""]
    return "\n".join(lines)


def _times(times: dict[str, Any]) -> list[str]:
    about = f"Measured {times['date']}, {times['threads']} thread(s), torch {times['torch']}."
    about += f" Views of {times['views']}; medians of {times['rounds']} rounds."
    if "load" in times:
        about += f" Load of the machine ({times['processor']}): {times['load']}; where it is busy, ms are long."
    lines = [about, ""]
    memory = [f"{name}: {size / 2**20:,.0f} MiB" for name, size in times["bytes at most"].items()]
    lines += ["| | variant | ms | ms of processor | times as fast as the first |", "|---|---|---|---|---|"]
    for part, rows in times["parts"].items():
        for name, row in rows.items():
            numbers = (row["milliseconds"], row["milliseconds of processor"], row["times as fast"])
            lines.append(f"| {part} | {name} | {numbers[0]:,.1f} | {numbers[1]:,.1f} | {numbers[2]:.2f} |")
    return [*lines, "", f"Memory of one pass at most: {', '.join(memory)}."]


def main(options: Options) -> None:
    """Measure, print, write."""
    file = options.out / "model.json"
    before = json.loads(file.read_text())["models"] if file.exists() else {}
    results: dict[str, Any] = {"models": {}}
    for name in PRESETS:
        results["models"][name] = counts(name)
        if "parts" in before.get(name, {}).get("times", {}):
            results["models"][name]["times"] = before[name]["times"]
    results["models"]["city"]["times"] = stamped(city_times(options))
    if options.paper_passes:
        results["models"]["paper"]["times"] = stamped(paper_times(options.paper_passes))
    text = as_text(results)
    options.out.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(results, indent=1) + "\n")
    (options.out / "model.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main(tyro.cli(Options))
