"""The sections of a report, one function each: from what a folder knows to a part of the page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from world4scorer.datasets.store import SceneStore
from world4scorer.drawing.curves import draw_curves
from world4scorer.drawing.finding import Finding, Table
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.reporting.report.contents import Contents, Training, as_text
from world4scorer.reporting.report.gallery import Gallery, ShownFrame, absent, png_bytes
from world4scorer.reporting.report.headlines import headlines
from world4scorer.reporting.report.page import (
    Html,
    Part,
    all_missing,
    bullets,
    folded,
    joined,
    link,
    missing,
    outside_link,
    paragraph,
    picture,
    source,
    table,
    text,
    thumbnails,
    verbatim,
)
from world4scorer.studies import registry

if TYPE_CHECKING:
    from world4scorer.planner.training.config import TrainConfig

HERE: Final = RunFolder(Path())
"""Names of files relative to the folder that the page is about."""
CURVES_DPI: Final = 110
AUXILIARY: Final = {
    "none": "It predicted nothing beside outcomes.",
    "current": "As a control, the state of the executed plan also had to predict the current front view.",
    "future": "The state of the executed plan also had to predict the front view two seconds later.",
}
VALIDATIONS: Final = ("epoch", "step", "PDMS", "pool oracle", "random pick", "pairs in true order", "minutes")


def sections(contents: Contents) -> tuple[Part, ...]:
    """All parts in order; for a folder of pools without those of training."""
    parts = [_summary(contents), _evaluation(contents)]
    if contents.training is not None:
        parts.append(_curves(contents.training, contents.name))
    parts += [_studies(contents), _frames(contents), _configuration(contents)]
    return tuple(parts)


def _summary(contents: Contents) -> Part:
    words = [] if contents.training is None else [paragraph(_trained(contents.training))]
    if contents.pools is not None:
        words.append(paragraph(f"Pools: {contents.pools.describe()}"))
    note = "Grey numbers with a square are the paper's, on NAVSIM; they stand here for orientation, on other data."
    found = [study for study in contents.studies if study.remarks]
    lines = "".join(f"<li>{link(_anchor(contents, one), one.title)}: {text(one.remarks[0])}</li>" for one in found)
    glance = Html(f'<h3>In one line each</h3><ul class="glance">{lines}</ul>' if lines else "")
    return Part("summary", "Summary", joined(*words, headlines(contents), paragraph(note, "source"), glance))


def _trained(training: Training) -> str:
    from world4scorer.planner.profiling.profile import profile

    config, data = training.config, training.data
    counted = profile(config.model)
    words = [
        f"A planner that proposes and scores {config.model.proposals} plans per frame "
        f"({counted.total_parameters / 1e6:.1f} million parameters, {counted.operations() / 1e9:.2f} billion "
        f"multiply-adds per frame), trained for {config.epochs} epochs on `{data.split}` of `{data.data.name}` with "
        f"{config.batch} scenes per step and validated on `{data.val_split}`.",
        _losses(config),
        AUXILIARY[config.auxiliary_target if config.losses.future else "none"],
    ]
    if config.permuted_labels != "none":
        words.append(f"This run is a control: labels were shuffled among plans ({config.permuted_labels}).")
    begun = f"from `{Path(config.vit_weights).name}`" if config.vit_weights else "from random weights"
    words.append(f"Its image encoder began {begun}; seed {config.seed}; precision {config.precision}.")
    return " ".join(words)


def _losses(config: TrainConfig) -> str:
    if not config.losses.bank:
        return "It learned the outcomes of its own plans."
    return f"It learned the outcomes of its own plans and of {config.bank_draw.count} plans per scene from a bank."


def _evaluation(contents: Contents) -> Part:
    if contents.evaluation is None:
        return Part("evaluation", "Evaluation", missing("Not evaluated yet", f"w4s evaluate {contents.name}"))
    return Part("evaluation", "Evaluation", _warned(contents, contents.evaluation, HERE.evaluation_file))


def _curves(training: Training, name: str) -> Part:
    history = training.curves.history
    if not history:
        return Part("training", "Training", missing("No validation yet; go on with", "w4s train"))
    png = png_bytes(draw_curves({name: training.curves}, rows=2), CURVES_DPI)
    last = history[-1]
    alt = (
        f"Learning curves over {last['step']:,.0f} steps: PDMS of the selected plans on validation, ending at "
        f"{100 * last['val/score']:.1f}; pairs in the true order; outcome and future loss in training."
    )
    caption = text("Above: on the validation split. Below: losses in training, smoothed.")
    return Part(
        "training",
        "Training",
        joined(
            picture(png, "curves", alt, caption),
            table(_validations(history)),
            source(f"{HERE.history_file}, {HERE.tensorboard}"),
        ),
    )


def _validations(history: Any) -> Table:
    rows = tuple(
        (
            f"{line['epoch']:.0f}",
            f"{line['step']:,.0f}",
            *(f"{100 * line[key]:.1f}" for key in ("val/score", "val/oracle", "val/random")),
            f"{100 * line['val/ordering']:.1f} %",
            f"{line['seconds'] / 60:.1f}",
        )
        for line in history
    )
    return Table("Validations", VALIDATIONS, rows)


def _studies(contents: Contents) -> Part:
    made = {study.name for study in contents.studies}
    possible = [
        study.name
        for study in registry.STUDIES.values()
        if contents.training is not None or study.source == "run or pools"
    ]
    lacking = [f"w4s study {name} {contents.name}" for name in possible if name not in made]
    within = tuple(
        Part(_anchor(contents, study), study.title, _warned(contents, study, HERE.study_file(study.name)))
        for study in contents.studies
    )
    words = "The paper's questions, asked of this planner." if made else "None has been made yet."
    return Part("studies", "Studies", joined(paragraph(words), all_missing("Not made yet", lacking)), within)


def _anchor(contents: Contents, study: Finding) -> str:
    return f"study-{contents.studies.index(study) + 1}"


def _warned(contents: Contents, finding: Finding, where: Path) -> Html:
    """A finding, after a warning if it belongs to other weights."""
    warning = contents.warnings.get(finding.name)
    shown = _finding(finding, str(where))
    return shown if warning is None else joined(paragraph(warning, "warning"), shown)


def _finding(finding: Finding, where: str) -> Html:
    version = f", World4Scorer {finding.version}" if finding.version else ""
    alt = f"{finding.title}: {finding.remarks[0] if finding.remarks else finding.question}"
    shown = [*([] if finding.figure is None else [finding.figure]), *finding.pictures.values()]
    pictures = [path for path in shown if isinstance(path, Path)]
    numbers = [paragraph("Measured", "over"), verbatim(_pretty(finding.numbers))]
    if finding.paper:
        numbers += [paragraph("Paper, NAVSIM", "over paper"), verbatim(_pretty(finding.paper))]
    return joined(
        paragraph(finding.question, "question"),
        paragraph(finding.data),
        *(table(one) for one in finding.tables),
        *(picture(path.read_bytes(), path, alt) for path in pictures),
        bullets(finding.remarks) if len(finding.remarks) > 1 else joined(*map(paragraph, finding.remarks)),
        folded("Every number", joined(*numbers)),
        source(f"{where}, made by `{finding.command}`{version}"),
    )


def _pretty(values: Mapping[str, Any]) -> str:
    return json.dumps(values, indent=1, ensure_ascii=False)


def _frames(contents: Contents) -> Part:
    title = "Frames from above"
    if contents.pools is None:
        return Part("frames", title, missing("No pools yet, so no frames to show", f"w4s pools {contents.name}"))
    gallery = Gallery(contents.pools)
    words = (
        "Frames chosen by a rule, each from a log that is not shown yet where there is one. Drawn is the plan that "
        "inertial re-ranking takes, among all plans of its pool, which are darker the more of the others they beat by "
        "the planner's utility; dashed, what framewise selection takes instead. Numbers mark the reason of each zero. "
        "The score in a picture is EPDMS without extended comfort, from 0 to\u00a01."
    )
    lacking = absent(gallery)
    rest = [f"No frame for: {', '.join(lacking)}."] if lacking else []
    rest += [f"Also there, not shown: pools of {', '.join(contents.other_pools)}."] if contents.other_pools else []
    frames = gallery.frames(SceneStore(contents.pools.about["store"]))
    anchors = [f"frame-{number}" for number, _ in enumerate(frames, 1)]
    small = ((anchor, frame.title, frame.thumbnail) for anchor, frame in zip(anchors, frames, strict=True))
    return Part(
        "frames",
        title,
        joined(
            paragraph(words),
            thumbnails(small),
            *(_shown(frame, anchor, contents.explorer) for frame, anchor in zip(frames, anchors, strict=True)),
            *map(paragraph, rest),
            source(f"{contents.pools_name}; any other frame: w4s show {contents.name} TOKEN"),
            source(f"All frames in a browser: w4s explore {contents.name}"),
        ),
    )


def _shown(frame: ShownFrame, anchor: str, explorer: str) -> Html:
    """A frame with its caption, and a link to it in the explorer where there is one."""
    address = f"{quote(explorer)}#token={quote(frame.token, safe='')}"
    there = outside_link(address, "Open in the explorer.") if explorer else ""
    caption = Html(
        f"<p><strong>{text(frame.title)}</strong>: {text(frame.rule)}. {there}</p>{paragraph(frame.caption)}"
        f"{source(f'{frame.log_name}, {frame.token}')}"
    )
    return picture(frame.png, frame.token, f"The scene from above. {frame.title}: {frame.caption}", caption, anchor)


def _configuration(contents: Contents) -> Part:
    if contents.training is not None:
        inner, name = as_text(contents.training), "config.json, data.json (without where the data lie)"
    else:
        assert contents.pools is not None
        about = {
            key: Path(value).name if key in ("store", "data") else value for key, value in contents.pools.about.items()
        }
        inner, name = _pretty(about), "pools.json (without where the data lie)"
    return Part(
        "configuration", "Configuration", joined(folded("The whole configuration", verbatim(inner)), source(name))
    )
