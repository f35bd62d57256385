"""Python processes of tests."""

from __future__ import annotations

import os

from tests.support.golden import ROOT

WITH_TESTS = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
"""Environment of a script that imports `tests.support` from wherever it lies."""
