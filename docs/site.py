"""MkDocs hooks of this site (`hooks:` in mkdocs.yml).

* Files outside docs/ become part of the site: the README below its introduction as
  start.md, CHANGELOG.md, SECURITY.md, the notebooks and all of results/. A result page shows its pictures.
* Links are written for the repository, so that they work on a code host; they are converted to links of the site.
* A list may follow a paragraph without a blank line, as on a code host.
* `<!-- include: ../results/NAME.md -->` becomes that file without its title, or, with #SECTION behind the name, the
  section below that heading. On a code host it is invisible, so put a link beside it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).resolve().parents[1]
DOCS: Final = "docs/"
SITE_PATHS: Final = {"README.md": "start.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"}
"""Site paths of files in the repository's top folder."""
RESULTS: Final = ("*.md", "*.png", "*.json")

LINK: Final = re.compile(r'(?P<before>\]\(|\b(?:src|href)=")(?P<path>[^)\s"#:]+)(?P<anchor>#[^)\s"]*)?(?=[)"])')
"""A relative link or picture, in Markdown or HTML."""
CODE: Final = re.compile(r"(```.*?```|`[^`\n]+`)", re.DOTALL)
INCLUDE: Final = re.compile(r"^<!-- include: (?P<path>[^\s#]+)(?:#(?P<section>[^\s]+))? -->$", re.MULTILINE)
TIGHT_LIST: Final = re.compile(r"^(?![ \t|]|- )(\S.*)\n(?=- )", re.MULTILINE)
"""The line before a list that no blank line sets off."""
HEADING: Final = re.compile(r"^(#+) (.+)$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files outside docs/."""
    outside = [Path(name) for name in SITE_PATHS]
    outside += [path.relative_to(ROOT) for kind in RESULTS for path in sorted((ROOT / "results").rglob(kind))]
    outside += [path.relative_to(ROOT) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]
    for path in outside:
        source = path.as_posix()
        files.append(File.generated(config, site_path(source), abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Insert includes and convert links."""
    source = repository_path(page.file.src_uri)
    if source == "README.md":
        markdown = without_introduction(markdown)
    if source.startswith("results/"):
        markdown += pictures(source)
    markdown = INCLUDE.sub(lambda found: included(found, source), markdown)
    return outside_code(markdown, lambda text: rewritten(text, source))


def rewritten(text: str, source: str) -> str:
    """Convert text of the repository's file `source` for MkDocs."""
    text = TIGHT_LIST.sub(r"\1\n\n", text)
    return LINK.sub(lambda found: moved(found, source), text)


def site_path(path: str) -> str:
    """The site path of a file of the repository."""
    return SITE_PATHS.get(path, path.removeprefix(DOCS))


def repository_path(path: str) -> str:
    """The inverse of `site_path`."""
    sources = {there: here for here, there in SITE_PATHS.items()}
    return sources.get(path) or (path if path.startswith("results/") else DOCS + path)


def moved(found: re.Match[str], source: str) -> str:
    """A link of the repository's file `source` as a link of the site."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), found["path"]))
    if (ROOT / target / "README.md").is_file():  # a code host shows it below the folder
        target += "/README.md"
    here = posixpath.dirname(site_path(source))
    return found["before"] + posixpath.relpath(site_path(target), here or ".") + (found["anchor"] or "")


def outside_code(markdown: str, change: Callable[[str], str]) -> str:
    """Apply `change` to everything but code."""
    return "".join(part if part.startswith("`") else change(part) for part in CODE.split(markdown))


def included(found: re.Match[str], source: str) -> str:
    """The file that an include names, its links relative to `source`."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), found["path"]))
    if not (ROOT / path).is_file():
        raise PluginError(f"{source}: includes {path}, which does not exist")
    text = (ROOT / path).read_text()
    text = section(text, found["section"], f"{source}: includes {path}") if found["section"] else without_title(text)
    return HEADING.sub(r"#\1 \2", text).strip()


def section(markdown: str, name: str, where: str) -> str:
    """The text below a heading, up to the next one of its level or above."""
    headings = list(HEADING.finditer(markdown))
    for index, heading in enumerate(headings):
        if heading[2].strip().lower().replace(" ", "-") == name:
            later = [other.start() for other in headings[index + 1 :] if len(other[1]) <= len(heading[1])]
            return markdown[heading.end() : later[0] if later else len(markdown)]
    raise PluginError(f"{where}, which has no section {name!r}")


def without_title(markdown: str) -> str:
    """A page without its first heading."""
    return re.sub(r"\A# .+\n", "", markdown)


def without_introduction(readme: str) -> str:
    """The README from its first section on; the front page replaces its introduction."""
    return "# Getting started\n\n" + readme[readme.index("\n## ") + 1 :]


def pictures(source: str) -> str:
    """Pictures of a result that its page does not link: NAME.png and NAME_*.png."""
    page = ROOT / source
    shown = page.read_text()
    found = [path.name for pattern in (".png", "_*.png") for path in sorted(page.parent.glob(page.stem + pattern))]
    names = {path.stem for path in page.parent.glob("*.md")}
    own = [
        name for name in found if name not in shown and (Path(name).stem == page.stem or Path(name).stem not in names)
    ]
    return "".join(f"\n\n![{Path(name).stem.replace('_', ' ')}]({name})" for name in own)
