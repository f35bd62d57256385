"""OGBench's cube environment on MuJoCo: stepping, exact fast replay, pictures."""
