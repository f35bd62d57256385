"""The page of a run: it parses, stands alone, says everything that the folder knows, and what is missing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.random_pools import random_pools
from tests.support.scenes import make_log, make_plans
from tests.support.stored_pools import write_pools
from tests.support.tampering import tamper
from world4scorer.cli.run import main
from world4scorer.datasets.store import write_shard
from world4scorer.drawing.charts import chart
from world4scorer.drawing.finding import Finding, Table
from world4scorer.evaluation.pools.pool_files import LogPool, PoolFolder, digest_of_planner
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.jobs.files import read_json
from world4scorer.planner.model import config as models
from world4scorer.planner.training.config import TrainConfig
from world4scorer.reporting.report.contents import load_findings
from world4scorer.reporting.report.gallery import Gallery, absent
from world4scorer.reporting.report.write import write_report

EVIL = "<script>alert('x')</script> & \"quoted\""
VOID = {"meta", "img", "br", "hr", "link"}


class Page(HTMLParser):
    """Keeps tags, texts and what is not as it should be."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def read_page(path: Path) -> Page:
    """The page, checked for all that holds for every page."""
    html = path.read_text("utf-8")
    page = Page(html)
    names = {name for name, _ in page.tags}
    assert not names & {"script", "iframe", "object", "embed", "link", "base", "form"}
    anchors = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(anchors) == len(set(anchors))
    for _, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href", "srcset", "poster", "action", "data"):
            target = attributes.get(name)
            assert target is None or target.startswith("data:image/png;base64,") or target[1:] in anchors, target
    assert "url(" not in html and "@import" not in html
    for image in page.all("img"):
        assert (image["alt"] or "").strip() and image["width"] and image["height"]
    assert len(page.all("caption")) == len(page.all("table"))
    assert all(cell.get("scope") in ("row", "col") for cell in page.all("th"))
    return page


def finding(name: str, title: str, figure: bool = True, **changes: Any) -> Finding:
    drawn = None
    if figure:
        drawn, axis = chart(size=(2.0, 1.5))
        axis.plot([0, 1], [0, 1])
    told: dict[str, Any] = {
        "question": f"What of {name}?",
        "data": "12 frames of 2 logs.",
        "weights": "",
        "numbers": {"share": 0.25},
        "tables": (Table(f"Table of {name}", ("", "ours", "paper, NAVSIM"), (("EC", f"55.{len(name)}", "77.0"),)),),
        "remarks": (f"First remark of {name}.", "A second one, 3 < 4."),
        "paper": {"EC": 77.0},
    }
    return Finding(name=name, title=title, figure=drawn, **(told | changes))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A finished run without evaluation, studies or pools."""
    folder = tmp_path / "small-run"
    (folder / "planner").mkdir(parents=True)
    for name in ("model.safetensors", "config.json"):
        (folder / "planner" / name).write_text("a planner")
    (folder / "config.json").write_text(TrainConfig(model=models.city_vit(), epochs=2, seed=41).to_json())
    data = {"data": "/home/somebody/city", "split": "city_train", "store": "/home/somebody/s/city_train"}
    data |= {"val_split": "city_val", "val_store": "/home/somebody/s/city_val", "bank": None, "targets": None}
    (folder / "data.json").write_text(json.dumps(data | {"val_data": None}))
    lines = [
        {"epoch": e, "step": 50 * e, "seconds": 66.0 * e, "val/score": 0.6 + 0.111 * e, "val/oracle": 0.95,
         "val/random": 0.4, "val/ordering": 0.7}
        for e in (1, 2)
    ]  # fmt: skip
    (folder / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.fixture
def pools(tmp_path: Path) -> Path:
    """A folder of pools with its store: two logs of made-up scenes."""
    store, folder = tmp_path / "store", tmp_path / "pools-of-two"
    logs = []
    rng = np.random.default_rng(5)
    for seed, name in enumerate(("alpha", "beta")):
        scenes = make_log(name, 5, seed=seed)
        write_shard(store, name, scenes, {"options": {"split": "two"}})
        utility = rng.random((len(scenes), 6)).astype(np.float32)
        plans = np.stack([make_plans(scene, 6, seed=i) for i, scene in enumerate(scenes)]).astype(np.float32)
        tokens, times = tuple(scene.token for scene in scenes), np.array([scene.time_us for scene in scenes])
        logs.append(LogPool(name, tokens, times, plans, utility, utility))
    return write_pools(folder, store, logs)


def test_a_run_with_nothing_else_names_what_is_missing(run: Path) -> None:
    page = read_page(write_report(run))
    assert "Not evaluated yet: w4s evaluate small-run" in page.text
    assert "No pools yet, so no frames to show: w4s pools small-run" in page.text
    assert "w4s study reranking small-run" in page.text
    assert page.text.count("82.2") == 2  # the last validation: a headline, and a row of the table
    assert "seed 41" in page.text and "paper, NAVSIM: 94.0" in page.text
    assert len(page.all("img")) == 1  # the curves
    assert "/home/somebody" not in page.text and '"store": "city_train"' in page.text
    (run / "history.jsonl").unlink()
    assert "No validation yet" in read_page(write_report(run)).text


def test_findings_are_told_whole_and_in_the_order_of_the_paper(run: Path) -> None:
    made = [
        finding("zebra", "A new study"),
        finding("coverage", "Coverage", figure=False),
        finding("reranking", "Re-ranking"),
        finding("interventions", "Interventions"),
    ]
    for one in made:
        one.save(run / "studies", f"w4s study {one.name} small-run")
    picture = chart(size=(2.0, 1.5))[0]
    finding("reranking", "Re-ranking", pictures={"second": picture}).save(
        run / "studies", "w4s study reranking small-run"
    )
    for former in ("interventions_former.png", "reranked.png"):  # of no finding that is there
        (run / "studies" / former).write_bytes((run / "studies" / "reranking.png").read_bytes())
    finding("evaluation", "All scores").save(run / "evaluation", "w4s evaluate small-run")
    path = write_report(run)
    page, html = read_page(path), path.read_text()
    order = [study.name for study in load_findings(run / "studies")]
    assert order == ["reranking", "interventions", "coverage", "zebra"]
    heads = [page.text.index(f"What of {name}?") for name in ("evaluation", *order)]
    assert heads == sorted(heads)
    # Curves, the evaluation, and of the studies: re-ranking two, interventions and zebra one each.
    assert len(page.all("img")) == 1 + 1 + 4
    for one in [*made, finding("evaluation", "All scores")]:
        assert f"w4s {'study ' * (one.name != 'evaluation')}{one.name}".replace("evaluation", "evaluate") in page.text
        for told in (one.data, *one.remarks, *(cell for table in one.tables for row in table.rows for cell in row)):
            assert escape(told) in html
        for table in one.tables:
            assert f"<caption>{table.title}</caption>" in html
    assert '<th scope="col" class="paper">paper, NAVSIM</th>' in html and '<td class="paper">77.0</td>' in html
    assert "w4s study reranking small-run" in page.text and "Not evaluated yet" not in page.text


def test_nothing_that_files_say_becomes_markup(run: Path) -> None:
    table = Table(EVIL, (EVIL, EVIL), ((EVIL, "`a` <b>"), ("odd ` backtick <i>", EVIL)))
    changes = {"question": EVIL, "data": EVIL, "remarks": (EVIL,), "tables": (table,), "numbers": {EVIL: EVIL}}
    finding("zebra", EVIL, **changes, paper={EVIL: EVIL}).save(run / "studies", EVIL)
    path = write_report(run.rename(run.with_name("<b>&run")))
    page, html = read_page(path), path.read_text()
    assert "<script" not in html and "<b>" not in html and "<i>" not in html
    assert page.text.count(EVIL) >= 10 and "odd ` backtick <i>" in page.text
    assert "<code>a</code> &lt;b&gt;" in html


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read as JSON"),
        ("[]", "holds no JSON object"),
        ('{"title": 3}', "'title' is no str"),
        ("{}", "'title' is missing"),
    ],
)
def test_damaged_findings_are_named(run: Path, content: str, message: str) -> None:
    (run / "studies").mkdir()
    (run / "studies" / "lambda.json").write_text(content)
    with pytest.raises(ValueError, match=rf"lambda\.json: .*{message}"):
        write_report(run)
    assert not (run / "report.html").exists()


def test_damaged_tables_and_pictures_are_named(run: Path) -> None:
    path = finding("lambda", "Weight").save(run / "studies", "w4s study lambda")
    sound = read_json(path.with_suffix(".json"))
    for change, message in (
        ({"tables": [{"title": "T", "columns": ["", "a"], "rows": [["x"]]}]}, "a row of 1 cells for 2 columns"),
        ({"tables": [{"title": "T", "columns": ["", "a"], "rows": [["x", 3]]}]}, "'rows' must be a list of texts"),
        ({"remarks": [1]}, "'remarks' must be a list of texts"),
    ):
        path.with_suffix(".json").write_text(json.dumps(sound | change))
        with pytest.raises(ValueError, match=rf"lambda\.json.*{message}"):
            write_report(run)
    path.with_suffix(".json").write_text(json.dumps(sound))
    path.with_suffix(".png").write_bytes(path.with_suffix(".png").read_bytes()[:300])
    with pytest.raises(ValueError, match=r"lambda\.png: not a readable PNG"):
        write_report(run)


def test_what_is_no_run_is_refused(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="empty: neither a training run nor a folder of pools"):
        write_report(tmp_path / "empty")
    with pytest.raises(ValueError, match="nowhere: no such folder"):
        write_report(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"city_test: no pools there.*w4s pools"):
        write_report(run, split="city_test")
    shutil.rmtree(run / "planner")
    assert main(["report", str(run)]) == 1
    assert "planner: no planner there; this run is not finished" in capsys.readouterr().err
    (run / "planner").mkdir()
    (run / "planner" / "config.json").touch()
    (run / "history.jsonl").write_text('{"epoch": 1}\n')
    with pytest.raises(ValueError, match=r"history\.jsonl: line 1 lacks 'step'"):
        write_report(run)
    (run / "history.jsonl").write_text("{\n")
    with pytest.raises(ValueError, match=r"history\.jsonl, line 1: cannot be read as JSON"):
        write_report(run)
    (run / "data.json").write_text("{")
    with pytest.raises(ValueError, match=r"data\.json: cannot be read as JSON"):
        write_report(run)


def test_a_folder_of_pools_has_a_gallery_and_no_training(pools: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "pages" / "page.html"
    assert main(["report", str(pools), "--out", str(out)]) == 0
    assert str(out) in capsys.readouterr().out
    page = read_page(out)
    scored = ScoredPools.open(pools)
    gallery = Gallery(scored)
    indices = gallery.indices()
    assert len(indices) >= 3 and len(page.all("img")) == 2 * len(indices)  # each also small, above
    assert "Training" not in page.text and "10 frames of 2 logs of mini" in page.text
    assert "w4s study reranking" in page.text and "w4s study parts" not in page.text  # that one needs a run
    for title, place in indices.items():
        assert title in page.text and f"{scored.log_names[place]}, {scored.tokens[place]}" in page.text
        assert f"take plan {gallery.on[place]}" in page.text or f"takes plan {gallery.on[place]}" in page.text
    mean = 100 * scored.epdms(gallery.on).mean()
    assert f"EPDMS v2.2, with inertial re-ranking{mean:.1f}" in page.text
    assert str(tmp_path) not in page.text
    first = out.read_bytes()
    write_report(pools, out)
    assert out.read_bytes() == first


def test_scenes_lead_to_the_explorer_where_there_is_one(pools: Path, tmp_path: Path) -> None:
    out = tmp_path / "pages" / "page.html"
    write_report(pools, out)
    assert "Open in the explorer" not in read_page(out).text
    assert main(["explore", str(pools), "--out", str(pools / "explorer.html")]) == 0
    try:
        write_report(pools, out)
    finally:
        (pools / "explorer.html").unlink()
    scored = ScoredPools.open(pools)
    shown = [scored.tokens[index] for index in Gallery(scored).indices().values()]
    there = os.path.relpath(pools / "explorer.html", out.parent)
    links = [link["href"] for link in Page(out.read_text()).all("a") if "#token=" in (link["href"] or "")]
    assert links == [f"{there}#token={token}" for token in shown]


def test_pools_need_neither_torch_nor_a_template_engine(pools: Path) -> None:
    code = (
        "import sys\nfor name in ('torch', 'lightning', 'tensorboard', 'jinja2'): sys.modules[name] = None\n"
        "from pathlib import Path\nfrom world4scorer.reporting.report.write import write_report\n"
        f"write_report(Path({str(pools)!r}))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert len(read_page(pools / "report.html").all("img")) >= 3


def test_a_run_shows_the_pools_of_its_validation_split(run: Path, pools: Path) -> None:
    (run / "pools").mkdir()
    pools.rename(run / "pools" / "another")
    about = run / "pools" / "another" / "pools.json"
    with pytest.raises(ValueError, match="another: made by a former planner of this run"):
        write_report(run)
    digest = digest_of_planner(run / "planner")
    tamper(about, lambda content: content.replace(b'"weights": "drawn"', f'"weights": "{digest}"'.encode()))
    finding("reranking", "Re-ranking", weights="of another").save(run / "studies", "w4s study")
    with pytest.raises(ValueError, match=r"reranking\.json: about a former planner"):
        write_report(run)
    finding("reranking", "Re-ranking", weights=digest).save(run / "studies", "w4s study")
    page = read_page(write_report(run))
    assert "pools/another" in page.text and len(page.all("img")) > 1
    PoolFolder.begin(run / "pools" / "city_val", {"planner": "x"})
    with pytest.raises(ValueError, match=r"city_val: these pools do not say which scene store"):
        write_report(run)
    page = read_page(write_report(run, split="another"))
    assert "Also there, not shown: pools of city_val." in page.text


def test_findings_of_other_weights_are_shown_with_a_warning(run: Path) -> None:
    (run / "planner_best").mkdir()
    for name in ("model.safetensors", "config.json"):
        (run / "planner_best" / name).write_text("another planner")
    last, best = (digest_of_planner(run / name) for name in ("planner", "planner_best"))
    finding("reranking", "Re-ranking", weights=last).save(run / "studies", "w4s study")
    finding("lambda", "Weights", weights=best).save(run / "studies", "w4s study")
    page = read_page(write_report(run)).text
    warning = "Other weights: this was measured with the {} weights of the run, the rest of the page with the {} ones."
    assert page.count(warning.format("last", "best")) == page.count("Other weights") == 1
    page = read_page(write_report(run, weights="last")).text
    assert page.count(warning.format("best", "last")) == page.count("Other weights") == 1


@pytest.mark.parametrize("seed", range(5))
def test_frames_are_those_of_their_rules(seed: int) -> None:
    pools = random_pools(seed, logs=12)
    gallery = Gallery(pools)
    indices = gallery.indices()
    rules = {rule.title: rule for rule in gallery.rules}
    assert len(set(indices.values())) == len(indices) and set(indices) | set(absent(gallery)) == set(rules)
    logs, shown = np.asarray(pools.log_names), set[str]()
    for title, place in indices.items():  # a log comes again only where nothing else meets the rule
        assert logs[place] not in shown or shown >= set(logs[rules[title].eligible])
        shown.add(str(logs[place]))
    gain = pools.epdms(gallery.on) - pools.epdms(gallery.off)
    assert gain[indices["Re-ranking helps"]] == gain.max() > 0
    assert gain[indices["Re-ranking hurts"]] < 0
    assert all(rules[title].eligible[place] for title, place in indices.items())
    worst = indices["The worst choice"]
    assert gallery.alone[worst, gallery.on[worst]] < gallery.alone[worst].max()
    if "The best of the pool" in indices:
        best = indices["The best of the pool"]
        assert gallery.alone[best, gallery.on[best]] == gallery.alone[best].max()


def test_few_logs_are_shown_more_than_once_but_no_frame_is() -> None:
    pools = random_pools(1, logs=2, frames=9)
    indices = Gallery(pools).indices()
    assert len(indices) > 2 and len(set(indices.values())) == len(indices)
