"""The six outcomes that the score heads predict, under the names of released checkpoints and pools."""

from __future__ import annotations

from typing import Final

NC: Final = "no_at_fault_collisions"
DAC: Final = "drivable_area_compliance"
DDC: Final = "driving_direction_compliance"
TTC: Final = "time_to_collision_within_bound"
EP: Final = "ego_progress"
COMFORT: Final = "comfort"

COMPONENTS: Final = (NC, DAC, DDC, TTC, EP, COMFORT)
"""In the order of the columns of a pool file."""

LABEL_COLUMNS: Final = {NC: "NC", DAC: "DAC", DDC: "DDC", TTC: "TTC", EP: "EP", COMFORT: "C"}
"""The name that an outcome table gives to each."""
