"""Predicted features as images (appendix C)."""
