"""Groups of a two-stage split: two recorded frames 0.5 s apart, and pairs of follow-up scenes that begin 4 s later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from world4scorer.datasets.navsim.filters import Split

Frame = Literal["now", "previous"]
FRAMES: Final[tuple[Frame, Frame]] = ("now", "previous")


@dataclass(frozen=True)
class StageGroup:
    """One entry of a two-stage split's mapping."""

    now: str
    """Token of the recorded frame."""
    previous: str
    """Token of the recorded frame 0.5 s before."""
    follow_ups: tuple[tuple[str, str], ...]
    """Tokens of second-stage scenes: one that follows `now`, and one that follows `previous`."""

    def first(self, frame: Frame) -> str:
        """The recorded token of a frame."""
        return self.now if frame == "now" else self.previous

    def second(self, frame: Frame) -> list[str]:
        """The second-stage tokens that follow a frame."""
        return [pair[FRAMES.index(frame)] for pair in self.follow_ups]

    @property
    def pairs(self) -> Iterator[tuple[str, str]]:
        """Pairs of a frame and the one 0.5 s before, of both stages."""
        yield self.now, self.previous
        yield from self.follow_ups


def read_groups(split: Split) -> list[StageGroup]:
    """Return the groups of a split; a ValueError where it has none, or where a token occurs twice."""
    groups = [StageGroup(now, previous, pairs) for now, previous, pairs in split.two_stage]
    if not groups:
        raise ValueError(f"split {split.name!r}: no reactive_all_mapping; it has no second stage")
    alone = next((group.now for group in groups if not group.follow_ups), None)
    if alone is not None:
        raise ValueError(f"split {split.name!r}: the group of {alone!r} has no follow-up scene")
    counts = Counter(token for group in groups for pair in group.pairs for token in pair)
    token, count = counts.most_common(1)[0]
    if count > 1:
        raise ValueError(f"split {split.name!r}: token {token!r} occurs {count} times in its mapping; weights need one")
    return groups


def first_stage_tokens(groups: list[StageGroup]) -> list[str]:
    """Recorded tokens, in the order of the mapping."""
    return [token for group in groups for token in (group.now, group.previous)]


def second_stage_tokens(groups: list[StageGroup]) -> list[str]:
    """Second-stage tokens, in the order of the mapping."""
    return [token for group in groups for pair in group.follow_ups for token in pair]
