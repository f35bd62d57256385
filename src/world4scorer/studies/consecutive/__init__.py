"""How much less consecutive plans differ with re-ranking (appendix E.2)."""
