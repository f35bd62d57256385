"""Whether predicted outcomes are calibrated, and whether a temperature for each head would help to choose."""
