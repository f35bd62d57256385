"""Make the compact NAVSIM golden files of this folder from the full golden set.

    python tests/golden/compact_navsim.py ../shared/golden/navsim

Logs and maps are kept whole; images of one frame; of the expected values all scores and everything short, and the
bulky ones (tracks, proposals) of every ninth token.
"""

from __future__ import annotations

import json
import lzma
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from world4scorer.datasets.navsim.pickles import load_restricted

HERE = Path(__file__).parent / "navsim"
EVERY = 9
SHORT = [
    "ego_state",
    "ego_time_us",
    "route_lane_ids",
    "route_roadblock_ids_corrected",
    "starting_lane_id",
    "drivable_ids",
    "drivable_layers",
    "red_light_step",
    "red_light_token",
    "planner_collided_track_ids",
    "planner_occupancy_tokens_t0",
    "planner_target_velocities",
    "planner_proposal_scores",
    "planner_best",
    "planner_multi_metrics",
    "planner_weighted_metrics",
    "human_trajectory",
    "past_human_states",
    "past_human_time_us",
    "history_comfort_time_us",
]
BULKY = [
    "centerline_xyh",
    "centerline_progress",
    "planner_idm_progress_velocity",
    "planner_leading_agent",
    "planner_proposal_xyh",
    "pdm_states_10hz",
    "track_tokens",
    "track_type",
    "track_step",
    "track_index",
    "track_box",
    "history_comfort_states",
]
INPUTS = [
    "ego_pose",
    "ego_velocity",
    "ego_acceleration",
    "driving_command",
    "future_trajectory_10",
    "history_trajectory",
]
CAMERAS = [
    "cam_names",
    "cam_pixel_sha1",
    "cam_intrinsics",
    "cam_sensor2lidar_rotation",
    "cam_sensor2lidar_translation",
    "cam_distortion",
]


def main(source: Path) -> None:
    """Write the compact files."""
    shutil.rmtree(HERE, ignore_errors=True)
    dataset, golden = source / "dataset", source / "golden"
    for path in sorted(dataset.rglob("*")):
        name = path.relative_to(dataset)
        if path.suffix in (".pkl", ".gpkg"):
            put(Path("dataset") / name.with_name(name.name + ".xz"), lzma.compress(path.read_bytes(), preset=9))
        elif path.suffix in (".yaml", ".json") and path.name != "names.json":
            put(Path("dataset") / name, path.read_bytes())
    tokens = [row["token"] for row in json.loads((golden / "tokens.json").read_text())]
    short: dict[str, Any] = {}
    bulky: dict[str, np.ndarray] = {}
    for version in ("v1", "v2"):
        for index, token in enumerate(tokens):
            with np.load(golden / f"cache_{version}" / f"{token}.npz") as archive:
                fields = {name: archive[name] for name in archive.files}
            short[f"{version}/{token}"] = {name: fields[name].tolist() for name in SHORT if name in fields}
            if index % EVERY == 0:
                bulky |= {f"{version}/{token}/{name}": fields[name] for name in BULKY if name in fields}
        plans = [
            np.load(golden / f"cache_{version}" / f"{token}.npz")["pdm_trajectory_states"][:, :3] for token in tokens
        ]
        bulky[f"{version}/reference"] = np.stack(plans)
    for token in tokens[::EVERY]:
        with np.load(golden / "inputs" / f"{token}.npz") as archive:
            bulky |= {f"inputs/{token}/{name}": archive[name] for name in INPUTS}
    for name in CAMERAS:
        bulky[f"cameras/{name}"] = np.load(golden / "inputs" / f"{tokens[0]}.npz")[name]
    bulky |= {f"trajectories/{name}": value for name, value in np.load(golden / "trajectories.npz").items()}
    bulky |= {f"map/{name}": value for name, value in np.load(golden / "map_objects.npz").items()}
    rows = {
        "tokens": tokens,
        "short": short,
        "scores_v1": [lean(row, ("token", "agent", "v1", "progress_raw")) for row in read(golden / "scores_v1.json")],
        "scores_v2": [
            lean(row, ("token", "agent", "unfiltered", "filtered", "previous_token", "progress_raw"))
            for row in read(golden / "scores_v2.json")
        ],
        "progress_v1": read(golden / "pdm_progress_v1.json"),
        "progress_v2": read(golden / "pdm_progress_v2.json"),
    }
    put(Path("expected.json.xz"), lzma.compress(json.dumps(rows).encode(), preset=9))
    np.savez_compressed(HERE / "expected.npz", **bulky)
    copy_images(dataset, tokens[0])


def copy_images(dataset: Path, token: str) -> None:
    """Keep the images of the frame that is now at `token`."""

    for path in sorted((dataset / "navsim_logs").rglob("*.pkl")):
        for frame in load_restricted(path):
            if frame["token"] == token:
                for camera in frame["cams"].values():
                    name = Path("sensor_blobs") / path.parent.name / camera["data_path"]
                    put(Path("dataset") / name, (dataset / name).read_bytes())


def lean(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: row[name] for name in names}


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def put(name: Path, data: bytes) -> None:
    (HERE / name).parent.mkdir(parents=True, exist_ok=True)
    (HERE / name).write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
