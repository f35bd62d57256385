"""The page of the explorer as one HTML text: markup, style and script of the package, and data if it needs no server.

Only scripts and styles of this package run: the content security policy names them by their digests. Data are JSON and
base64 in blocks that no browser runs, with every `<` escaped.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from importlib.resources import files
from typing import Any, Final

PACKAGE: Final = "world4scorer.reporting.explorer"
FOLDER: Final = "page_files"
CATALOGUE_ID: Final = "catalogue"


def render_page(policy: str, catalogue: dict[str, Any] | None = None, blocks: Iterable[tuple[str, bytes]] = ()) -> str:
    """The page; with a catalogue and blocks by id it needs no server."""
    markup, style, script = (read_asset(name) for name in ("explorer.html", "explorer.css", "explorer.js"))
    data = [] if catalogue is None else [_json_block(CATALOGUE_ID, catalogue)]
    data += [_bytes_block(name, content) for name, content in blocks]
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    for place, content in (("policy", meta), ("style", style), ("data", "\n".join(data)), ("script", script)):
        before, found, after = markup.partition(f"<!-- {place} -->")
        assert found, f"explorer.html has no place for {place}"
        content = f"<{place}>{content}</{place}>" if place in ("style", "script") else content
        markup = before + content + after
    return markup


def policy(images: str, connections: str) -> str:
    """Content security policy of the page: nothing but its own script and style, images and connections as given."""
    digests = {name: _digest(read_asset(f"explorer.{name}")) for name in ("js", "css")}
    return (
        f"default-src 'none'; script-src '{digests['js']}'; style-src '{digests['css']}'; img-src data: {images}; "
        f"connect-src {connections}; base-uri 'none'; form-action 'none'"
    )


def read_asset(name: str) -> str:
    """A file of the page, as text."""
    return (files(PACKAGE) / FOLDER / name).read_text("utf-8")


def _digest(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _json_block(name: str, content: Any) -> str:
    words = json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{words}</script>'


def _bytes_block(name: str, content: bytes) -> str:
    return f'<script type="application/octet-stream" id="{name}">{base64.b64encode(content).decode()}</script>'
