"""Camera views with dense labels, for pretraining an encoder: what they are, and their files."""
