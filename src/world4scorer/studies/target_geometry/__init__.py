"""Cosine similarity of views and their futures in the frozen encoder (appendix C.1)."""
