"""Tables of the paper as data: results of all published methods, with their source, apart from ours.

>>> print(published_table("table-1").markdown())
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from world4scorer.drawing.finding import Table

PublishedName = Literal["table-1", "bench2drive", "compute", "cube"]


@cache
def _all() -> dict[str, Any]:
    path = files("world4scorer.evaluation.scores") / "published_tables.json"
    # Numbers stay texts: 84.0 and 40.70 are shown with the digits that were published.
    content: dict[str, Any] = json.loads(path.read_text(), parse_float=str, parse_int=str)
    return content


def published_table(name: PublishedName) -> Table:
    """A table as published; its title names the source. Values that the source lacks are left empty."""
    raw = _all()[name]
    columns = ("method", *raw["text_columns"], *raw["columns"])
    rows = tuple(
        (row["name"], *row["text"], *("" if value is None else value for value in row["values"])) for row in raw["rows"]
    )
    return Table(f"Published, not ours: {raw['title']} ({raw['source']})", columns, rows)
