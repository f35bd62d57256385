"""The rules once more, in plain NumPy, SciPy and Shapely: slow, readable, written independently of the kernels."""
