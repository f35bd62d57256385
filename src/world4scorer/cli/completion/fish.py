"""The script for fish: one `complete` line for each command and flag."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from world4scorer.cli.completion.options import Completed, Option

HEAD: Final = """\
# Completion of w4s for fish. Made by `w4s completion fish`.

# Whether exactly these words were given so far.
function __w4s_at
    set -l words (commandline -opc)[2..-1]
    test "$words" = "$argv[1]"
end

# Whether the words so far begin with these.
function __w4s_after
    set -l words (commandline -opc)[2..-1]
    set -l wanted (string split ' ' -- $argv[1])
    set -l count (count $wanted)
    test (count $words) -ge $count; and test "$words[1..$count]" = "$wanted"
end

complete -c w4s -f
complete -c w4s -n '__w4s_at ""' -l help -d 'All commands'
complete -c w4s -n '__w4s_at ""' -l version -d 'The version'
"""


def fish_script(commands: Sequence[Completed]) -> str:
    """The script."""
    lines = [HEAD]
    for command in commands:
        before, _, name = command.name.rpartition(" ")
        at = f'__w4s_at "{before}"'
        lines.append(f"complete -c w4s -n {_quoted(at)} -a {name} -d {_quoted(command.summary)}\n")
    for command in commands:
        if command.has_subcommands:
            continue
        condition = f'__w4s_after "{command.name}"'
        after = f"complete -c w4s -n {_quoted(condition)}"
        if command.given.kind != "text":
            lines.append(f"{after}{_values(command.given)}\n")
        lines += [f"{after} -l {option.flag[2:]}{_values(option)}\n" for option in command.options if option.flag]
        lines.append(f"{after} -l help\n")
    return "".join(lines)


def _values(option: Option) -> str:
    """What follows a flag, in the words of `complete`."""
    if option.kind == "none":
        return ""
    required = " -r" if option.flag else ""
    if option.kind == "choice":
        return f"{required} -f -a {_quoted(' '.join(option.choices))}"
    if option.kind == "folder":
        return f"{required} -f -a '(__fish_complete_directories)'"
    return f"{required} -F" if option.kind == "path" else required


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
