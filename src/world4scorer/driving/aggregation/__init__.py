"""Aggregation: a planner learns from scenes that it drove into itself, by their outcomes."""
