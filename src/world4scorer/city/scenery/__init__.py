"""Geometry and materials: houses, trees, lamps, signals, road markings, vehicles, people."""
