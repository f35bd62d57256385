"""All attacks by name, in the order of the table."""

from __future__ import annotations

from typing import Final

from tests.faults import damage, engine_pairs, hostile, interruptions, readers, worker_kills
from tests.faults.attack import Attack

ATTACKS: Final = {
    attack.name: attack
    for attack in (
        Attack("kills", "kills at a step of writing, then resumed", interruptions.kills),
        Attack("workers", "kills of several processes (all, the first, one worker)", worker_kills.worker_kills),
        Attack(
            "disk", "failed steps of writing (disk full, broken, read-only), then resumed", interruptions.disk_faults
        ),
        Attack("clock", "kills, then resumed at another time", interruptions.clocks),
        Attack("two", "pairs of processes on one folder", interruptions.two_processes),
        Attack("damage", "damaged files read", damage.damaged_files),
        Attack("hostile", "hostile files, names and paths read", hostile.hostile_files),
        Attack("fuzz", "changed inputs from outside read", readers.fuzzed_inputs),
        Attack("engine", "pairs of scene and plan judged", engine_pairs.engine_pairs),
    )
}
