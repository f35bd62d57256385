"""Where a command's tasks run: this process, processes of this machine, or a Ray cluster. Imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from world4scorer.jobs.executors import Executor

ExecutorName = Literal["processes", "serial", "ray"]
"""As in `executors`, which takes longer to import than `w4s --help` should."""


@dataclass(frozen=True)
class ExecutorOptions:
    """Options of every command whose work is parallel over logs, routes or episodes; results have the same bytes."""

    executor: ExecutorName | None = None
    """Where the work runs. Processes unless given; targets, pools and evaluate: this process, or as many processes as
    there are workers."""
    workers: int | None = None
    """Processes, or tasks at once on the cluster; one for each core unless given."""
    ray_address: str | None = None
    """Address of a running Ray cluster whose nodes see the same folders; implies --executor ray."""

    def choose(self, default: ExecutorName = "processes", device: str = "cpu") -> Executor:
        """The executor; `default` where none of the options is given. Tasks on a cluster may only use CPUs."""
        from world4scorer.jobs.executors import choose_executor

        if device != "cpu" and (self.executor == "ray" or self.ray_address is not None):
            raise ValueError(f"--device {device}: tasks on a Ray cluster are given no GPU; use one or the other")
        name = self.executor or (default if self.workers is None else "processes")
        return choose_executor(name, workers=self.workers, ray_address=self.ray_address)

    @property
    def given(self) -> bool:
        """Whether any of them is."""
        return (self.executor, self.workers, self.ray_address) != (None, None, None)


DEFAULT_EXECUTOR_OPTIONS: Final = ExecutorOptions()
