"""Future targets of prepared clips: those that are there, or new ones where they are missing or of other moments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from world4scorer.driving.bench2drive.clip_images import ClipImages
from world4scorer.driving.clips.errors import ClipError
from world4scorer.driving.clips.prepared import PreparedClips, sample_token
from world4scorer.planner.targets.future_targets import FutureTargets
from world4scorer.planner.targets.make_targets import make_image_targets, target_notes

TARGET_SPLIT: Final = "clips"
"""What targets say that they are of."""


def ensure_targets(clips: PreparedClips, file: Path, encoder: str, refusal: str, say: Callable[[str], None]) -> None:
    """Make sure that a file has targets of all moments of the clips; make it if not.

    Args:
        clips: All of a folder.
        file: Of the targets.
        encoder: To make targets with; empty if nobody said, then those of any encoder will do.
        refusal: Why nothing may be made, and what to do instead; empty if it may.
        say: Is told of what is being made.
    """
    reason = missing_targets(clips, file, encoder)
    if not reason:
        return
    if refusal:
        raise ClipError(f"{file}: {reason}; {refusal}")
    if not encoder:
        raise ClipError(f"{file}: {reason}; give --target-encoder to make them with")
    say(f"future targets: making {file} ({reason})")
    make_image_targets(ClipImages(clips), target_notes(TARGET_SPLIT, encoder), encoder, file, show_progress=True)


def missing_targets(clips: PreparedClips, file: Path, encoder: str = "") -> str:
    """What a file of targets lacks for these clips, in words; targets of another encoder are an error."""
    if not file.is_file():
        return "no such file"
    targets = FutureTargets.open(file)
    made_with = targets.notes.encoder  # released caches do not tell
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
