"""Breadth-first search along block links, with the quirks of the official planner.

Levels are counted, blocks may be visited again, and the predecessor of a block is kept per level, the last writer
winning. So chains come out the same where several are equally short.
"""

from __future__ import annotations

from collections.abc import Container

from world4scorer.datasets.navsim.city_map import CityMap


def find_chain(city: CityMap, start: int, goals: Container[int], deepest: int, forward: bool) -> tuple[int, ...] | None:
    """Blocks from `start` to the first goal found, in driving order, both included; None if none is found.

    `forward` follows outgoing links; otherwise incoming ones, and the chain ends at `start`.
    """
    before: dict[tuple[int, int], int] = {}
    level = [start]
    depth = 1
    while level and depth <= deepest:
        following: list[int] = []
        for block in level:
            if block in goals:
                chain = [block]
                while depth > 1:
                    chain.append(before[chain[-1], depth])
                    depth -= 1
                return tuple(reversed(chain)) if forward else tuple(chain)
            for neighbour in city.blocks[block].outgoing if forward else city.blocks[block].incoming:
                before[neighbour, depth + 1] = block
                following.append(neighbour)
        level = following
        depth += 1
    return None
