"""All attacks by name, in the order of the table."""

from __future__ import annotations

from typing import Final

from tests.faults import damage, engine_pairs, hostile, interruptions, readers, worker_kills
from tests.faults.attack import Attack

ATTACKS: Final = {
    attack.name: attack
    for attack in (
        Attack("kills", "kills at a step of writing, then resumed", interruptions.kills, 10_000),
        Attack("commands", "kills and failed steps of slow commands, then resumed", interruptions.commands, 300),
        Attack("workers", "kills of several processes (all, the first, one worker)", worker_kills.worker_kills, 100),
        Attack(
            "disk",
            "failed steps of writing (disk full, broken, read-only), then resumed",
            interruptions.disk_faults,
            2_000,
        ),
        Attack("clock", "kills, then resumed at another time", interruptions.clocks, 300),
        Attack("two", "pairs of processes on one folder", interruptions.two_processes, 200),
        Attack("damage", "damaged files read", damage.damaged_files, 100_000),
        Attack("hostile", "hostile files, names and paths read", hostile.hostile_files, 500),
        Attack("fuzz", "changed inputs from outside read", readers.fuzzed_inputs, 10_000_000),
        Attack("engine", "pairs of scene and plan judged", engine_pairs.engine_pairs, 1_000_000),
    )
}
