"""Names of road users that SUMO put elsewhere."""

from __future__ import annotations

from world4scorer.city.world.traffic import JUMPED, comes_back


def test_who_comes_back():
    assert comes_back("v17") == -1
    assert comes_back(f"v17{JUMPED}230") == 230
