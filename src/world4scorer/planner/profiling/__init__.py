"""Parameters, operations, memory and times of a model."""
