"""Bench2Drive's clips: annotations, routes, drivable rasters, outcome labels; and clips made in the city."""
