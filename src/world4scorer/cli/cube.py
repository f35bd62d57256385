"""The subcommands of `w4s cube`. Each imports what it needs when it runs.

w4s cube reproduce study --preset smoke
w4s cube reproduce study --preset cpu

or one stage after the other: data, world-model, collect, head, inverse, tune, evaluate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from world4scorer.cli.arguments import (
    Counts,
    ExecutorFlags,
    OptionalCount,
    OptionalFile,
    OptionalFolder,
    OptionalNumber,
    PositionalFolder,
    metavar,
)
from world4scorer.cli.command_line import command_line
from world4scorer.cli.console_tables import print_published
from world4scorer.cli.exit_codes import UsageError, require_torch
from world4scorer.jobs.executor_options import DEFAULT_EXECUTOR_OPTIONS, ExecutorOptions

if TYPE_CHECKING:
    from world4scorer.cube.evaluate import EvaluateConfig
    from world4scorer.cube.study import Study

PresetName = Literal["smoke", "cpu", "paper"]
Numbers = Annotated[tuple[float, ...], metavar("NUMBER [NUMBER ...]")]
Players = Annotated[tuple[str, ...], metavar("PLAYER [PLAYER ...]")]


def data(
    study: PositionalFolder,
    /,
    preset: PresetName = "cpu",
    expert: OptionalCount = None,
    noisy: OptionalCount = None,
    steps: OptionalCount = None,
    pictures: OptionalCount = None,
    dataset: OptionalFile = None,
    executor: ExecutorFlags = DEFAULT_EXECUTOR_OPTIONS,
) -> int:
    """Begin a study: record episodes of OGBench's expert, pure and noisy.

    Episode I of a kind comes from its own seed, to the bit. Can be interrupted and run again: finished shards are kept.
    With a dataset, starts, goals and the unit of actions come from its episodes instead of the pure expert's.

    Example: w4s cube data study --preset smoke

    Args:
        study: Folder of the study.
        preset: Sizes of the study: smoke takes a minute, cpu at most two hours on two cores, paper is as published.
        expert: Episodes of the expert, from which starts and goals are drawn; the preset's unless given.
        noisy: Episodes of the noisy expert, which only the world model learns from; the preset's unless given.
        steps: Steps of an episode, 0.05 s each; the preset's unless given.
        pictures: Pixels of a picture's side, 0 for no pictures; the preset's unless given.
        dataset: OGBench's own cube-single dataset (.npz), or the episodes of a LeWM release (.h5).
        executor: Where the work runs.
    """
    _require_cube("w4s cube data")
    from world4scorer.cube.study import Study, make_data

    changed: dict[str, Any] = {"expert": expert, "noisy": noisy, "steps": steps, "pictures": pictures}
    official = None
    if dataset is not None:
        from world4scorer.cube.about import digest_of
        from world4scorer.cube.datasets import read_dataset

        if expert is not None or steps is not None:
            raise UsageError("--expert and --steps belong to recorded episodes; --dataset has its own")
        official = read_dataset(dataset)
        changed |= {"expert": len(official), "steps": official.steps, "dataset": digest_of(dataset)}
    begun = Study.begin(study, preset, **{name: value for name, value in changed.items() if value is not None})
    count = make_data(begun, executor.choose(), official=official)
    print(f"{begun.episodes}: {count:,} episodes of {begun.preset.episodes.steps} steps")
    return 0


def world_model(
    study: PositionalFolder, /, steps: OptionalCount = None, seed: OptionalCount = None, released: OptionalFolder = None
) -> int:
    """Train the world model on the episodes, or take a released one.

    A LeWM: encoder, action encoder, causal predictor, SIGReg. Episodes that are evaluated or tuned on are held out. Can
    be interrupted and run again: it resumes from the last checkpoint.

    Example: w4s cube world-model study

    Args:
        study: Folder of the study.
        steps: Optimiser steps; the preset's unless given.
        seed: Seed of weights and batches; the preset's unless given.
        released: Folder of a LeWM as stable-worldmodel releases it (configuration and weights), used as it is.
    """
    _require_cube("w4s cube world-model")
    from world4scorer.cube.study import make_world_model

    opened = _open(study)
    if released is not None:
        if steps is not None or seed is not None:
            raise UsageError("--steps and --seed belong to training; --released takes a model as it is")
        from world4scorer.cube.model.released import import_released

        model = import_released(released, opened.episodes, opened.model)
        print(f"{opened.model}: {released.name}, latents of {model.latent} numbers")
        return 0
    config = _changed(opened.preset.world_model, steps=steps, seed=seed)
    found = make_world_model(opened, config)
    print(
        f"{opened.model}: {config.steps:,} steps; its error on held-out episodes, in per cent of that of assuming no "
        f"change: {100 * found['one_block']:.1f} one block ahead, {100 * found['all_blocks']:.1f} over all of them"
    )
    return 0


def collect(
    study: PositionalFolder,
    /,
    labelled: OptionalCount = None,
    every: OptionalCount = None,
    executor: ExecutorFlags = DEFAULT_EXECUTOR_OPTIONS,
) -> int:
    """Collect candidates of the world model's searches, and label them in the simulator.

    Each is run from the search's exact state; its utility is minus the least distance between cube and goal. Nothing
    comes from an episode that is evaluated or tuned on. Can be interrupted and run again.

    Example: w4s cube collect study

    Args:
        study: Folder of the study.
        labelled: Candidates of an iteration that are run in the simulator; the preset's unless given.
        every: Label every N-th iteration of a search; the preset's unless given.
        executor: Where the work runs.
    """
    _require_cube("w4s cube collect")
    from world4scorer.cube.study import make_groups

    opened = _open(study)
    groups = make_groups(opened, _changed(opened.preset.collect, labelled=labelled, every=every), executor.choose())
    episodes = len(set(groups.episode.tolist()))
    print(
        f"{opened.groups}: {len(groups):,} groups of {groups.utility.shape[1]} candidates, from {episodes:,} episodes"
    )
    return 0


def head(study: PositionalFolder, /, epochs: OptionalCount = None, seed: OptionalCount = None) -> int:
    """Train the outcome head on the labelled candidates, and its extension.

    The paper's head sees where a candidate ends, the extension every block of it. Four fifths of the episodes train,
    the others choose the epoch, by the share of pairs of candidates in the right order.

    Example: w4s cube head study

    Args:
        study: Folder of the study.
        epochs: Passes over the groups; the preset's unless given.
        seed: Seed of split, weights and batches; the preset's unless given.
    """
    _require_cube("w4s cube head")
    from world4scorer.cube.study import make_head

    opened = _open(study)
    for config in (opened.preset.head, opened.preset.path_head):
        report = make_head(opened, _changed(config, epochs=epochs, seed=seed))
        validation, kept = report["validation"], f"epoch {report['epoch'] + 1} of {report['config']['epochs']} kept"
        print(f"head that sees the {config.sees}: {kept}; on {len(validation.episode):,} unseen groups:")
        for name, scores in validation.scores.items():
            mean = scores.mean()
            print(
                f"  {name}: ordering {100 * mean['ordering']:.1f} %, rank correlation {mean['rank_correlation']:.3f}, "
                f"the candidate it chooses ends {100 * mean['chosen_metres']:.1f} cm from the goal"
            )
    return 0


def inverse(study: PositionalFolder, /, steps: OptionalCount = None, seed: OptionalCount = None) -> int:
    """Train inverse dynamics on the world model's latents, the reference that does not search.

    From the latents of a moment and of the goal, and the steps between, a network predicts the next five actions.

    Example: w4s cube inverse study

    Args:
        study: Folder of the study.
        steps: Optimiser steps; the preset's unless given.
        seed: Seed of weights and batches; the preset's unless given.
    """
    _require_cube("w4s cube inverse")
    from world4scorer.cube.study import make_inverse

    opened = _open(study)
    make_inverse(opened, _changed(opened.preset.inverse, steps=steps, seed=seed))
    print(f"{opened.inverse}: inverse dynamics")
    return 0


def tune(study: PositionalFolder, /, weights: Numbers = (), executor: ExecutorFlags = DEFAULT_EXECUTOR_OPTIONS) -> int:
    """Choose the weights of outcome scores on the tuning seeds.

    By windows solved, for each of the two heads; among equal ones, the smallest. Can be interrupted and run again.

    Example: w4s cube tune study

    Args:
        study: Folder of the study.
        weights: Weights to try; the preset's unless given.
        executor: Where the work runs.
    """
    _require_cube("w4s cube tune")
    from world4scorer.cube.evaluate import SCORED
    from world4scorer.cube.study import choose_weight

    opened = _open(study)
    for player in SCORED:
        tuned = choose_weight(opened, weights or opened.preset.weights, player, executor.choose())
        for weight, count in tuned.successes.items():
            print(f"{player}, weight {weight:g}: {count} of {tuned.windows} windows solved")
        print(f"{opened.tuning}: weight {tuned.weight:g}")
    return 0


def evaluate(
    study: PositionalFolder,
    /,
    weight: OptionalNumber = None,
    seeds: Counts = (),
    players: Players = (),
    published: bool = False,
    out: OptionalFolder = None,
    executor: ExecutorFlags = DEFAULT_EXECUTOR_OPTIONS,
) -> int:
    """Play paired windows with and without outcome scores, and reference players; report.

    Players: `lewm` searches by latent cost, `ours` with outcome scores added, `ours-path` with those of the head that
    sees every block; `icem` searches as iCEM, `inverse` plays the inverse dynamics, `random`, `zero` and `expert` are
    what their names say, `simulator` searches by the simulator's own outcomes. The strict protocol needs `zero`. Can be
    interrupted and run again.

    Example: w4s cube evaluate study

    Args:
        study: Folder of the study.
        weight: How much outcome scores count, of either head; as tuned unless given.
        seeds: Seeds of the windows; the preset's unless given.
        players: Players; the preset's unless given.
        published: Also print the paper's table of published methods.
        out: Folder of tables, figures and film; report, in the study's, unless given.
        executor: Where the work runs.
    """
    _require_cube("w4s cube evaluate")
    opened = _open(study)
    config = _changed(opened.preset.evaluate, seeds=seeds or None, players=players or None)
    given = {"weight": weight, "seeds": seeds, "players": players}
    command = command_line(["w4s", "cube", "evaluate"], evaluate, study, given)
    code = _play_and_report(opened, config, weight, out, command, executor)
    if published:
        print_published("cube")
    return code


def reproduce(
    study: PositionalFolder,
    /,
    preset: PresetName = "cpu",
    out: OptionalFolder = None,
    executor: ExecutorFlags = DEFAULT_EXECUTOR_OPTIONS,
) -> int:
    """Run the whole study: data, world model, candidates, head, weight, evaluation, report.

    Can be interrupted and run again: what is finished is kept.

    Example: w4s cube reproduce study --preset smoke

    Args:
        study: Folder of the study.
        preset: Sizes of the study: smoke takes a minute, cpu at most two hours on two cores, paper is as published.
        out: Folder of tables, figures and film; report, in the study's, unless given.
        executor: Where the work runs.
    """
    _require_cube("w4s cube reproduce")
    from world4scorer.cube.model.world_model import WEIGHTS
    from world4scorer.cube.study import Study

    opened = Study.begin(study, preset)
    data(study, preset=preset, executor=executor)
    if not (opened.model / WEIGHTS).exists():  # a released one may be there, too
        world_model(study)
    collect(study, executor=executor)
    head(study)
    if "inverse" in opened.preset.evaluate.players:
        inverse(study)
    tune(study, executor=executor)
    command = command_line(["w4s", "cube", "reproduce"], reproduce, study, {"preset": preset})
    return _play_and_report(opened, opened.preset.evaluate, None, out, command, executor)


SUBCOMMANDS: Final[dict[str, Callable[..., int]]] = {
    "data": data,
    "world-model": world_model,
    "collect": collect,
    "head": head,
    "inverse": inverse,
    "tune": tune,
    "evaluate": evaluate,
    "reproduce": reproduce,
}


def _open(folder: Path) -> Study:
    from world4scorer.cube.study import Study

    return Study.open(folder)


def _changed(config: Any, **given: Any) -> Any:
    """A configuration with what was given on the command line in place of its own."""
    return replace(config, **{name: value for name, value in given.items() if value is not None})


def _require_cube(command: str) -> None:
    """Refuse before the work begins if packages are missing."""
    require_torch(command)
    missing = [name for name in ("mujoco", "ogbench") if find_spec(name) is None]
    if missing:
        raise ValueError(f"{command} needs {' and '.join(missing)}: pip install 'world4scorer[cube]'")


def _play_and_report(
    study: Study,
    config: EvaluateConfig,
    weight: float | None,
    out: Path | None,
    command: str,
    executor: ExecutorOptions,
) -> int:
    """Play with a weight of outcome scores, or with those tuned, and report."""
    from world4scorer.cube.evaluate import SCORED, Player
    from world4scorer.cube.report import write_report
    from world4scorer.cube.study import play_all

    scored = [player for player in SCORED if player in config.players]
    weights = {player: study.tuned(player).weight if weight is None else weight for player in scored}
    scores = weights.get(Player.OURS, 0.0), weights.get(Player.PATH, 0.0)
    results = play_all(study, *scores, config, executor.choose())
    folder = study.report if out is None else out
    print(write_report(study, results, weights, folder, command))
    print(f"written: {folder}")
    return 0
