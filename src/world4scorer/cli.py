"""The `w4s` command: one function for each verb. Heavy imports happen inside the verb that needs them.

w4s city make --preset quick --out city
w4s score scenes/ --metric all --out scores
w4s rerank scenes/ --weight 1.0 --out choices
w4s doctor
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import tyro

from world4scorer.pretraining.config import PretrainConfig

Paths = Annotated[tuple[Path, ...], tyro.conf.Positional]
Metric = Literal["labels-v1", "pdms-v1.1", "epdms-v2.2", "epdms-pre151", "all"]
SubmissionMetric = Literal["pdms-v1.1", "epdms-v2.2", "epdms-pre151"]
AgentName = Literal["human", "constant-velocity", "stationary"]
Lqr = Literal["navsim", "corrected"]
Executor = Literal["processes", "serial", "ray"]

INPUT_FAILED = 1
"""Exit code when an input could not be used; 2 is a wrong command line."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


def score(files: Paths, /, out: Path, metric: Metric = "all", lqr: Lqr = "navsim", threads: int | None = None) -> int:
    """Score every plan of exchange files: one result file for each, and a table of means.

    Args:
        files: Exchange files (.npz), or folders of them.
        out: Folder for the results, one .npz of the same name for each file.
        metric: Which outcomes to compute.
        lqr: Tracker of the rollouts: as the official simulator has it, or with the intended jerk penalty.
        threads: Files scored at a time; one for each core unless given.
    """
    from world4scorer.evaluation.exchange_files import exchange_files, score_files
    from world4scorer.evaluation.tables import print_means
    from world4scorer.outcomes.batch import set_threads

    if threads is not None:
        set_threads(threads)
    scored = list(score_files(exchange_files(files), metric, out, lqr))
    print_means(scored)
    return _report_failures([result.error for result in scored if result.error is not None], len(scored))


def rerank(files: Paths, /, out: Path, weight: float = 1.0, lqr: Lqr = "navsim") -> int:
    """Choose plan after plan along each file with inertial re-ranking, by the utilities it holds.

    Args:
        files: Exchange files (.npz) with utilities, or folders of them.
        out: Folder for the choices, one .npz of the same name for each file.
        weight: How much consistency with the last choice counts against utility; 0 turns it off.
        lqr: Tracker of the rollouts.
    """
    from world4scorer.evaluation.exchange_files import exchange_files
    from world4scorer.evaluation.rerank_files import rerank_files
    from world4scorer.evaluation.tables import print_reranked

    results = list(rerank_files(exchange_files(files), weight, out, lqr))
    print_reranked(results, weight)
    return _report_failures([result.error for result in results if result.error is not None], len(results))


def prepare(
    data: Path,
    split: str,
    store: Path,
    executor: Executor = "processes",
    workers: int | None = None,
    ray_address: str | None = None,
    synthetic: Path | None = None,
) -> int:
    """Prepare the scenes of a NAVSIM split for scoring. May be killed and run again: finished logs are kept.

    Args:
        data: Dataset folder with navsim_logs, maps and sensor_blobs.
        split: Name of a split (navtrain, navtest, mini, ...), or the path of its YAML file.
        store: Folder of the scene store.
        executor: Where the work is done.
        workers: Processes, or tasks on the cluster; one for each core unless given.
        ray_address: Address of a running Ray cluster; chooses Ray.
        synthetic: Folder synthetic_scene_pickles of a two-stage split.
    """
    from world4scorer.cache.executors import choose_executor
    from world4scorer.cache.prepare import prepare as prepare_store
    from world4scorer.cache.source import NavsimSource, synthetic_by_log
    from world4scorer.navsim.splits import find_split

    found = find_split(split, data)
    source = NavsimSource(data, found, synthetic={} if synthetic is None else synthetic_by_log(synthetic))
    missing = source.missing_logs()
    if missing:
        print(
            f"w4s: {len(missing)} logs of {found.name} are not on disk ({missing[0]}, ...); preparing the others",
            file=sys.stderr,
        )
    tokens = found.filter.tokens
    report = prepare_store(
        source,
        store,
        choose_executor(executor, workers=workers, ray_address=ray_address),
        expected_scenes=None if tokens is None else len(tokens),
    )
    print(report)
    return 0


def pretrain(
    data: Path,
    out: Path,
    split: str = "city_train",
    config: Annotated[PretrainConfig, tyro.conf.arg(name="")] = PretrainConfig(),  # noqa: B008, frozen
    threads: int = 1,
) -> int:
    """Pretrain a small image encoder without labels, on the views of a split. May be killed and run again.

    Args:
        data: Dataset folder with navsim_logs and sensor_blobs.
        out: Folder of the encoder: config.json, model.safetensors, pretraining.json, checkpoint.
        split: Only frames of this split's logs are seen.
        config: The recipe.
        threads: Of torch; the same number gives the same bits.
    """
    import torch

    from world4scorer.pretraining.pretrain import pretrain as run

    torch.set_num_threads(threads)
    report = run(data, split, out, config, show_progress=True)
    assert report is not None
    print(
        f"{out}: {report.steps:,} steps on {report.views:,} views in {report.seconds:.0f} s, "
        f"loss {report.first_loss:.3f} -> {report.last_loss:.3f}"
    )
    print(f"next: w4s probe --encoder {out} --data {data} --out report")
    return 0


def probe(
    data: Path,
    encoder: str,
    out: Path,
    stores: Path | None = None,
    train_split: str = "city_train",
    test_split: str = "city_val",
    most: int = 3000,
) -> int:
    """Ask linear probes what an encoder sees, beside the same ViT with random weights and plain pixels.

    Args:
        data: Dataset folder.
        encoder: "city" or "city-contrast", bundled, or a folder of `w4s pretrain`.
        out: Report without suffix: .json, .md and .png are written.
        stores: Folder of scene stores, one for each split; DATA/store unless given.
        train_split: Probes learn here.
        test_split: Probes are asked here.
        most: Scenes that probes learn from, at most.
    """
    import json

    from world4scorer.model.image_encoder import load_encoder
    from world4scorer.pretraining.pretrain import REPORT_FILE
    from world4scorer.pretraining.probe_report import probe_report, table

    made = Path(encoder) / REPORT_FILE
    result = probe_report(
        load_encoder(encoder),
        data,
        data / "store" if stores is None else stores,
        train_split,
        test_split,
        out,
        command=f"w4s probe --encoder {encoder} --data DATA --out {out.name}",
        pretraining=json.loads(made.read_text()) if made.is_file() else None,
        most=most,
    )
    print("\n".join(table(result)))
    return 0


def targets(
    data: Path,
    split: str,
    out: Path,
    encoder: str = "city",
    frame: Literal["future", "current"] = "future",
    pooling: Literal["patches", "all", "class"] = "patches",
    centre: bool = False,
    store: Path | None = None,
    workers: int = 1,
    device: str = "cpu",
) -> int:
    """Make future targets: what a frozen encoder sees in the front view two seconds after each scene.

    May be killed and run again: finished logs are kept.

    Args:
        data: Dataset folder with navsim_logs and sensor_blobs.
        split: Name of a split, or the path of its YAML file.
        out: File of the targets (.arrow).
        encoder: "city" or "city-contrast", bundled, a folder of `w4s pretrain`, or a file or folder of DINOv2 weights.
        frame: The frame two seconds ahead, or, as a control, the scene's own.
        pooling: Mean over patches; mean over all tokens, as in the released cache; or the class token.
        centre: Take the mean of all targets off when they are read.
        store: Only the scenes of this store, instead of all moments of the split.
        workers: Processes.
        device: Of torch.
    """
    from world4scorer.cache.executors import choose_executor
    from world4scorer.training.make_targets import make_targets

    print(
        make_targets(
            data,
            split,
            encoder,
            out,
            frame=frame,
            pooling=pooling,
            centre=centre,
            store=store,
            executor=choose_executor("serial" if workers == 1 else "processes", workers=workers),
            device=device,
            show_progress=True,
        )
    )
    return 0


def check_data(data: Path, split: str, images: bool = True, workers: int | None = None) -> int:
    """Tell what of a NAVSIM dataset is there: for scoring, for training, for future targets.

    Args:
        data: Dataset folder with navsim_logs, maps and sensor_blobs.
        split: Name of a split (navtrain, navtest, mini, ...), or the path of its YAML file.
        images: Look for images too.
        workers: Processes; one for each core unless given.
    """
    from world4scorer.cache.check_data import check_data as check
    from world4scorer.cache.executors import choose_executor
    from world4scorer.navsim.splits import find_split

    report = check(data, find_split(split, data), choose_executor(workers=workers), images=images)
    print("\n".join(report.lines()))
    return 0 if report.can_score else INPUT_FAILED


def evaluate(
    submission: Annotated[Path | None, tyro.conf.Positional] = None,
    /,
    *,
    store: Path,
    out: Path,
    agents: tuple[AgentName, ...] = (),
    metric: SubmissionMetric | None = None,
    lqr: Lqr = "navsim",
    split: Path | None = None,
    kernel_variance: float | None = None,
    allow_missing: bool = False,
    threads: int | None = None,
) -> int:
    """Evaluate a submission (one plan per token) as the official scripts do: a CSV with their columns, and a summary.

    Or compare agents that need no submission (--agents): a row for each, with PDMS v1.1 and EPDMS v2.2.

    Args:
        submission: Submission pickle of v1.1 or v2.2, or a pickled dict token -> (8, 3).
        store: Scene store of the split.
        out: CSV file; a JSON summary is written beside it, for agents a Markdown table too.
        agents: Evaluate these instead of a submission.
        metric: Which score of a submission; epdms-v2.2 unless given.
        lqr: Tracker of the rollouts.
        split: YAML of a two-stage split; evaluates both stages, the second into <out>_stage_two.csv.
        kernel_variance: Of two-stage splits, in m^2: weigh second-stage frames by a Gaussian of the distance between
            their start and where the first-stage plan led, and print the combined score.
        allow_missing: Leave tokens without a plan out of the averages instead of refusing.
        threads: One for each core unless given.
    """
    from world4scorer.evaluation.reports import compare_agents, evaluate_both_stages, evaluate_one_stage
    from world4scorer.navsim.submissions import read_submission
    from world4scorer.outcomes.batch import set_threads
    from world4scorer.store import SceneStore

    if threads is not None:
        set_threads(threads)
    if out.suffix != ".csv":
        raise ValueError(f"--out {out}: must end in .csv; a summary is written beside it as .json")
    if kernel_variance is not None and split is None:
        raise ValueError("--kernel-variance: belongs to two-stage evaluation; give --split as well")
    if (submission is None) != bool(agents):
        raise ValueError("give either a submission or --agents")
    if agents and (metric is not None or split is not None or allow_missing):
        raise ValueError(
            "--agents: scored by both metrics on all recorded frames; --metric, --split and --allow-missing "
            "belong to submissions"
        )
    scenes = SceneStore(store)
    if submission is None:
        compare_agents(scenes, agents, out, lqr)
        return 0
    plans = read_submission(submission)
    metric = metric or "epdms-v2.2"
    if split is None:
        evaluate_one_stage(scenes, plans, out, metric, lqr, allow_missing)
    else:
        evaluate_both_stages(scenes, plans, split, out, metric, lqr, allow_missing, kernel_variance)
    return 0


def show(
    token: Annotated[str, tyro.conf.Positional],
    store: Path,
    out: Path,
    submission: Path | None = None,
    metric: SubmissionMetric = "epdms-v2.2",
) -> int:
    """Draw a scene from above: map, traffic, route, reference, human, a plan's rollout and the reason of each zero.

    Args:
        token: The moment to draw.
        store: Scene store that holds it.
        out: Picture (.png, .svg, .pdf).
        submission: Draw this submission's plan; without one, what the human drove.
        metric: Which outcomes to show.
    """
    from world4scorer.evaluation.pictures import draw_token
    from world4scorer.navsim.submissions import read_submission
    from world4scorer.store import SceneStore

    plans = None if submission is None else read_submission(submission)
    print("\n".join(draw_token(SceneStore(store), token, plans, metric, out)))
    return 0


def doctor(store: Path | None = None) -> int:
    """Check this installation: versions, threads, kernel cache, and a numerical self-test against stored values.

    Args:
        store: Also read a whole scene store and compare its checksums.
    """
    from world4scorer.doctor import examine, examine_store

    findings = examine()
    if store is not None:
        findings.append(examine_store(store))
    for finding in findings:
        print(f"{'ok  ' if finding.sound else 'BAD '} {finding.topic:22s} {finding.text}")
    return 0 if all(finding.sound for finding in findings) else INPUT_FAILED


def city() -> int:
    """Make, describe and film the embedded world: `w4s city make`, `w4s city info`, `w4s city film`."""
    raise AssertionError("`main` hands the words after `city` to the verbs of the city")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a verb and return the exit code: 0, 1 where an input could not be used, 2 for a wrong command line."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    prog, description = "w4s", "Score driving plans that nobody executed."
    verbs: dict[str, Callable[..., int]] = {
        "city": city,
        "check-data": check_data,
        "prepare": prepare,
        "pretrain": pretrain,
        "probe": probe,
        "targets": targets,
        "evaluate": evaluate,
        "show": show,
        "score": score,
        "rerank": rerank,
        "doctor": doctor,
    }
    if words[:1] == ["city"]:
        from world4scorer.city.verbs import VERBS

        verbs, words = VERBS, words[1:]
        prog, description = "w4s city", "The embedded world: real streets, simulated traffic, rendered cameras."
    try:
        return int(
            tyro.extras.subcommand_cli_from_dict(
                verbs,
                prog=prog,
                description=description,
                args=words,
                sort_subcommands=False,
            )
        )
    except (ValueError, OSError) as error:  # what a user can cause; anything else is ours and keeps its traceback
        print(f"w4s: {error}", file=sys.stderr)
        return INPUT_FAILED
    except KeyboardInterrupt:
        print("w4s: interrupted; what is finished is kept", file=sys.stderr)
        return INTERRUPTED


def _report_failures(errors: Sequence[str], total: int) -> int:
    for error in errors:
        print(f"w4s: {error}", file=sys.stderr)
    if errors:
        print(f"w4s: {len(errors)} of {total} files could not be used; the others are done", file=sys.stderr)
    return INPUT_FAILED if errors else 0


if __name__ == "__main__":
    sys.exit(main())
