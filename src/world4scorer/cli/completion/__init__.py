"""Shell completion: static scripts, made from the same signatures as the command line."""

from typing import Literal

from world4scorer.cli.completion.bash import bash_script
from world4scorer.cli.completion.fish import fish_script
from world4scorer.cli.completion.options import all_commands
from world4scorer.cli.completion.zsh import zsh_script

SHELLS = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}


def script(shell: Literal["bash", "zsh", "fish"]) -> str:
    """The script that completes `w4s` in a shell."""
    return SHELLS[shell](all_commands())


__all__ = ["SHELLS", "script"]
