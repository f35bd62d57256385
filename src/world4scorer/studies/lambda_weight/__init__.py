"""How much the weight of re-ranking matters (appendix E.3)."""
