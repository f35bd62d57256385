"""Long work done safely, and where its files lie.

files           files written whole or not at all, JSON, locks
resumable       one writer per folder, matching settings, finished tasks skipped, failures reported together
executors       tasks in a loop, in processes or on a Ray cluster
progress        progress bars, on a terminal and in log files
tensor_files    weights and checkpoints (the only file here that needs torch)
run_folder, data_folder, model_folder
                names of the files of a run, of prepared data and of a planner

Imports nothing else of this package.
"""
