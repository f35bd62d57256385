"""Self-supervised pretraining of a small ViT, and linear probes of it. Needs torch."""
