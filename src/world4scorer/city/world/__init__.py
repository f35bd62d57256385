"""The embedded world: real streets, SUMO's traffic, rendered cameras, written as a NAVSIM dataset."""
