"""Score plans and select among them: scenes, rollouts, the metrics of NAVSIM v1.1 and v2.2, re-ranking.

Needs NumPy and Numba only. `scene` holds the inputs, `rollout` turns plans into ego states, `outcomes` has one file per
metric, `selection` chooses, `routes` follows polylines. Knows `jobs`.
"""
