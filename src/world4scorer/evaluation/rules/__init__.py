"""One submission under every rule that papers and scripts use, and which of them gives a reported score."""
