"""The verb that teaches shells the others: completion."""

from __future__ import annotations

from typing import Annotated, Literal

import tyro

Shell = Annotated[Literal["bash", "zsh", "fish"], tyro.conf.Positional]


def completion(shell: Shell, /) -> int:
    """Print a script that completes these commands in a shell.

    Example: w4s completion bash > ~/.local/share/bash-completion/completions/w4s

    Args:
        shell: For which shell.
    """
    from world4scorer.cli.completion import script

    print(script(shell), end="")
    return 0
