"""The paper's questions, one folder each; `registry.py` lists them in the paper's order.

A folder holds `study.py` (from pools or a run to a finding), `figure.py` and `tables.py` where there are any, and what
only that study needs. `shared`, `branches` and `readout_networks` serve several. Knows `evaluation`,
`city` and the rooms above them.
"""
