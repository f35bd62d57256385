"""Diagrams of a model and its training, drawn from a configuration: gradient routes, overview."""
