"""Make the compact two-stage golden files of this folder from the full golden set.

    python tests/golden/compact_navhard.py ../shared/golden/navhard

One group of each form with its scenes, plans and results, and the traffic simulations of these tokens. Logs and maps
are those of the compact NAVSIM set. Stage means over the kept groups follow from the tokens' rows; the official ones,
over all groups, are compared where the full set is at hand.
"""

from __future__ import annotations

import csv
import json
import lzma
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from world4scorer.jobs.files import write_csv

HERE = Path(__file__).parent / "navhard"
FORMS = ("frames", "extended", "extended_without_vehicles")


def main(source: Path) -> None:
    """Write the compact files."""
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir()
    every = json.loads((source / "groups.json").read_text())
    groups = [min((g for g in every if g["form"] == form), key=lambda g: len(g["pairs"])) for form in FORMS]
    (HERE / "groups.json").write_text(json.dumps(groups, indent=1))
    tokens = {t for g in groups for t in (g["now"], g["prev"], *(t for pair in g["pairs"] for t in pair))}
    _scenes(source, tokens)
    _splits(source, groups)
    with np.load(source / "plans.npz") as archive:
        kept = np.isin(archive["tokens"], sorted(tokens))
        np.savez_compressed(
            HERE / "plans.npz", tokens=archive["tokens"][kept], names=archive["names"], poses=archive["poses"][kept]
        )
    (HERE / "results").mkdir()
    for path in (source / "results").glob("*.csv"):
        with path.open() as stream:
            head, *rows = csv.reader(stream)
        column = head.index("token")
        write_csv(HERE / "results" / path.name, [head, *(row for row in rows if row[column] in tokens)])
    for name in ("idm", "idm_snap"):
        (HERE / name).mkdir()
        for path in (source / name).glob("*.npz"):
            if path.name.split(".")[0] in tokens:
                with np.load(path) as archive:
                    np.savez_compressed(HERE / name / path.name, **{key: archive[key] for key in archive.files})


def _scenes(source: Path, tokens: set[str]) -> None:
    given, out = source / "dataset" / "navhard_two_stage", HERE / "dataset" / "navhard_two_stage"
    for name in ("synthetic_scene_pickles", "synthetic_scene_plain_extended"):
        (out / name).mkdir(parents=True)
        for path in (given / name).glob("*.pkl"):
            if path.stem in tokens:
                (out / name / f"{path.name}.xz").write_bytes(lzma.compress(path.read_bytes(), preset=9))


def _splits(source: Path, groups: list[dict[str, Any]]) -> None:
    given, out = (root / "dataset" / "config" / "train_test_split" for root in (source, HERE))
    (out / "scene_filter").mkdir(parents=True)
    for path in given.glob("*.yaml"):
        body = yaml.safe_load(path.read_text())
        known = {entry[0] for entry in body["reactive_all_mapping"]}
        own = [g for g in groups if g["now"] in known]
        body["reactive_all_mapping"] = [[g["now"], g["prev"], g["pairs"]] for g in own]
        (out / path.name).write_text(yaml.safe_dump(body, sort_keys=False))
        chosen = yaml.safe_load((given / "scene_filter" / path.name).read_text())
        chosen["tokens"] = [token for g in own for token in (g["now"], g["prev"])]
        chosen["reactive_synthetic_initial_tokens"] = [t for g in own for pair in g["pairs"] for t in pair]
        chosen["log_names"] = sorted({g["log"] for g in own})
        (out / "scene_filter" / path.name).write_text(yaml.safe_dump(chosen, sort_keys=False))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
