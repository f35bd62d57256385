"""The script for bash: tables as `case` statements, no program run while completing."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from world4scorer.cli.completion.options import Completed, Option

HEAD: Final = """\
# Completion of w4s for bash. Made by `w4s completion bash`.

# What can follow the command in $1 ("" for none): commands, or flags.
_w4s_words() {
  case "$1" in
"""
MIDDLE: Final = """\
  esac
}

# What the values of flag $2 ("" for what is given by its place) of command $1 are:
# folder, path, text, none, or "choice" and the choices. A plus sign means that several may follow.
_w4s_values() {
  case "$1 $2" in
"""
TAIL: Final = """\
    *) echo text ;;
  esac
}

_w4s() {
  local word="${COMP_WORDS[COMP_CWORD]}" command="" flag="" values place at=1 IFS=$' \\t\\n'
  COMPREPLY=()
  if (( COMP_CWORD > 1 )); then
    command="${COMP_WORDS[1]}"
    at=2
    case "$command" in
      GROUPS)
        if (( COMP_CWORD > 2 )); then
          command="$command ${COMP_WORDS[2]}"
          at=3
        fi ;;
    esac
  fi
  # The flag that the word belongs to: the one before, or one farther back that takes several values.
  for (( place = COMP_CWORD - 1; place >= at; place-- )); do
    if [[ "${COMP_WORDS[place]}" == --* ]]; then
      values="$(_w4s_values "$command" "${COMP_WORDS[place]}")"
      if [[ "$values" != none && ( "$values" == *+ || $place -eq $((COMP_CWORD - 1)) ) ]]; then
        flag="${COMP_WORDS[place]}"
      fi
      break
    fi
  done
  values="$(_w4s_values "$command" "$flag")"
  values="${values%+}"
  if [[ "$word" == -* || "$values" == commands ]]; then
    values="choice $(_w4s_words "$command")"
  fi
  case "$values" in
    choice*) COMPREPLY=( $(compgen -W "${values#choice}" -- "$word") ) ;;
    folder) compopt -o filenames 2>/dev/null; IFS=$'\\n'; COMPREPLY=( $(compgen -d -- "$word") ) ;;
    path) compopt -o filenames 2>/dev/null; IFS=$'\\n'; COMPREPLY=( $(compgen -f -- "$word") ) ;;
    *) [[ -z "$flag" ]] && COMPREPLY=( $(compgen -W "$(_w4s_words "$command")" -- "$word") ) ;;
  esac
  return 0
}

complete -F _w4s w4s
"""


def bash_script(commands: Sequence[Completed]) -> str:
    """The script."""
    parents = [command.name for command in commands if command.has_subcommands]
    words = [_case("", _top(commands))]
    values = [_case(" ", "commands")]
    for command in commands:
        words.append(
            _case(command.name, _subcommands(command, commands) if command.has_subcommands else " ".join(command.flags))
        )
        if command.has_subcommands:
            values.append(_case(f"{command.name} ", "commands"))
            continue
        for option in (*command.options, command.given, Option("--help", "none")):
            if option.kind != "text" or option.many:
                values.append(_case(f"{command.name} {option.flag}", _values(option)))
    tail = TAIL.replace("GROUPS", "|".join(parents))
    return "".join([HEAD, *words, MIDDLE, *dict.fromkeys(values), tail])


def _top(commands: Sequence[Completed]) -> str:
    return " ".join([*(command.name for command in commands if " " not in command.name), "--help", "--version"])


def _subcommands(parent: Completed, commands: Sequence[Completed]) -> str:
    names = (command.name.partition(" ") for command in commands)
    return " ".join([*(second for first, _, second in names if first == parent.name and second), "--help"])


def _values(option: Option) -> str:
    return " ".join([option.kind, *option.choices]) + ("+" if option.many else "")


def _case(pattern: str, words: str) -> str:
    return f"    {shlex.quote(pattern)}) echo {shlex.quote(words)} ;;\n"
