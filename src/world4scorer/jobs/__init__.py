"""Long work done safely: atomic files, one writer at a time, resuming, progress bars, processes or a Ray cluster.

Folder layouts live here too: which file of a run or of a dataset lies where. Knows no other room and needs no torch.
"""
