"""Choices with own, deranged and mean states (Table 4, appendix D.1)."""
