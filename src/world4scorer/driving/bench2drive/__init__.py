"""Bench2Drive's clips: reading, routes, drivable rasters, outcome labels, vocabulary, training; clips of the city."""
