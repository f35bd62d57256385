"""The script for zsh: the one for bash, in zsh's emulation of its completion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from world4scorer.cli.completion.bash import bash_script
from world4scorer.cli.completion.options import Completed

HEAD: Final = """\
# Completion of w4s for zsh. Made by `w4s completion zsh`.

autoload -Uz compinit bashcompinit
(( $+functions[compdef] )) || compinit
bashcompinit

"""


def zsh_script(commands: Sequence[Completed]) -> str:
    """The script."""
    return HEAD + bash_script(commands).partition("\n\n")[2]
