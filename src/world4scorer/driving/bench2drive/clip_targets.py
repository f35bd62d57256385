"""Future targets of prepared clips, made if missing or outdated, from the front view 2 s after each sample."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from world4scorer.datasets.navsim.cameras import FRONT
from world4scorer.driving.clips.clip import image_name
from world4scorer.driving.clips.errors import ClipError
from world4scorer.driving.clips.prepared import PreparedClips, sample_token
from world4scorer.planner.targets.future_targets import FutureTargets
from world4scorer.planner.targets.make_targets import make_image_targets, target_notes
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.run import is_global_zero

logger = logging.getLogger(__name__)

TARGETS: Final = "targets.arrow"
"""Default file of the targets, in the folder of prepared clips."""
TARGET_SPLIT: Final = "clips"
"""Split name in files of clip targets."""
FRAMES_AHEAD: Final = 20
"""Frames from a sample to its target: 2 s."""


@dataclass(frozen=True)
class ClipImages:
    """Images of prepared clips; each clip is a log."""

    clips: PreparedClips

    def log_names(self) -> list[str]:
        """All clips."""
        return list(self.clips.clips)

    def images(self, log_name: str) -> list[tuple[str, Path | None]]:
        """Samples of a clip and their images; None where the clip ends before."""
        clip, folder = self.clips[log_name], self.clips.images / self.clips.clips[log_name]
        found: list[tuple[str, Path | None]] = []
        for frame in clip.moments.tolist():
            there = frame + FRAMES_AHEAD <= clip.last_image
            path = folder / image_name(FRONT, frame + FRAMES_AHEAD) if there else None
            found.append((sample_token(log_name, frame), path))
        return found


def prepare_targets(
    clips: PreparedClips,
    config: TrainConfig,
    file: Path | None,
    encoder: str | None,
    default_encoder: str,
    nodes: int = 1,
    only_targets: bool = False,
) -> Path | None:
    """Future targets of a run on clips, made where they are missing; None if their loss has no weight.

    Args:
        clips: Prepared clips.
        config: Configuration of the run.
        file: File of the targets; PREPARED/targets.arrow if None. A file that is named is never written over.
        encoder: Encoder of missing targets; that of the configuration if None.
        default_encoder: Encoder if neither names one.
        nodes: Machines that train together; they cannot make targets.
        only_targets: Whether nothing is trained, so that one of several machines can make them.
    """
    if not config.loss_weights.future:
        return None
    path = file or clips.folder / TARGETS
    first = is_global_zero()  # of all machines; here, Lightning starts the other processes when this one is ready
    if first or not (path.is_file() or only_targets):
        chosen, refusal = encoder or config.vit_weights or default_encoder, ""
        if not first or (nodes > 1 and not only_targets):
            refusal = "processes that start together cannot make them: do it first, on one machine, with --only-targets"
        elif file is not None and path.is_file():
            chosen = encoder or ""  # who names a file knows what made it
            refusal = "give another file, or delete this one to have it made again"
        ensure_targets(clips, path, chosen, refusal)
    return path


def ensure_targets(clips: PreparedClips, file: Path, encoder: str, refusal: str) -> None:
    """Make a file of targets unless it has targets of all samples.

    An empty `encoder` accepts targets of any; `refusal` says why targets must not be made, with the remedy.
    """
    reason = missing_targets(clips, file, encoder)
    if not reason:
        return
    if refusal:
        raise ClipError(f"{file}: {reason}; {refusal}")
    if not encoder:
        raise ClipError(f"{file}: {reason}; give --target-encoder to make them with")
    logger.info("future targets: making %s (%s)", file, reason)
    make_image_targets(ClipImages(clips), target_notes(TARGET_SPLIT, encoder), encoder, file, show_progress=True)


def missing_targets(clips: PreparedClips, file: Path, encoder: str = "") -> str:
    """Why a file of targets does not cover these clips, or ""; raises for targets of another encoder."""
    if not file.is_file():
        return "no such file"
    targets = FutureTargets.open(file)
    made_with = targets.notes.encoder  # empty for released caches
    asked = target_notes(TARGET_SPLIT, encoder).encoder if encoder and made_with else made_with
    if made_with != asked:
        raise ClipError(
            f"{file}: targets of another encoder than {encoder} (digest {made_with[:12]}, not {asked[:12]}); name "
            "theirs as --target-encoder, give another file as --targets, or delete this one"
        )
    tokens = (sample_token(name, int(frame)) for name in clips.clips for frame in clips[name].moments)
    missing = [token for token in tokens if token not in targets]
    if not missing:
        return ""
    return f"no targets of {len(missing):,} moments, {missing[0]} for one: the clips were prepared again since"
