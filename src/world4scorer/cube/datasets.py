"""Official episodes: OGBench's own datasets (`.npz`) and the episodes of LeWM's releases (`.h5`), as `Episodes`.

Both are tables of steps. OGBench's `cube-single-*.npz` has the arrays

    observations (steps, 28)   actions (steps, 5)   qpos (steps, 21)   qvel (steps, 20)   terminals (steps,)

with `terminals` 1 at the last step of each episode. Files of `stable-worldmodel`, which LeWM is trained on, have

    observation (steps, 28)    action (steps, 5)    qpos (steps, 21)   qvel (steps, 20)
    ep_len (episodes,)         ep_offset (episodes,)

and columns that are not read, among them pictures. An episode's last action may be missing there (NaN); it is taken as
zero, as nothing follows it. With the file that a paper used, its seeds name the same windows here.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from world4scorer.cube.episodes import Episodes
from world4scorer.cube.errors import CubeError
from world4scorer.cube.simulator.cube_env import ACTION
from world4scorer.jobs.array_files import open_archive

WIDTHS: Final = {"observations": 28, "actions": ACTION, "qpos": 21, "qvel": 20}
"""Numbers of a step in each array."""
HDF5_NAMES: Final = {"observations": "observation", "actions": "action", "qpos": "qpos", "qvel": "qvel"}


def read_dataset(path: Path) -> Episodes:
    """Episodes of a file; raises CubeError if it is no such file, or its episodes differ in length."""
    if not path.exists():
        raise CubeError(f"{path} is missing: give OGBench's cube-single .npz or an .h5 of LeWM's episodes")
    if path.suffix == ".npz":
        arrays, ends = _read_npz(path)
    elif path.suffix in (".h5", ".hdf5"):
        arrays, ends = _read_hdf5(path)
    else:
        raise CubeError(f"{path} is neither OGBench's .npz nor an .h5 of LeWM's episodes")
    return _episodes(path, arrays, ends)


def _read_npz(path: Path) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
    try:
        with open_archive(path) as archive:
            arrays = {name: archive[name] for name in WIDTHS}
            ends = np.flatnonzero(archive["terminals"]) + 1
    except KeyError as error:
        raise CubeError(
            f"{path} has no array {error}: OGBench's datasets of manipulation have {', '.join(WIDTHS)} and terminals"
        ) from error
    except (OSError, EOFError, ValueError, BadZipFile) as error:
        raise CubeError(f"{path} is damaged ({error}): download it again") from error
    return arrays, ends


def _read_hdf5(path: Path) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
    if find_spec("h5py") is None:
        raise CubeError(f"{path}: h5py is needed to read it: pip install 'world4scorer[cube]'")
    import h5py

    if find_spec("hdf5plugin") is not None:
        import hdf5plugin  # noqa: F401 (compression that some releases use)

    try:
        with h5py.File(path) as file:
            arrays = {ours: file[theirs][()] for ours, theirs in HDF5_NAMES.items()}
            lengths, offsets = file["ep_len"][()].astype(np.int64), file["ep_offset"][()].astype(np.int64)
    except KeyError as error:
        raise CubeError(
            f"{path} lacks a column ({error}): LeWM's episodes have {', '.join(HDF5_NAMES.values())}, ep_len and "
            "ep_offset"
        ) from error
    except OSError as error:
        raise CubeError(
            f"{path} is damaged ({error}): download it again; if it is a compression that is missing, pip install "
            "hdf5plugin"
        ) from error
    ends = offsets + lengths
    if len(offsets) and (offsets[0] != 0 or np.any(offsets[1:] != ends[:-1])):
        raise CubeError(f"{path}: its episodes do not follow each other without gaps")
    return arrays, ends


def _episodes(path: Path, arrays: dict[str, NDArray[Any]], ends: NDArray[np.int64]) -> Episodes:
    for name, width in WIDTHS.items():
        if arrays[name].shape != (len(arrays["actions"]), width):
            raise CubeError(
                f"{path}: {name} of shape {arrays[name].shape}, ({len(arrays['actions'])}, {width}) expected: is it a "
                "dataset of one cube with states?"
            )
    if not len(ends) or ends[-1] != len(arrays["actions"]):
        raise CubeError(f"{path}: its last episode does not end with its last step")
    lengths = np.diff(ends, prepend=0)
    if np.any(lengths != lengths[0]):
        raise CubeError(f"{path}: episodes of {lengths.min()} to {lengths.max()} steps; only equal lengths are read")
    shaped = {name: array.reshape(len(ends), int(lengths[0]), -1) for name, array in arrays.items()}
    actions = shaped["actions"].astype(np.float64)
    actions[:, -1] = np.nan_to_num(actions[:, -1], nan=0.0)
    shaped["actions"] = actions
    for name, array in shaped.items():
        if not np.isfinite(array).all():
            raise CubeError(f"{path}: {name} contains numbers that are not finite")
    return Episodes(
        qpos=shaped["qpos"].astype(np.float64),
        qvel=shaped["qvel"].astype(np.float64),
        observations=shaped["observations"].astype(np.float32),
        actions=actions,
    )
