from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.support.processes import WITH_TESTS
from tests.support.small_training import MACHINE, TrainingSet
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.samples import Samples
from world4scorer.datasets.store import SceneStore
from world4scorer.jobs.tensor_files import read_tensors
from world4scorer.planner.bank import CandidateBank
from world4scorer.planner.planner import Planner
from world4scorer.planner.pretraining.schedule import learning_rate
from world4scorer.planner.training.augmentation import AugmentationConfig
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.dataset import PlanningDataset, collate
from world4scorer.planner.training.labels import SceneLabeller
from world4scorer.planner.training.losses import LossConfig
from world4scorer.planner.training.module import ScorerModule, permute_labels
from world4scorer.planner.training.run import make_network, subsample, train


def weights(run: Path, planner: str = "planner") -> dict[str, torch.Tensor]:
    return read_tensors(run / planner / "model.safetensors")


def history(run: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run / "history.jsonl").read_text().splitlines()]


def differ(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> float:
    assert ours.keys() == theirs.keys()
    return max(float((ours[name] - theirs[name]).abs().max()) for name in ours)


@pytest.fixture(scope="module")
def finished(training_set: TrainingSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "first"
    train(training_set.config, training_set.data, out, MACHINE)
    return out


def test_a_run_learns_and_keeps_what_it_was_made_from(training_set, finished, tmp_path):
    assert TrainConfig.from_json((finished / "config.json").read_text(), "config.json") == training_set.config
    lines = history(finished)
    assert [line["epoch"] for line in lines] == [1, 2] and lines[-1]["step"] == 8
    assert lines[-1]["train/total"] < lines[0]["train/total"]
    assert 0 <= lines[-1]["val/random"] <= lines[-1]["val/oracle"] <= 1
    assert lines[-1]["val/score"] <= lines[-1]["val/oracle"] and 0 <= lines[-1]["val/ordering"] <= 1
    assert (finished / "checkpoints" / "best.ckpt").is_file() and any((finished / "tensorboard").iterdir())
    longer = replace(training_set.config, epochs=12)
    train(longer, training_set.data, tmp_path / "longer", MACHINE)
    assert history(tmp_path / "longer")[-1]["train/score"] < 0.8 * lines[0]["train/score"]


def test_validation_is_the_simulators_score_of_the_selected_plans(training_set, finished):
    data = training_set.data
    samples = Samples.of_split(data.data, find_split("city_val", data.data), data.val_store)
    dataset = PlanningDataset(samples, training_set.config.model)
    batch = collate([dataset[place, 0] for place in range(len(samples))])
    planner = Planner.from_pretrained(finished / "planner")
    from world4scorer.engine.outcomes import pdms
    from world4scorer.planner.model.images import normalise

    scored = planner(normalise(batch.views), batch.ego_status, batch.cameras)
    store, chosen = SceneStore(data.val_store), scored.choice("v1")
    true = [
        pdms(store[token], scored.plans[scene, chosen[scene]][None].numpy()).score[0]
        for scene, token in enumerate(batch.tokens)
    ]
    assert np.mean(true) == pytest.approx(history(finished)[-1]["val/score"], abs=1e-5)


def test_same_seed_same_weights_other_seed_others(training_set, finished, tmp_path):
    train(training_set.config, training_set.data, tmp_path / "again", MACHINE)
    assert differ(weights(finished), weights(tmp_path / "again")) == 0.0
    train(replace(training_set.config, seed=6), training_set.data, tmp_path / "other", MACHINE)
    assert differ(weights(finished), weights(tmp_path / "other")) > 1e-3


SCRIPT = """
import sys
import time
from dataclasses import replace
from pathlib import Path
from tests.support.small_training import MACHINE
from world4scorer.planner.training.run_files import read_run
from world4scorer.planner.training.module import ScorerModule
from world4scorer.planner.training.run import train

config, data = read_run(Path(sys.argv[1]))
out, devices, stop = Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
begin = ScorerModule.on_train_batch_start

def slow(self, batch, index):
    begin(self, batch, index)
    if self.global_step == stop:
        (out / "there").touch()
        time.sleep(600)

ScorerModule.on_train_batch_start = slow
train(config, data, out, replace(MACHINE, devices=devices))
"""
"""Repeats a run in another folder, with so many processes, and waits at a step to be killed."""


def start(tmp_path: Path, like: Path, out: Path, devices: int = 1, stop: int = -1) -> subprocess.Popen[bytes]:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    words = [str(like), str(out), str(devices), str(stop)]
    return subprocess.Popen([sys.executable, str(script), *words], stderr=subprocess.PIPE, env=WITH_TESTS)


def kill_at(
    tmp_path: Path, like: Path, out: Path, step: int, devices: int = 1, how: signal.Signals = signal.SIGKILL
) -> int:
    """Returns the exit code."""
    process = start(tmp_path, like, out, devices, step)
    for _ in range(1200):
        if (out / "there").exists() or process.poll() is not None:
            break
        time.sleep(0.1)
    assert process.poll() is None, process.stderr.read().decode()
    process.send_signal(how)
    code = process.wait(60)
    (out / "there").unlink()
    return code


def test_a_killed_run_goes_on_to_the_identical_weights(training_set, finished, tmp_path):
    out = tmp_path / "killed"
    # In the middle of the first epoch, after the checkpoint of step 3; at the start of the second, after that of the
    # epoch; and in its middle, after that of step 6.
    for step in (3, 4, 7):
        kill_at(tmp_path, finished, out, step)
    assert not (out / "planner").exists()
    train(training_set.config, training_set.data, out, MACHINE)
    assert differ(weights(finished), weights(out)) == 0.0
    assert differ(weights(finished, "planner_best"), weights(out, "planner_best")) == 0.0
    kept, whole = history(out), history(finished)
    assert [line["step"] for line in kept] == [line["step"] for line in whole]
    for name in ("val/score", "val/oracle", "val/ordering"):
        assert [line[name] for line in kept] == [line[name] for line in whole]


def test_ctrl_c_ends_the_processes_of_all_devices(training_set, finished, tmp_path):
    code = kill_at(tmp_path, finished, tmp_path / "run", 1, devices=2, how=signal.SIGINT)
    assert code == -signal.SIGINT  # what Python makes of a KeyboardInterrupt that nobody catches
    for _ in range(100):
        running = [path for path in Path("/proc").glob("[0-9]*/cmdline") if str(tmp_path) in _words(path)]
        if not running:
            break
        time.sleep(0.1)
    assert not running


def _words(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # ended in the meantime
        return ""


def test_what_was_best_is_remembered(training_set, finished, tmp_path):
    """The file of the last state knows of the epoch that it ends."""
    for step in (4, 7):
        kill_at(tmp_path, finished, tmp_path / "run", step)
        kept = torch.load(tmp_path / "run" / "checkpoints" / "last.ckpt", weights_only=True)
        found = [state["best_model_score"] for state in kept["callbacks"].values() if "best_model_score" in state]
        assert [float(score) for score in found] == pytest.approx([history(finished)[0]["val/score"]])


def test_a_damaged_checkpoint_is_named(training_set, finished, tmp_path):
    kill_at(tmp_path, finished, tmp_path / "run", 4)
    last = tmp_path / "run" / "checkpoints" / "last.ckpt"
    last.write_bytes(last.read_bytes()[:5000])
    with pytest.raises(ValueError, match=r"last\.ckpt.*delete it"):
        train(training_set.config, training_set.data, tmp_path / "run", MACHINE)


def test_a_finished_run_is_left_as_it_is(training_set, finished):
    before = (finished / "planner" / "model.safetensors").read_bytes()
    train(training_set.config, training_set.data, finished, MACHINE)
    assert (finished / "planner" / "model.safetensors").read_bytes() == before


def test_another_configuration_does_not_go_into_the_same_folder(training_set, finished):
    with pytest.raises(ValueError, match=r"config\.json: made with other settings \(epochs: \d, now 3\)"):
        train(replace(training_set.config, epochs=3), training_set.data, finished, MACHINE)


def test_two_processes_do_what_one_does(training_set, tmp_path):
    """With one batch shared by both: nothing random, because each process draws on its own."""
    model = replace(training_set.config.model, dropout=0.0, drop_path=0.0)
    config = replace(training_set.config, model=model, augmentation=AugmentationConfig(), epochs=1)
    train(config, training_set.data, tmp_path / "one", MACHINE)
    process = start(tmp_path, tmp_path / "one", tmp_path / "two", devices=2)
    assert process.wait(timeout=300) == 0, process.stderr.read().decode()
    assert differ(weights(tmp_path / "one"), weights(tmp_path / "two")) < 2e-4
    one, two = history(tmp_path / "one")[-1], history(tmp_path / "two")[-1]
    assert one["val/score"] == pytest.approx(two["val/score"], abs=0.03) and one["step"] == two["step"]
    assert one["val/oracle"] == pytest.approx(two["val/oracle"], abs=0.01)


def module_of(training_set: TrainingSet, **changes: object) -> tuple[ScorerModule, Samples]:
    config, data = replace(training_set.config, **changes), training_set.data
    samples = Samples.of_split(data.data, find_split("city_train", data.data), data.store)
    labeller = SceneLabeller(SceneStore(data.store))
    return ScorerModule(config, make_network(config, samples), labeller, labeller, 8), samples


def test_permuted_labels_keep_scenes_and_break_pairs():
    torch.manual_seed(0)
    labels = torch.rand(5, 64, 7)
    shuffled = permute_labels(labels)
    assert not torch.equal(shuffled, labels)
    assert torch.equal(shuffled.sort(1).values.sum(1), labels.sort(1).values.sum(1))
    order = (shuffled[:, :, None] == labels[:, None]).all(-1)
    assert (order.sum(1) == 1).all() and (order.sum(2) == 1).all()  # rows stay whole
    assert order.diagonal(dim1=1, dim2=2).float().mean() < 0.1


def test_permutation_reaches_the_losses(training_set, tmp_path):
    runs = {}
    for which in ("none", "bank", "all"):
        config = replace(training_set.config, permuted_labels=which, epochs=1)
        train(config, training_set.data, tmp_path / which, MACHINE)
        runs[which] = weights(tmp_path / which)
    assert differ(runs["none"], runs["bank"]) > 1e-4 and differ(runs["bank"], runs["all"]) > 1e-4


@pytest.mark.parametrize(
    "changes",
    [
        {"auxiliary_target": "none"},
        {"losses": LossConfig(bank=0.0)},
        {"losses": LossConfig(future=0.1, future_gradient=0.05)},
    ],
    ids=["no future", "no bank", "scaled future"],
)
def test_ablations_train_without_what_they_leave_out(training_set, tmp_path, changes):
    config = replace(training_set.config, epochs=1, **changes)
    data = training_set.data
    if config.loss_weights.bank == 0:
        data = replace(data, bank=None)
    if config.loss_weights.future == 0:
        data = replace(data, targets=None)
    train(config, data, tmp_path / "run", MACHINE)
    line = history(tmp_path / "run")[-1]
    assert ("train/bank" in line) == (config.loss_weights.bank > 0)
    assert ("train/future" in line) == (config.loss_weights.future > 0)


def test_a_model_without_images_never_opens_one(training_set, tmp_path, monkeypatch):
    monkeypatch.setattr("world4scorer.planner.training.dataset.read_view", None)
    config = replace(
        training_set.config, epochs=1, model=replace(training_set.config.model, images=False), auxiliary_target="none"
    )
    train(config, replace(training_set.data, targets=None), tmp_path / "blind", MACHINE)
    assert history(tmp_path / "blind")[-1]["step"] == 4


def test_what_is_missing_is_named(training_set, tmp_path):
    with pytest.raises(ValueError, match="bank: missing"):
        train(training_set.config, replace(training_set.data, bank=None), tmp_path / "a", MACHINE)
    config = replace(training_set.config, vit_weights=str(tmp_path / "nothing"))
    with pytest.raises(ValueError, match="nothing"):
        train(config, training_set.data, tmp_path / "b", MACHINE)
    with pytest.raises(ValueError, match="batch: 128"):
        train(replace(training_set.config, batch=128), training_set.data, tmp_path / "c", MACHINE)
    assert not (tmp_path / "c").exists()  # and the corrected command is not refused for its batch


@pytest.mark.parametrize("precision", ["bf16", "bf16-products", "bf16-vit"])
def test_precisions(training_set, finished, tmp_path, precision):
    config = replace(training_set.config, precision=precision)
    train(config, training_set.data, tmp_path / "run", MACHINE)
    assert {tensor.dtype for tensor in weights(tmp_path / "run").values()} == {torch.float32}
    assert 0 < differ(weights(finished), weights(tmp_path / "run")) < 0.1
    with pytest.raises(ValueError, match="fp16 needs a GPU"):
        train(replace(config, precision="fp16"), training_set.data, tmp_path / "other", MACHINE)


def test_banks_and_targets_that_do_not_fit_are_named(training_set, tmp_path):
    config, data = training_set.config, training_set.data
    with pytest.raises(ValueError, match=r"future\.arrow.*auxiliary-target is current"):
        train(replace(config, auxiliary_target="current"), data, tmp_path / "a", MACHINE)
    with pytest.raises(ValueError, match=r"future\.arrow: targets of 96 numbers; the model reads 64"):
        train(replace(config, model=replace(config.model, future_width=64)), data, tmp_path / "b", MACHINE)
    shutil.copytree(data.bank, tmp_path / "bank")
    tokens = np.load(tmp_path / "bank" / "tokens.npy")
    np.save(tmp_path / "bank" / "tokens.npy", np.array([b"x" + token[1:] for token in tokens]))
    with pytest.raises(ValueError, match="a bank of other scenes"):
        train(config, replace(data, bank=tmp_path / "bank"), tmp_path / "c", MACHINE)


def test_a_model_whose_vit_never_learns_needs_weights(training_set, tmp_path):
    model = replace(training_set.config.model, train_vit=False, lora_rank=2)
    with pytest.raises(ValueError, match="give --vit-weights"):
        train(replace(training_set.config, model=model), training_set.data, tmp_path / "run", MACHINE)


@pytest.mark.slow
def test_other_processes_may_read_the_images(training_set, finished, tmp_path):
    train(training_set.config, training_set.data, tmp_path / "run", replace(MACHINE, loaders=2))
    assert differ(weights(finished), weights(tmp_path / "run")) == 0.0


def test_a_corrupt_image_is_named_with_its_scene(training_set, tmp_path):
    _, samples = module_of(training_set)
    broken = replace(samples, sensors=tmp_path)
    dataset = PlanningDataset(broken, training_set.config.model)
    with pytest.raises(ValueError, match=f"scene '{samples.tokens[3]}'.*CAM_F0.*missing or incomplete"):
        dataset[3, 0]
    path = tmp_path / samples.images[3][0]
    path.parent.mkdir(parents=True)
    path.write_bytes((samples.sensors / samples.images[3][0]).read_bytes()[:300])
    with pytest.raises(ValueError, match=f"scene '{samples.tokens[3]}'.*not a readable image"):
        dataset[3, 0]


def test_scenes_without_bank_or_future_are_told_apart(training_set):
    _, samples = module_of(training_set)

    class Nothing:
        def features(self, tokens):
            return torch.zeros(1, 96), torch.tensor([False])

    pack = CandidateBank.open(training_set.data.bank)
    pack.rows.pop(samples.tokens[0])
    dataset = PlanningDataset(samples, training_set.config.model, bank=pack, targets=Nothing())
    batch = collate([dataset[0, 0], dataset[1, 0]])
    assert batch.bank_valid.tolist() == [False, True] and batch.future_valid.tolist() == [False, False]
    assert batch.bank.isfinite().all() and not batch.bank[0].any()


def test_a_run_on_some_of_the_scenes(training_set):
    config = replace(training_set.config, scenes=20)
    _, samples = module_of(training_set)
    some = subsample(samples, config)
    assert (
        len(some) == 20 and set(some.tokens) < set(samples.tokens) and some.tokens == subsample(samples, config).tokens
    )
    assert subsample(samples, training_set.config) is samples
    with pytest.raises(ValueError, match="scenes: 200 wanted"):
        subsample(samples, replace(config, scenes=200))


def test_learning_rate_rises_and_falls():
    rates = [learning_rate(step, 100, 10) for step in range(101)]
    assert (
        rates[0] == pytest.approx(0.1) and rates[9] == rates[10] == 1.0 and rates[100] == pytest.approx(0.0, abs=1e-12)
    )
    assert rates[:11] == sorted(rates[:11])
    assert rates[10:] == sorted(rates[10:], reverse=True)
    config = TrainConfig(batch=16)
    assert config.peak_learning_rate == pytest.approx(1e-4)
