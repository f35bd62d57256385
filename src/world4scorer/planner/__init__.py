"""The network and how it learns: generator, shared predictor, score heads, losses, candidate banks, pretraining.

`model` is the network, `Planner` (in `planner.py`) the way to use it, `training` fits it. Everything but `bank`
needs torch. Knows `datasets`, `engine` and `jobs`.
"""
