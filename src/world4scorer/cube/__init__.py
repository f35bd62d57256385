"""OGBench's cube in MuJoCo: candidate action sequences and what becomes of the cube under them."""
