"""Shapes and materials of what cameras see: houses, trees, lamps, signals, road markings, vehicles, people."""
