"""Images for future targets of clips: the front view 2 s (20 frames) after each sample."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from world4scorer.datasets.navsim.cameras import FRONT
from world4scorer.driving.clips.clip import image_name
from world4scorer.driving.clips.prepared import PreparedClips, sample_token

FRAMES_AHEAD: Final = 20


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
        ahead = [int(frame) + FRAMES_AHEAD for frame in clip.moments]
        return [
            (
                sample_token(log_name, int(frame)),
                folder / image_name(FRONT, later) if later <= clip.last_image else None,
            )
            for frame, later in zip(clip.moments, ahead, strict=True)
        ]
