"""Weights that others trained or that come with the package: DINOv2, released planners, encoders by name."""
