"""The explorer in a real browser: from disk and from the server, filters, choices, links, keys, hostile names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.browser import Page, open_browser, serving
from tests.support.golden_pools import GOLDEN_LOGS, golden_pools
from tests.support.recorded_drives import DRIVER, as_drives
from tests.support.scenes import make_log, make_plans
from tests.support.stored_branches import CHOSEN, write_branches
from tests.support.stored_pools import store_pools, write_pools
from tests.support.typed_arrays import read_typed
from world4scorer import roll_out
from world4scorer.datasets.store import SceneStore, write_shard
from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.engine.outcomes.results import V1_COLUMNS, V2_COLUMNS, epdms_of_table
from world4scorer.engine.scene.indices import STEPS
from world4scorer.engine.selection.route import route_utility
from world4scorer.evaluation.pools import LogPool, PoolFolder, ScoredPools, continued, framewise, inertial
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.reporting.explorer.explored_run import ExploredRun
from world4scorer.reporting.explorer.rounding import LENGTH
from world4scorer.reporting.explorer.server import ExplorerServer
from world4scorer.reporting.explorer.single_file import write_single_file
from world4scorer.reporting.explorer.situations import SITUATIONS, situations

HOSTILE = "<img src=x onerror=document.title='run'> </script> &amp; \"'"
HOSTILE_NAME = "&lt;img onerror=document.title='run'&gt; &amp; `${1}'"
"""Hostile as far as tokens and log names can be: angle brackets are refused where they enter."""
CHOICES = (
    "Array.from(explorer.model.result(0, 0, {utility: arguments[0], mode: arguments[1], weight: arguments[2]}).chosen)"
)


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store_pools(tmp_path_factory.mktemp("page"), frames=6, plans=9, logits=True, states=True)


@pytest.fixture(scope="module")
def scored(pools: Path) -> ScoredPools:
    return ScoredPools.open(pools)


@pytest.fixture(scope="module")
def server(pools: Path) -> Iterator[ExplorerServer]:
    with serving(pools) as running:
        yield running


@pytest.fixture(scope="module")
def file(pools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("file") / "explorer.html"
    write_single_file([ExploredRun.open(pools)], out)
    return out


def test_it_opens_from_the_server_and_asks_nobody_else(page: Page, server: ExplorerServer, scored: ScoredPools) -> None:
    page.open(server.address)
    assert page.listed == list(scored.tokens)
    assert page.errors == []
    asked = page.requests
    assert f"{server.address}catalogue.json" in asked
    assert [one for one in asked if not one.startswith((server.address, "data:"))] == []


def test_it_opens_from_disk_and_asks_nobody(page: Page, file: Path, scored: ScoredPools) -> None:
    page.open(file.as_uri())
    assert page.listed == list(scored.tokens)
    assert page.errors == []
    assert [one for one in page.requests if not one.startswith((file.as_uri(), "data:", "blob:"))] == []


def test_disk_and_server_draw_the_same(page: Page, server: ExplorerServer, file: Path, scored: ScoredPools) -> None:
    view = f"#token={scored.tokens[7]}&plan=4&step=12"
    pictures = [page.open(address + view).picture() for address in (server.address, file.as_uri())]
    assert pictures[0] == pictures[1]
    assert page.open(file.as_uri()).picture() != pictures[0]


def test_what_is_drawn_is_what_the_engine_says(page: Page, server: ExplorerServer, scored: ScoredPools) -> None:
    page.open(f"{server.address}#token={scored.tokens[8]}")
    log, frame = 1, 2
    assert (page.run("explorer.active.at.log"), page.run("explorer.active.at.frame")) == (log, frame)
    chosen = inertial(scored, scored.utility_v2)
    assert page.run("explorer.active.chosen") == chosen[8]
    assert page.run("explorer.active.result.score[2]") == pytest.approx(scored.epdms(chosen)[8], abs=2e-4)
    scene = SceneStore(scored.about["store"])[scored.tokens[8]]
    ego, tracks = EgoFrame.of(scene), scene.tracks if scene.tracks_v2 is None else scene.tracks_v2
    found = page.run("explorer.active.scene.rollouts.map((rollout) => rollout.map(({x, y}) => [x, y]))")
    np.testing.assert_allclose(found, ego.local(roll_out(scene, scored.plans[8])[..., :2]), atol=LENGTH)
    origin = np.array(page.run("explorer.active.scenes.content.header.origin"))
    for row, track in enumerate(page.run("explorer.active.scene.tracks")):
        assert track["id"] == tracks.ids[row]
        assert [pose is not None for pose in track["poses"]] == tracks.valid[row, :STEPS].tolist()
        there = np.array([[pose["x"], pose["y"]] for pose in track["poses"] if pose is not None]).reshape(-1, 2)
        np.testing.assert_allclose(
            there + origin, tracks.boxes[row, :STEPS][tracks.valid[row, :STEPS], :2], atol=LENGTH
        )
    names = page.run("explorer.active.scene.causes.map((causes) => causes.map((cause) => cause.metric))")
    for plan, found in enumerate(names):
        for metric in ("NC", "DAC", "DDC", "TLC", "TTC", "LK", "HC"):
            below = scored.v2_raw[8, plan, V2_COLUMNS.index(metric)] < 1
            assert (metric in found) == below, (plan, metric)


@pytest.mark.skipif(not GOLDEN_LOGS, reason="needs golden logs")
@pytest.mark.parametrize("path", GOLDEN_LOGS, ids=lambda path: path.stem)
def test_choices_on_golden_logs_are_the_engines(page: Page, path: Path, tmp_path: Path) -> None:
    folder, expected = golden_pools(path, tmp_path)
    scored = ScoredPools.open(folder)
    with serving(folder) as running:
        page.open(running.address)
        weights = [float(weight) for weight in expected["rerank_lambdas"]]
        assert len(weights) == 5
        for at, weight in enumerate(weights):
            chosen = page.run(CHOICES, "v2", "inertial", weight)
            assert chosen == inertial(scored, scored.utility_v2, weight).tolist()
            assert chosen == expected["rerank_sel"][at].tolist()
            page.put("weight-number", str(weight))
            scores = page.run("Array.from(explorer.active.result.score)")
            np.testing.assert_allclose(scores, scored.epdms(np.array(chosen)), atol=2e-4)
        assert page.run(CHOICES, "v1", "framewise", 1) == framewise(scored.utility_v1).tolist()


@pytest.mark.parametrize("weight", [0.0, 0.25, 0.5, 1.0, 2.0])
def test_scores_of_the_log_follow_the_weight(
    page: Page, server: ExplorerServer, scored: ScoredPools, weight: float
) -> None:
    page.open(f"{server.address}#weight={weight}")
    chosen = inertial(scored, scored.utility_v2, weight)
    cells = page.run("[...document.querySelectorAll('#selection-results tr:last-child td')].map((c) => c.textContent)")
    comfort = np.nanmean(continued(scored, chosen))
    changed = int((chosen != framewise(scored.utility_v2)).sum())
    assert float(cells[0]) == pytest.approx(100 * scored.epdms(chosen).mean(), abs=0.02)
    assert float(cells[2]) == pytest.approx(100 * comfort, abs=0.06)
    assert int(cells[3]) == changed


def expected_tokens(scored: ScoredPools, passing: np.ndarray) -> list[str]:
    return [token for token, passes in zip(scored.tokens, passing, strict=True) if passes]


def test_every_filter(page: Page, server: ExplorerServer, scored: ScoredPools) -> None:
    page.open(server.address)
    chosen, plain = inertial(scored, scored.utility_v2), framewise(scored.utility_v2)
    own = epdms_of_table(scored.v2)
    regret = own.max(1) - scored.at(own, chosen)
    choice = scored.at(scored.v2, chosen)
    code = situations(scored.human_plan)
    wanted = {
        ("broken", "DAC"): choice[:, V2_COLUMNS.index("DAC")] < 1,
        ("broken", "TTC"): choice[:, V2_COLUMNS.index("TTC")] < 1,
        ("broken", "EC"): continued(scored, chosen) == 0,
        ("changed", True): chosen != plain,
        ("regret", "0.3"): regret > 0.3,
        ("log", "beta"): np.asarray(scored.log_names) == "beta",
        ("situation", SITUATIONS[code[0]]): code == code[0],
        ("search", scored.tokens[3]): np.asarray(scored.tokens) == scored.tokens[3],
    }
    seen = set()
    for (name, value), passing in wanted.items():
        page.put(name, value)
        assert page.listed == expected_tokens(scored, passing), name
        assert page.run("document.getElementById('count').textContent").startswith(f"{int(passing.sum())} of ")
        seen.add(int(passing.sum()))
        page.act("document.getElementById('clear').click()")
    assert len(seen) > 3 and page.listed == list(scored.tokens)


def test_sorting(page: Page, server: ExplorerServer, scored: ScoredPools) -> None:
    page.open(server.address)
    chosen = inertial(scored, scored.utility_v2)
    own = epdms_of_table(scored.v2)
    keys = {
        "regret": scored.at(own, chosen) - own.max(1),
        "score": scored.epdms(chosen),
        "gain": scored.epdms(framewise(scored.utility_v2)) - scored.epdms(chosen),
    }
    for name, key in keys.items():
        page.put("sort", name)
        place = [scored.tokens.index(token) for token in page.listed]
        assert (np.diff(key[place]) >= -2e-4).all(), name


def test_utility_v1_judges_by_pdms(page: Page, server: ExplorerServer, scored: ScoredPools) -> None:
    page.open(f"{server.address}#utility=v1&mode=framewise")
    chosen = framewise(scored.utility_v1)
    scores = page.run("explorer.model.result(0, 0, explorer.state).score")
    expected = scored.at(scored.v1, chosen)[:6, V1_COLUMNS.index("PDMS")]
    np.testing.assert_allclose(list(scores.values()) if isinstance(scores, dict) else scores, expected, atol=1e-4)


def test_links_reproduce_views(page: Page, server: ExplorerServer, scored: ScoredPools) -> None:
    page.open(server.address)
    page.put("weight-number", "2")
    page.put("colour", "v2:DAC")
    page.put("step", "17")
    page.put("broken", "EC")
    page.put("theme", "dark")
    page.act("explorer.set({token: arguments[0], plan: 3})", scored.tokens[9])
    for key in ("+", "a", "f"):
        page.press(key)
    address, state, picture = page.address, page.run("explorer.state"), page.picture()
    listed = page.listed
    page.open(address)
    assert page.run("explorer.state") == state
    assert page.picture() == picture and page.listed == listed
    assert page.run("document.documentElement.dataset.theme") == "dark"


def test_addresses_with_nonsense_show_something(page: Page, server: ExplorerServer, scored: ScoredPools) -> None:
    page.open(f"{server.address}#token=nowhere&plan=999&step=-7&weight=x&run=9&mode=magic&view=a,b&colour=v9:XX")
    assert page.run("explorer.state.token") == scored.tokens[0]
    assert page.run("explorer.active.plan") == page.run("explorer.active.chosen")
    assert page.errors == []


def test_keys(page: Page, server: ExplorerServer, scored: ScoredPools) -> None:
    page.open(server.address)
    page.press("ArrowRight")
    assert page.run("explorer.state.token") == scored.tokens[1]
    page.press("ArrowLeft")
    assert page.run("explorer.state.token") == scored.tokens[0]
    order = np.argsort(-scored.utility_v2[0], kind="stable")
    page.press("ArrowDown")
    rank = int(np.flatnonzero(order == page.run("explorer.active.chosen"))[0])
    assert page.run("explorer.active.plan") == order[rank + 1]
    page.press("Escape")
    assert page.run("explorer.active.plan") == page.run("explorer.active.chosen")
    page.press(".")
    assert page.run("explorer.state.step") == 1
    page.press("m")
    assert page.run("explorer.state.mode") == "framewise"
    page.press("]")
    assert (page.run("explorer.state.mode"), page.run("explorer.state.weight")) == ("inertial", 1.25)


def test_every_key_does_something(page: Page, server: ExplorerServer, scored: ScoredPools) -> None:
    page.open(f"{server.address}#token={scored.tokens[2]}&step=3&plan=2&weight=2&broken=EC")
    drawn = ("[", "u", "c", "o", "p", "b", "h", "r", "f", "t", "k", "g", ",", "+", "-", "w", "a", "s", "d", "m", "e")
    for key in drawn:
        before = page.run("explorer.link")
        page.press(key)
        assert page.run("explorer.link") != before, key
    page.press("0")
    page.press("Escape")
    assert page.run("[explorer.state.view, explorer.state.brush, explorer.state.plan]") == ["", "", -1]
    assert page.run("[explorer.state.mode, explorer.state.weight, explorer.state.broken]") == ["framewise", 1.75, ""]
    page.press("m")
    assert page.run("[explorer.state.mode, explorer.state.weight]") == ["inertial", 1.75]
    page.driver.execute_script("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '?', bubbles: true}))")
    assert page.run("document.getElementById('help').open")


def test_the_way_back_leads_through_the_frames(page: Page, server: ExplorerServer, scored: ScoredPools) -> None:
    page.open(server.address)
    for _ in range(150):  # browsers refuse so many addresses within seconds
        page.driver.execute_script("explorer.set({step: (explorer.state.step + 1) % 41})")
    page.act("explorer.show(arguments[0])", scored.tokens[5])
    assert f"token={scored.tokens[5]}" in page.address
    page.driver.back()
    page.wait("return explorer.state.token === arguments[0]", scored.tokens[0])
    assert page.errors == []


def test_fingers_move_and_zoom(page: Page, server: ExplorerServer) -> None:
    page.open(f"{server.address}#view=10,0,8")
    page.drag(".birdseye", ((0.5, 0.5), (0.4, 0.5)))
    width = page.run("document.querySelector('.birdseye').getBoundingClientRect().width")
    x, y, scale = (float(number) for number in page.run("explorer.state.view").split(","))
    assert (x, y, scale) == (pytest.approx(10 + 0.1 * width / 8, abs=0.02), 0, 8)
    page.drag(".birdseye", ((0.4, 0.5), (0.3, 0.5)), ((0.6, 0.5), (0.7, 0.5)))
    zoomed = [float(number) for number in page.run("explorer.state.view").split(",")]
    assert zoomed == pytest.approx([x, y, 16], abs=0.02)
    assert page.run("explorer.state.plan") == -1  # no finger has clicked


def test_brushed_states_leave_their_plans_in_sight(page: Page, server: ExplorerServer, scored: ScoredPools) -> None:
    page.open(f"{server.address}#token={scored.tokens[1]}")
    states = np.array(page.run("Array.from(explorer.active.scene.states)")).reshape(-1, 2)
    plain, pictures = page.picture(), "document.getElementById(arguments[0]).toDataURL()"
    views = ["state-space", "matrix"]
    before = [page.run(pictures, view) for view in views]
    page.drag("#state-space", ((0.0, 0.0), (0.5, 1.0)))
    left, low, right, high = (float(number) for number in page.run("explorer.state.brush").split(","))
    within = ((states >= [left, low]) & (states <= [right, high])).all(1)
    assert 0 < within.sum() < len(states) and right == pytest.approx(0, abs=0.01)
    assert page.picture() != plain
    assert all(page.run(pictures, view) != old for view, old in zip(views, before, strict=True))
    brushed = page.picture()
    page.open(page.address)
    assert page.picture() == brushed
    page.press("ArrowRight")
    assert page.run("explorer.state.brush") == ""


def test_a_click_on_a_plan_explains_it(page: Page, server: ExplorerServer) -> None:
    page.open(f"{server.address}#mode=framewise")
    row = page.run("document.getElementById('matrix').getBoundingClientRect().height / 9")
    page.act(
        "const box = document.getElementById('matrix').getBoundingClientRect();"
        "document.getElementById('matrix').dispatchEvent(new MouseEvent('click',"
        "{clientX: box.left + 5, clientY: box.top + 2.5 * arguments[0], bubbles: true}))",
        row,
    )
    plan = page.run("explorer.state.plan")
    assert plan >= 0 and plan != page.run("explorer.active.chosen")
    assert page.run("document.getElementById('plan-title').textContent").startswith(f"Plan {plan}")


def test_two_runs_side_by_side(page: Page, pools: Path, tmp_path: Path) -> None:
    others = store_pools(tmp_path, frames=6, plans=9, seed=0, logits=True)
    swapped = write_pools(
        tmp_path / "swapped",
        tmp_path / "store",
        [log._replace(utility_v2=-log.utility_v2) for log in PoolFolder(others)],
    )
    first, second = ScoredPools.open(pools), ScoredPools.open(swapped)
    with serving(pools, swapped) as running:
        page.open(running.address)
        assert page.run("document.querySelectorAll('.birdseye').length") == 2
        page.put("differ", True)
        gap = first.epdms(inertial(first, first.utility_v2)) - second.epdms(inertial(second, second.utility_v2))
        assert page.listed == expected_tokens(first, np.abs(gap) >= 0.01)
        page.put("sort", "difference")
        place = [first.tokens.index(token) for token in page.listed]
        assert (np.diff(np.abs(gap)[place]) <= 2e-4).all() and len(place) > 3
        page.press("x")
        assert page.run("explorer.active.chosen") == int(
            inertial(second, second.utility_v2)[first.tokens.index(page.run("explorer.state.token"))]
        )
        assert page.errors == []


def test_drives_and_route_reranking(page: Page, pools: Path, scored: ScoredPools, tmp_path: Path) -> None:
    run = as_drives(ExploredRun.open(pools), tmp_path)
    with serving(run) as running:
        page.open(f"{running.address}#token={scored.tokens[8]}")
        words = page.run("document.getElementById('drive-words').textContent")
        assert words == f"{DRIVER} on route_1: Completed. collisions vehicle at 12.5 s."
        plain = framewise(scored.utility_v2)
        for weight in (1.0, 4.0):
            page.act("explorer.set({mode: 'route', weight: arguments[0]})", weight)
            for log, entry in enumerate(run.logs):
                agreements = read_typed(run.table(log)).arrays["route_agreement"]
                expected = [
                    int(route_utility(utility, agreed, weight).argmax())
                    for utility, agreed in zip(scored.utility_v2[entry.rows], agreements, strict=True)
                ]
                assert page.run(f"Array.from(explorer.model.result(0, {log}, explorer.state).chosen)") == expected
                plain[entry.rows] -= expected
        assert plain.any()  # the route changed something
        page.put("mode", "framewise")
        page.put("mode", "route")
        assert page.run("explorer.state.weight") == 4
        assert page.errors == []


def test_branches_replace_the_replay(page: Page, pools: Path, scored: ScoredPools, tmp_path: Path) -> None:
    run = ExploredRun.open(pools)
    source = RunFolder(tmp_path)
    made = write_branches(run, 1, 2, source.branches("mini"))
    with serving(replace(run, source=source)) as running:
        page.open(f"{running.address}#token={made.token}&plan={CHOSEN[0]}")
        driven = page.run("explorer.active.scene.branches.map(({plan, tracks}) => [plan, tracks.length])")
        assert driven == [[int(plan), 2] for plan in CHOSEN]
        page.wait("return document.getElementById('branch-image').naturalWidth === 32")
        with_branch = page.picture()
        page.put("branch", False)
        assert page.picture() != with_branch
        page.act("document.querySelector('#branches button:last-child').click()")
        assert page.run("explorer.state.plan") == CHOSEN[1]
        page.act("explorer.move(1)")
        assert page.run("document.getElementById('branches').hidden")
        assert page.errors == []


def test_hostile_names_are_shown_as_text(page: Page, tmp_path: Path) -> None:
    name, scenes = HOSTILE_NAME, []
    for number, scene in enumerate(make_log(name, 3, seed=1)):
        tracks = replace(scene.tracks, ids=tuple(f"{HOSTILE}{row}" for row in range(len(scene.tracks.ids))))
        scenes.append(replace(scene, token=f"{HOSTILE_NAME}{number}", tracks=tracks, tracks_v2=None))
    write_shard(tmp_path / "store", name, scenes, {"options": {"split": HOSTILE}})
    plans = np.stack([make_plans(scene, 40, 3) for scene in scenes]).astype("f4")
    utility = np.random.default_rng(0).normal(size=plans.shape[:2]).astype("f4")
    times = np.array([scene.time_us for scene in scenes])
    log = LogPool(name, tuple(scene.token for scene in scenes), times, plans, utility, utility)
    folder = write_pools(tmp_path / "pools", tmp_path / "store", [log])
    out = tmp_path / "explorer.html"
    write_single_file([ExploredRun.open(folder)], out)
    with serving(folder) as running:
        for address in (running.address, out.as_uri()):
            page.open(address)
            assert page.run("document.getElementById('log-name').textContent") == name
            assert page.run("document.querySelectorAll('main img[src=x]').length") == 0
            assert page.listed == [scene.token for scene in scenes]
            hit = page.run("explorer.active.scene.causes.findIndex((all) => all.some((one) => one.metric === 'NC'))")
            assert hit >= 0
            page.act("explorer.set({plan: arguments[0]})", hit)
            assert HOSTILE in page.run("document.getElementById('reasons').textContent")
            assert page.run("document.title") == "pools: World4Scorer explorer"
            assert page.errors == []
