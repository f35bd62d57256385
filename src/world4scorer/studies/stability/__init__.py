"""How firmly supervision holds choices (Proposition 1, appendix C.4)."""
