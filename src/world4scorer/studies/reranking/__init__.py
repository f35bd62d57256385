"""Inertial re-ranking off and on (Table 2c)."""
