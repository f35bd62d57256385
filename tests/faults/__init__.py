"""Attacks on files and long work: small seeded samples run as tests, everything by `python benchmarks/faults.py`.

An attack is a function of a seed and an empty folder: the same seed makes the same cases, so that a failure can be
repeated (`python benchmarks/faults.py --replay ATTACK SEED`). Inputs that once failed are kept in `corpora/`.
"""
