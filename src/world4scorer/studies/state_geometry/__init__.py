"""Whether nearby states share their outcome (appendix C.3)."""
