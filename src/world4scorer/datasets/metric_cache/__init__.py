"""Metric caches of the NAVSIM devkits, v1.1 and v2.2, read as scenes without the devkits and without running code."""
