"""How far are our numbers from the official ones? Largest differences over the golden scenes.

    python benchmarks/exactness.py [--golden ../shared/golden/outcomes/scenes] [--out results/exactness]

Writes results/exactness.json and results/exactness.md. The tests assert bounds; this shows the values.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np

from world4scorer.engine.scene import State, read_exchange
from world4scorer.evaluation.scores.exchange_files import score_frames

ROOT = Path(__file__).resolve().parents[1]
V1_DISCRETE, V2_DISCRETE = [0, 1, 3, 4, 5], [0, 1, 2, 3, 5, 6, 7, 8]
LOG_CHOICES = ("ec_shift", "ec_const", "rerank_sel", "rerank_ec")


def compare(path: Path, worst: dict[str, float]) -> tuple[int, int]:
    """Fold the differences of one golden file into `worst`; return its frames and plans."""
    with np.load(path, allow_pickle=False) as archive:
        golden = {name: archive[name] for name in archive.files}
    frames = read_exchange(path)
    ours = score_frames(frames, "all")

    def note(what: str, difference: np.ndarray) -> None:
        worst[what] = max(worst[what], float(np.nanmax(np.abs(difference), initial=0.0)))

    every = ours["sim_states"].shape[1] // golden["sim_states"].shape[1]
    states = ours["sim_states"][:, ::every] - golden["sim_states"]
    states[..., State.HEADING] = np.angle(np.exp(1j * states[..., State.HEADING]))
    note("rollouts: x, y [m]", states[..., [State.X, State.Y]])
    note("rollouts: all other columns", states[..., State.HEADING :])
    note("v1.1: NC, DAC, TTC, C, DDC", (ours["v1_train"] - golden["v1_train"])[..., V1_DISCRETE])
    note("v1.1: EP, PDMS", (ours["v1_eval"] - golden["v1_eval"])[..., [2, 6]])
    note(
        "v2.2: NC, DAC, DDC, TLC, TTC, LK, HC, product", (ours["v2_filtered"] - golden["v2_filtered"])[..., V2_DISCRETE]
    )
    note("v2.2: EP", (ours["v2_raw"] - golden["v2_raw"])[..., 4])
    note("v2.2: EPDMS", ours["v2_epdms_noec_filtered"] - golden["v2_epdms_noec_filtered"])
    if len(frames) > 1:
        for name in LOG_CHOICES:
            note("pairs, EC, re-ranked choices", ours[name].astype(float) - golden[name])
        note("v2.2: EPDMS with EC", ours["epdms_const_filtered"] - golden["epdms_const_filtered"])
    return len(frames), sum(len(frame.plans) for frame in frames)


def main() -> None:
    """Compare every file and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golden", type=Path, default=ROOT.parent / "shared" / "golden" / "outcomes" / "scenes")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "exactness")
    options = parser.parse_args()
    folder = options.golden if options.golden.is_dir() else ROOT / "tests" / "golden" / "outcomes"
    worst: dict[str, float] = defaultdict(float)
    counts = np.array([compare(path, worst) for path in sorted(folder.glob("*.npz"))])
    frames, plans = counts.sum(axis=0).tolist()
    result = {"files": len(counts), "frames": frames, "plans": plans, "largest_difference": dict(worst)}
    lines = [
        "# Exactness",
        "",
        f"`python benchmarks/exactness.py`: {len(counts)} golden files, {frames} frames, {plans:,} plans.",
        "",
        "| quantity | largest difference |",
        "|---|---|",
        *(f"| {name} | {'none' if value == 0 else f'{value:.1e}'} |" for name, value in worst.items()),
    ]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
    options.out.with_suffix(".md").write_text("\n".join(lines) + "\n")
    print(options.out.with_suffix(".md").read_text())


if __name__ == "__main__":
    main()
