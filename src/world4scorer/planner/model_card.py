"""The model card of a planner: what it is, how it is loaded, and what its run has measured of these very weights."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from world4scorer import __version__
from world4scorer.drawing.finding import Finding
from world4scorer.jobs.files import read_json
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.model.config import ModelConfig


def model_card(name: str, config: ModelConfig, parameters: int, weights: str, run: Path | None = None) -> str:
    """Markdown with the metadata that the hub reads.

    Args:
        name: of the repository.
        config: sizes of the network.
        parameters: their number.
        weights: digest of the planner's files; findings of other weights are left out.
        run: training run that made it.
    """
    findings = [] if run is None else list(_findings(run, weights))
    parts = [
        "---\nlibrary_name: world4scorer\ntags:\n- autonomous-driving\n- navsim\n- trajectory-scoring\n---\n",
        f"# {name}\n",
        f"A planner of World4Scorer {__version__}: {config.proposals} plans of 4 s, with predicted outcomes, from "
        f"{config.cameras} cameras of {config.image_height} x {config.image_width} pixels and the ego status. "
        f"{parameters:,} parameters.\n",
        "```python\nfrom world4scorer import Planner\n\n"
        f'planner = Planner.from_pretrained("{name}", download=True)\n```\n',
        *(_training(run) if run is not None else ()),
        "## Results\n",
    ]
    if not findings:
        parts.append("Nothing was measured of these weights where this card was written.\n")
    for finding in findings:
        parts += [f"### {finding.title}\n", f"{finding.question} {finding.data} Made by `{finding.command}`.\n"]
        for table in finding.tables:
            parts += [f"{table.title}:\n", table.markdown()]
    return "\n".join(parts)


def encoder_card(name: str, notes: Mapping[str, Any]) -> str:
    """The card of an encoder, from the notes in its `config.json`."""
    made = "".join(f"| {key} | {value} |\n" for key, value in notes.items() if not isinstance(value, dict | list))
    return "\n".join(
        [
            "---\nlibrary_name: world4scorer\ntags:\n- autonomous-driving\n- image-feature-extraction\n---\n",
            f"# {name}\n",
            f"An image encoder of World4Scorer {__version__}.\n",
            "```python\nfrom world4scorer.planner.pretrained.image_encoder import load_encoder\n\n"
            f'encoder = load_encoder("{name}", download=True)\n```\n',
            "## How it was made\n",
            f"| | |\n|---|---|\n{made}" if made else "Its file does not say.\n",
        ]
    )


def digest_of_files(weights: bytes, config: bytes) -> str:
    """Digest of a planner by the content of its files, as findings name it."""
    return hashlib.sha256(weights + config).hexdigest()


def _findings(run: Path, weights: str) -> Iterator[Finding]:
    """The evaluation of a run and its studies, as far as they are of these weights."""
    folder = RunFolder(run)
    for path in (folder.evaluation_file, *sorted(folder.studies.glob("*.json"))):
        if path.is_file():
            finding = Finding.load(path)
            if finding.weights == weights:
                yield finding


def _training(run: Path) -> Iterator[str]:
    """Data and configuration of the training, without folders of the machine."""
    folder = RunFolder(run)
    if not folder.config_file.is_file() or not folder.data_file.is_file():
        return
    data: dict[str, Any] = read_json(folder.data_file)
    named = {key: Path(str(data[key])).name for key in ("data", "split", "val_split") if data.get(key)}
    yield "## Training\n"
    rows = "".join(f"| {key} | {value} |\n" for key, value in named.items())
    yield f"| | |\n|---|---|\n{rows}| run | {run.resolve().name} |\n"
