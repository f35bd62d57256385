"""Teaching a small ViT to see without labels, and what linear probes then read from it. Needs torch."""
