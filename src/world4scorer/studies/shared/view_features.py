"""What a frozen encoder sees in the front views of a run's scenes, now or two seconds later.

Features are taken from where they lie already, if all scenes are there (the run's own targets, those beside them,
RUN/features), else made once and kept in RUN/features.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from world4scorer.datasets.store import SceneStore
from world4scorer.jobs.data_folder import split_name
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.pretrained.image_encoder import BUNDLED, Pooling, load_encoder
from world4scorer.planner.targets.future_targets import SUFFIX, FutureTargets, TargetFrame
from world4scorer.planner.targets.make_targets import make_targets
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.run import TrainData

DIGITS: Final = 8
"""Of the encoder's digest, in the name of a file."""

Part = Literal["train", "val"]


def target_encoder(config: TrainConfig, targets: Path) -> str | None:
    """A bundled one, or the run's own ViT weights, whichever has the digest that the targets name; None for others."""
    digest = FutureTargets.open(targets).notes.encoder
    own = config.vit_weights
    candidates = [*BUNDLED, *([own] if own and Path(own).exists() else [])]
    return next((str(one) for one in candidates if load_encoder(one).digest() == digest), None)


def own_encoder(config: TrainConfig, data: TrainData) -> tuple[str | None, Pooling]:
    """The encoder and the pooling of the run's targets; no encoder where there are none, or it is not known."""
    if data.targets is None or not data.targets.is_file():
        return None, "patches"
    return target_encoder(config, data.targets), FutureTargets.open(data.targets).notes.pooling


def view_features(
    run: Path, data: TrainData, encoder: str, pooling: Pooling, frame: TargetFrame, part: Part
) -> FutureTargets:
    """Features of one frame of each scene of the run's training or validation split."""
    split, store = (data.split, data.store) if part == "train" else (data.val_split, data.val_store)
    root = data.data if part == "train" else data.val_data or data.data
    digest = load_encoder(encoder).digest()
    features, name = RunFolder(run).features, split_name(split)
    plain = f"{name}-{frame}{SUFFIX}"
    kept = features / f"{name}-{part}-{frame}-{digest[:DIGITS]}{SUFFIX}"
    targets = () if data.targets is None else (data.targets, data.targets.parent / plain)
    tokens = SceneStore(store).tokens
    for path in (*(targets if part == "train" else ()), kept, features / plain):
        if path.is_file():
            found = FutureTargets.open(path)
            notes = found.notes
            if (notes.encoder, notes.frame, notes.pooling) == (digest, frame, pooling) and all(
                token in found for token in tokens
            ):
                return found
    make_targets(root, split, encoder, kept, frame=frame, pooling=pooling, store=store, show_progress=True)
    return FutureTargets.open(kept)
