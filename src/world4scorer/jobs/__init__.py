"""Long work done safely, and where its files lie.

extras          packages that the base install does not bring
checksums       one checksum for every file that is read again, inside the file
files           files written whole or not at all, JSON, locks
arrow_files, array_files
                Arrow and NumPy files with checksums
sources         what a derived file was made from
names           tokens and log names that can be file names
resumable       one writer per folder, matching settings, finished tasks skipped, failures reported together
shared_folder   one folder that several machines fill at once
executors       tasks in a loop, in processes or on a Ray cluster
executor_options
                which of them, as options of commands
progress        progress bars, on a terminal and in log files
tensor_files    weights and checkpoints (the only file here that needs torch)
run_folder, data_folder, model_folder
                names of the files of a run, of prepared data and of a planner

Imports nothing else of this package.
"""
