"""The studies of the paper, one file each: a finding with numbers, tables and a figure."""
