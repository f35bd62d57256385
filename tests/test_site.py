"""The documentation site: links written for the repository work in it, and it needs nothing from elsewhere."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="the extra `docs` is not installed")

from mkdocs.exceptions import PluginError

ROOT = Path(__file__).parents[1]
FROM_ELSEWHERE = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=\"(?:https?:)?//[^\"]*\"")


@pytest.fixture(scope="module")
def site():
    spec = importlib.util.spec_from_file_location("site_hook", ROOT / "docs" / "site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("source", "link", "moved"),
    [
        ("docs/a.md", "b.md#part", "b.md#part"),
        ("docs/a.md", "../results/store.md", "results/store.md"),
        ("docs/a.md", "../README.md", "start.md"),
        ("docs/a.md", "../results/studies", "results/studies/README.md"),
        ("docs/findings/a.md", "../../results/store.md", "../results/store.md"),
        ("README.md", "docs/a.md", "a.md"),
        ("README.md", "CHANGELOG.md", "changelog.md"),
        ("results/studies/README.md", "../../docs/studies.md#parts", "../../studies.md#parts"),
        ("results/city.md", "city.png", "city.png"),
    ],
)
def test_links_move_with_their_pages(site, source, link, moved):
    for written in ("[x]({})", '<img src="{}">'):
        assert site.rewritten(written.format(link), source) == written.format(moved)
    assert site.repository_path(site.site_path(source)) == source


@pytest.mark.parametrize("text", ["[x](https://a.b/c)", "[x](#here)", "`[x](../y)`", "```\n[x](../y)\n- z\n```"])
def test_other_links_and_code_stay(site, text):
    assert site.outside_code(text, lambda part: site.rewritten(part, "docs/a.md")) == text


def test_lists_are_set_off(site):
    assert site.rewritten("say:\n- one\n  more\n- two\n", "docs/a.md") == "say:\n\n- one\n  more\n- two\n"


def test_a_section_ends_at_the_next_heading(site):
    text = "# A\n\n## First part\n\none\n\n### Deeper\n\ntwo\n\n## Second\n\nthree\n"
    assert site.section(text, "first-part", "x").split() == ["one", "###", "Deeper", "two"]
    assert site.section(text, "second", "x").split() == ["three"]
    with pytest.raises(PluginError, match="no section 'third'"):
        site.section(text, "third", "x")


def test_includes(site):
    def put_in(text):
        return site.INCLUDE.sub(lambda found: site.included(found, "docs/a.md"), text)

    table = put_in("before\n<!-- include: ../results/exactness.md -->\nafter")
    assert "| quantity |" in table and "# Exactness" not in table and table.endswith("\nafter")
    assert put_in("<!-- a comment -->") == "<!-- a comment -->"
    with pytest.raises(PluginError, match=r"docs/a\.md: includes results/missing\.md"):
        put_in("<!-- include: ../results/missing.md -->")


def test_built_site(tmp_path):
    """Strict, and then: no assets from other hosts, no paths of this machine, results with tables and pictures."""
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = {path.relative_to(tmp_path).as_posix(): path.read_text() for path in tmp_path.rglob("*.html")}
    for name, text in pages.items():
        assert not FROM_ELSEWHERE.search(text), name
        assert str(ROOT) not in text and str(Path.home()) not in text, name
    assert 'src="city_quick.png"' in pages["results/city_quick.html"]
    assert "label 64 plans" in pages["findings/speed.html"]
    assert "InertialReranker" in pages["api.html"]
