"""Make the compact golden files of this folder, and the doctor's reference, from the full golden set.

    python tests/golden/compact.py ../shared/golden/outcomes/scenes

Every kind of scene is kept once, and two logs. All inputs and tables are kept; of the bulky rollouts every eighth plan.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

KEPT = [
    "pub_s03_straight",
    "pub_s10_curve",
    "pub_s14_scurve",
    "pub_s23_cross",
    "pub_s28_tee",
    "pub_s31_skew",
    "pub_s32_roundabout",
    "pub_s34_lot",
    "pub_s37_hairpin",
    "pub_s38_wiggle",
    "pub_log3_scurve",
    "pub_log4_cross",
]
DROPPED = ("traj_states_head", "vel_profile_head", "curv_profile_head", "ec_margin")
EVERY = 8

HERE = Path(__file__).parent
DOCTOR = HERE.parents[1] / "src" / "world4scorer" / "cli" / "doctor_reference.npz"
DOCTOR_LOG, DOCTOR_FRAMES, DOCTOR_PLANS = "pub_log4_cross", 2, (0, 12, 40, 47, 58)
PER_FRAME = [
    "frame_k",
    "time_us",
    "ego_state",
    "past_states",
    "past_time_us",
    "human_future",
    "pdm_poses",
    "candidates",
    "utilities",
    "prev_plan_index",
    "sim_states",
    "v1_train",
    "v1_eval",
    "v2_raw",
    "v2_filtered",
    "epdms_const_filtered",
]
PER_PLAN = [
    "candidates",
    "utilities",
    "sim_states",
    "v1_train",
    "v1_eval",
    "v2_raw",
    "v2_filtered",
    "epdms_const_filtered",
]


def main(source: Path) -> None:
    """Write the compact files."""
    for stem in KEPT:
        with np.load(source / f"{stem}.npz", allow_pickle=False) as archive:
            fields = {name: archive[name] for name in archive.files if name not in DROPPED}
        fields["sim_states"] = fields["sim_states"][:, ::EVERY]
        np.savez_compressed(HERE / "outcomes" / f"{stem}.npz", **fields)
    with np.load(source / f"{DOCTOR_LOG}.npz", allow_pickle=False) as archive:
        fields = {name: archive[name] for name in archive.files}
    doctor = {name: fields[name][:DOCTOR_FRAMES] for name in PER_FRAME}
    doctor |= {name: doctor[name][:, DOCTOR_PLANS] for name in PER_PLAN}
    doctor["prev_plan_index"] = np.zeros(DOCTOR_FRAMES, np.int32)
    shared = (
        "origin centerline_local poly_xy_local ring_offsets ring_poly agents_local agent_valid agent_type tl_status"
    )
    doctor |= {name: fields[name] for name in shared.split()}
    meta = json.loads(str(fields["meta_json"]))
    meta |= {"tokens": meta["tokens"][:DOCTOR_FRAMES]}
    np.savez_compressed(DOCTOR, meta_json=np.array(json.dumps(meta)), **doctor)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
