"""Names of road users that SUMO put elsewhere."""

from __future__ import annotations

from world4scorer.city.world.traffic import TELEPORT_MARK, teleport_index


def test_teleported_names():
    assert teleport_index("v17") == -1
    assert teleport_index(f"v17{TELEPORT_MARK}230") == 230
