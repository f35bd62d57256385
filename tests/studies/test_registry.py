"""The registry of studies, and everything that must agree with it: commands, docs, the demo."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from world4scorer.cli.demo import stages
from world4scorer.cli.study.subcommands import SUBCOMMANDS
from world4scorer.studies.registry import STUDIES

DOCS = Path(__file__).parents[2] / "docs"


def test_every_study_has_a_function_and_a_folder():
    for study in STUDIES.values():
        assert callable(study.function())
    folders = {study.target.partition(".")[0] for study in STUDIES.values()}
    there = {path.parent.name for path in (DOCS.parent / "src/world4scorer/studies").glob("*/study.py")}
    assert folders == there


def test_commands_are_the_studies_in_the_same_order():
    assert list(SUBCOMMANDS) == list(STUDIES)


def test_docs_list_every_study_with_its_place_in_the_paper():
    rows = re.findall(r"^\| \[([\w-]+)\]\(\S+\) \| ([^|]*)\|", (DOCS / "studies.md").read_text(), re.MULTILINE)
    assert {name: paper.strip() for name, paper in rows} == {name: study.paper for name, study in STUDIES.items()}


def test_the_demo_runs_studies_that_train_nothing():
    assert all(not STUDIES[name].trains for name in stages.STUDIES)


def test_the_registry_is_light():
    heavy = (
        "import sys, world4scorer.studies.registry as r; assert not {'torch', 'numpy', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", heavy], check=True)
