"""Building blocks of a page that stands alone: plain HTML, one style sheet inside, pictures inside, no script.

Blocks take plain text and escape it themselves; what they return is `Html`, and only that is put together.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple, NewType

from PIL import Image, UnidentifiedImageError

from world4scorer.drawing.finding import Table

Html = NewType("Html", str)

STYLE: Final = "page.css"
PIXELS: Final = 1.3
"""Pixels of a picture for one of the page: figures are drawn finer than they are shown."""
SMALL_PIXELS: Final = 2.0
"""The same of thumbnails: fine enough for screens with many pixels."""
SHORT: Final = 14
"""Characters of a name that need no wide column."""
DENSE_COLUMNS: Final = 9
"""Columns; with more, cells stand closer."""
PAPER: Final = re.compile(r"\bpaper\b", re.IGNORECASE)


class Part(NamedTuple):
    """A section of the page, and its line in the contents."""

    anchor: str
    title: str
    content: Html
    within: tuple[Part, ...] = ()


def text(value: object) -> Html:
    """Plain text; what stands between backticks becomes code."""
    pieces = str(value).split("`")
    if len(pieces) % 2 == 0:  # one backtick has no partner: it means nothing
        return Html(escape(str(value)))
    return Html("".join(f"<code>{escape(piece)}</code>" if i % 2 else escape(piece) for i, piece in enumerate(pieces)))


def joined(*blocks: Html) -> Html:
    """Blocks one below the other."""
    return Html("\n".join(block for block in blocks if block))


def paragraph(value: object, kind: str = "") -> Html:
    """A paragraph of plain text."""
    return Html(f"<p{_class(kind)}>{text(value)}</p>")


def bullets(lines: Iterable[str]) -> Html:
    """A list of plain lines."""
    items = "".join(f"<li>{text(line)}</li>" for line in lines)
    return Html(f"<ul>{items}</ul>" if items else "")


def link(anchor: str, title: str) -> Html:
    """A link to another part of the page."""
    return Html(f'<a href="#{escape(anchor)}">{text(title)}</a>')


def outside_link(address: str, title: str) -> Html:
    """A link to another file."""
    return Html(f'<a href="{escape(address)}">{text(title)}</a>')


def missing(what: str, command: str) -> Html:
    """What is not there, and the command that would make it."""
    return Html(f'<p class="missing">{text(what)}: <code>{escape(command)}</code></p>')


def all_missing(what: str, commands: Iterable[str]) -> Html:
    """The same for several, one below the other."""
    items = "".join(f"<li><code>{escape(command)}</code></li>" for command in commands)
    return Html(f'<div class="missing"><p>{text(what)}:</p><ul>{items}</ul></div>' if items else "")


def source(value: str) -> Html:
    """Where numbers come from."""
    return paragraph(value, "source")


def table(content: Table) -> Html:
    """A table; columns and rows that tell the paper's values look like it."""
    papers = [bool(PAPER.search(name)) for name in content.columns]
    head = "".join(
        f'<th scope="col"{_class("paper" * of_paper, "long" * (len(name) > SHORT))}>{text(name)}</th>'
        for name, of_paper in zip(content.columns, papers, strict=True)
    )
    body = "".join(_row(row, papers) for row in content.rows)
    named = max((len(row[0]) for row in content.rows), default=0) > SHORT
    return Html(
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(content.title)}">'
        f"<table{_class('named' * named, 'dense' * (len(content.columns) > DENSE_COLUMNS))}>"
        f"<caption>{text(content.title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(row: Sequence[str], papers: Sequence[bool]) -> str:
    whole = bool(PAPER.search(row[0]))
    cells = "".join(f"<td{_class('paper' * p)}>{text(cell)}</td>" for cell, p in zip(row[1:], papers[1:], strict=True))
    return f'<tr{_class("paper" * whole)}><th scope="row">{text(row[0])}</th>{cells}</tr>'


def picture(png: bytes, where: str | Path, alt: str, caption: Html | None = None, anchor: str = "") -> Html:
    """A PNG kept within the page; `where` names it in errors, links lead to `anchor`."""
    below = "" if caption is None else f"<figcaption>{caption}</figcaption>"
    name = f' id="{escape(anchor)}"' if anchor else ""
    return Html(f'<figure{name}><div class="frame">{_image(png, where, alt, PIXELS)}</div>{below}</figure>')


def thumbnails(entries: Iterable[tuple[str, str, bytes]]) -> Html:
    """Small pictures side by side: anchor that each leads to, title, PNG."""
    items = "".join(
        f'<li><a href="#{escape(anchor)}">{_image(png, title, title, SMALL_PIXELS)}<span>{text(title)}</span></a></li>'
        for anchor, title, png in entries
    )
    return Html(f'<ul class="thumbnails">{items}</ul>' if items else "")


def _image(png: bytes, where: str | Path, alt: str, finer: float) -> str:
    try:
        with Image.open(io.BytesIO(png), formats=["PNG"]) as opened:
            opened.verify()
            width, height = opened.size
    except (UnidentifiedImageError, SyntaxError, OSError) as error:
        raise ValueError(f"{where}: not a readable PNG ({error}); make it anew") from error
    content = base64.b64encode(png).decode()
    return (
        f'<img src="data:image/png;base64,{content}" alt="{escape(alt)}" width="{width}" height="{height}" '
        f'style="max-width:{width / finer:.0f}px">'
    )


def tile(label: str, value: str, detail: str, reported: str = "", came_from: str = "") -> Html:
    """A headline number."""
    lines = [f"<dt>{text(label)}</dt>", f'<dd class="value">{text(value)}</dd>']
    for kind, line in (("detail", detail), ("paper", reported), ("source", came_from)):
        if line:
            lines.append(f'<dd class="{kind}">{text(line)}</dd>')
    return Html(f"<div>{''.join(lines)}</div>")


def tiles(entries: Iterable[Html]) -> Html:
    """Tiles side by side."""
    return Html(f'<dl class="tiles">{"".join(entries)}</dl>')


def folded(title: str, content: Html) -> Html:
    """What is shown when it is asked for."""
    return Html(f"<details><summary>{text(title)}</summary>{content}</details>")


def verbatim(value: str) -> Html:
    """Text of a file, as it is."""
    return Html(f'<pre tabindex="0">{escape(value)}</pre>')


def page(title: str, subtitle: str, parts: Sequence[Part], footer: str) -> Html:
    """The whole page."""
    style = (files("world4scorer.reporting.report") / STYLE).read_text("utf-8")
    return Html(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}: World4Scorer report</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f'<header><p class="over">World4Scorer</p><h1>{text(title)}</h1>'
        f'<p class="under">{text(subtitle)}</p></header>\n'
        f'<div class="columns">\n<nav aria-label="Contents"><ol>{"".join(map(_entry, parts))}</ol></nav>\n'
        f"<main>\n{''.join(_section(part, 2) for part in parts)}</main>\n</div>\n"
        f"<footer>{text(footer)}</footer>\n</body>\n</html>\n"
    )


def _entry(part: Part) -> str:
    below = f"<ol>{''.join(map(_entry, part.within))}</ol>" if part.within else ""
    return f"<li>{link(part.anchor, part.title)}{below}</li>"


def _section(part: Part, level: int) -> str:
    return (
        f'<section id="{escape(part.anchor)}"><h{level}>{text(part.title)}</h{level}>\n{part.content}\n'
        f"{''.join(_section(below, level + 1) for below in part.within)}</section>\n"
    )


def _class(*kinds: str) -> str:
    names = " ".join(kind for kind in kinds if kind)
    return f' class="{names}"' if names else ""
