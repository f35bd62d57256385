"""The page of a run: everything that its folder knows, in one file."""
