"""LeWM, the search that plans with it, and the outcome head. Needs torch."""
