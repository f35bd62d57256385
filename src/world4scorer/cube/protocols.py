"""Protocols: which windows of a seed count.

- published: all that are drawn;
- moderate: those whose cube starts further from its goal than success allows;
- strict: those of them that doing nothing does not solve either, within the same budget.

The manifest freezes them: it lists the windows of every protocol with a digest, and later evaluations must agree with
it. It is written by the evaluation, from the player that does nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from world4scorer.cube.errors import CubeError
from world4scorer.cube.play import WindowResult
from world4scorer.jobs.files import read_json, write_json

MANIFEST: Final = "protocols.json"


class Protocol(StrEnum):
    """A set of windows."""

    PUBLISHED = "published"
    MODERATE = "moderate"
    STRICT = "strict"

    @property
    def rule(self) -> str:
        """In words."""
        return RULES[self]

    def has(self, played: WindowResult) -> bool:
        """Whether a window counts; none does by the strict protocol while it is unknown what doing nothing leads to."""
        if self is Protocol.PUBLISHED:
            return True
        return not played.solved_at_start and (self is Protocol.MODERATE or played.solved_by_nothing is False)


RULES: Final[Mapping[Protocol, str]] = {
    Protocol.PUBLISHED: "every window drawn",
    Protocol.MODERATE: "not solved at the start",
    Protocol.STRICT: "not solved at the start, nor by doing nothing",
}

_Places = list[list[int]]
_Seeds = dict[int, list[WindowResult]]


def freeze(folder: Path, idle: _Seeds) -> None:
    """Add seeds to the manifest of a folder, from what doing nothing led to; raises CubeError if it says otherwise."""
    known = read_manifest(folder)
    seeds = {seed: _by_protocol(replace(one, solved_by_nothing=one.success) for one in idle[seed]) for seed in idle}
    for seed, protocols in seeds.items():
        if known.setdefault(seed, protocols) != protocols:
            raise CubeError(
                f"{folder / MANIFEST} lists other windows of seed {seed}: the episodes or the simulator have changed; "
                "evaluate into a new folder"
            )
    ordered = dict(sorted(known.items()))
    digests = {str(protocol): digest(ordered, protocol) for protocol in Protocol}
    seeds_as_text = {
        seed: {name: " ".join(f"{episode}:{step}" for episode, step in places) for name, places in found.items()}
        for seed, found in ordered.items()
    }
    write_json(folder / MANIFEST, {"rules": RULES, "digests": digests, "seeds": seeds_as_text})


def read_manifest(folder: Path) -> dict[int, dict[str, _Places]]:
    """Episode and step of the windows of each protocol, by seed; empty if none was written."""
    path = folder / MANIFEST
    if not path.exists():
        return {}
    found = read_json(path, CubeError)
    try:
        seeds = {
            int(seed): {str(name): [_place(one) for one in named[name].split()] for name in Protocol}
            for seed, named in found["seeds"].items()
        }
        changed = [name for name in Protocol if found["digests"][name] != digest(seeds, name)]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CubeError(f"{path} is damaged ({error}): delete it, and run `w4s cube evaluate` again") from error
    if changed:
        raise CubeError(f"{path} was changed: its windows do not have the digest of {', '.join(changed)}")
    return seeds


def digest(seeds: Mapping[int, Mapping[str, _Places]], protocol: Protocol) -> str:
    """SHA-256 over the lines `seed episode step` of a protocol's windows."""
    lines = (f"{seed} {episode} {step}\n" for seed in sorted(seeds) for episode, step in seeds[seed][protocol])
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def described(folder: Path, seeds: Sequence[int]) -> dict[str, Any]:
    """Rule, number of windows and digest of each protocol for seeds that the manifest has."""
    chosen = {seed: found for seed, found in read_manifest(folder).items() if seed in seeds}
    return {
        str(protocol): {
            "rule": protocol.rule,
            "windows": sum(len(found[protocol]) for found in chosen.values()),
            "digest": digest(chosen, protocol),
        }
        for protocol in Protocol
    }


def annotate(folder: Path, seed: int, played: Sequence[WindowResult]) -> list[WindowResult]:
    """Results with what the manifest knows of their windows; unchanged if it has not the seed."""
    found = read_manifest(folder).get(seed)
    if found is None:
        return list(played)
    moderate, strict = ({(e, s) for e, s in found[name]} for name in (Protocol.MODERATE, Protocol.STRICT))
    places = [(one.episode, one.step) for one in played]
    if {(e, s) for e, s in found[Protocol.PUBLISHED]} != set(places) or moderate != {
        place for place, one in zip(places, played, strict=True) if not one.solved_at_start
    }:
        raise CubeError(f"{folder / MANIFEST} lists other windows of seed {seed} than were played there")
    return [
        replace(one, solved_by_nothing=one.solved_at_start or place not in strict)
        for place, one in zip(places, played, strict=True)
    ]


def _place(text: str) -> list[int]:
    """Episode and step."""
    episode, step = text.split(":")
    return [int(episode), int(step)]


def _by_protocol(played: Iterable[WindowResult]) -> dict[str, _Places]:
    windows = list(played)
    return {str(name): [[one.episode, one.step] for one in windows if name.has(one)] for name in Protocol}
