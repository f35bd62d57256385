"""Whether re-ranking needs the plan really taken (appendix E.4)."""
