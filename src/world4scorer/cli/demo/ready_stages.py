"""The stages of `w4s demo --ready`: a first picture in two minutes, with the planner that comes with the package.

Where things go, below OUT:

    city/         the smallest city, with images of the size that the planner takes
    pools/        its 64 plans of every scene: evaluation, film.mp4, explorer.html, report.html
    agents.csv    drivers without a model, on the same scenes
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from world4scorer.cli.demo.stages import OUT, VAL, DemoFolder, Stage, agents_stage, prepare_val_stage
from world4scorer.evaluation.pools.pool_files import INFO

PLANNER: Final = "city"
"""Name of the bundled planner."""
IMAGE_SIZE: Final = ("--height", "112", "--width", "196")
"""What it was trained on [pixels]."""
FILM: Final = ("--duration", "6", "--height", "480")
"""Seconds and pixels."""
SUBJECT: Final = "pools"


def ready_stages() -> tuple[Stage, ...]:
    """All stages, each after those that it needs; nothing is trained."""
    demo = DemoFolder(Path(OUT), SUBJECT)
    city, pools = str(demo.city.root), str(demo.run.root)
    return (
        Stage(
            "city",
            "streets, traffic, four cameras: a dataset in NAVSIM's layout",
            ("city", "make", "--preset", "tiny", *IMAGE_SIZE, "--out", city),
            demo.city.city_manifest,
            (),
            20,
        ),
        prepare_val_stage(demo),
        agents_stage(demo),
        Stage(
            "pools",
            "64 plans for every scene, with scores and states",
            ("pools", PLANNER, "--data", city, "--split", VAL, "--out", pools),
            demo.run.root / INFO,
            ("prepare val",),
            15,
        ),
        Stage(
            "evaluate",
            "PDMS v1.1, EPDMS v2.2, framewise and re-ranked",
            ("evaluate", pools),
            demo.run.evaluation_file,
            ("pools",),
            4,
        ),
        Stage(
            "explorer",
            "every frame with its 64 plans in one page for the browser",
            ("explore", pools, "--out", str(demo.run.explorer_file)),
            demo.run.explorer_file,
            ("pools",),
            6,
        ),
        Stage(
            "film",
            "a drive: cameras, plans and choices from above",
            ("film", pools, *FILM, "--out", str(demo.run.film_file)),
            demo.run.film_file,
            ("pools",),
            4,
        ),
        Stage(
            "report",
            "everything on one page",
            ("report", pools),
            demo.run.report_file,
            ("evaluate", "explorer"),
            5,
        ),
    )
