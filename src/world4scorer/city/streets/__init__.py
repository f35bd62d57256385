"""Streets of real places: SUMO's networks as plain arrays, and as a map that the NAVSIM tools read."""
