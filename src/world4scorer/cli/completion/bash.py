"""The script for bash: tables as `case` statements, no program run while completing."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from world4scorer.cli.completion.options import Completed, Option

HEAD: Final = """\
# Completion of w4s for bash. Made by `w4s completion bash`.

# What can follow the verb in $1 ("" for none): verbs, or flags.
_w4s_words() {
  case "$1" in
"""
MIDDLE: Final = """\
  esac
}

# What the values of flag $2 ("" for what is given by its place) of verb $1 are:
# folder, path, text, none, or "choice" and the choices. A plus sign means that several may follow.
_w4s_values() {
  case "$1 $2" in
"""
TAIL: Final = """\
    *) echo text ;;
  esac
}

_w4s() {
  local word="${COMP_WORDS[COMP_CWORD]}" verb="" flag="" values place at=1 IFS=$' \\t\\n'
  COMPREPLY=()
  if (( COMP_CWORD > 1 )); then
    verb="${COMP_WORDS[1]}"
    at=2
    case "$verb" in
      FAMILIES)
        if (( COMP_CWORD > 2 )); then
          verb="$verb ${COMP_WORDS[2]}"
          at=3
        fi ;;
    esac
  fi
  # The flag that the word belongs to: the one before, or one farther back that takes several values.
  for (( place = COMP_CWORD - 1; place >= at; place-- )); do
    if [[ "${COMP_WORDS[place]}" == --* ]]; then
      values="$(_w4s_values "$verb" "${COMP_WORDS[place]}")"
      if [[ "$values" != none && ( "$values" == *+ || $place -eq $((COMP_CWORD - 1)) ) ]]; then
        flag="${COMP_WORDS[place]}"
      fi
      break
    fi
  done
  values="$(_w4s_values "$verb" "$flag")"
  values="${values%+}"
  if [[ "$word" == -* || "$values" == verbs ]]; then
    values="choice $(_w4s_words "$verb")"
  fi
  case "$values" in
    choice*) COMPREPLY=( $(compgen -W "${values#choice}" -- "$word") ) ;;
    folder) compopt -o filenames 2>/dev/null; IFS=$'\\n'; COMPREPLY=( $(compgen -d -- "$word") ) ;;
    path) compopt -o filenames 2>/dev/null; IFS=$'\\n'; COMPREPLY=( $(compgen -f -- "$word") ) ;;
    *) [[ -z "$flag" ]] && COMPREPLY=( $(compgen -W "$(_w4s_words "$verb")" -- "$word") ) ;;
  esac
  return 0
}

complete -F _w4s w4s
"""


def bash_script(verbs: Sequence[Completed]) -> str:
    """The script."""
    families = [verb.name for verb in verbs if verb.is_family]
    words = [_case("", _top(verbs))]
    values = [_case(" ", "verbs")]
    for verb in verbs:
        words.append(_case(verb.name, _members(verb, verbs) if verb.is_family else " ".join(verb.flags)))
        if verb.is_family:
            values.append(_case(f"{verb.name} ", "verbs"))
            continue
        for option in (*verb.options, verb.given, Option("--help", "none")):
            if option.kind != "text" or option.many:
                values.append(_case(f"{verb.name} {option.flag}", _told(option)))
    tail = TAIL.replace("FAMILIES", "|".join(families))
    return "".join([HEAD, *words, MIDDLE, *dict.fromkeys(values), tail])


def _top(verbs: Sequence[Completed]) -> str:
    return " ".join([*(verb.name for verb in verbs if " " not in verb.name), "--help", "--version"])


def _members(family: Completed, verbs: Sequence[Completed]) -> str:
    names = (verb.name.partition(" ") for verb in verbs)
    return " ".join([*(second for first, _, second in names if first == family.name and second), "--help"])


def _told(option: Option) -> str:
    return " ".join([option.kind, *option.choices]) + ("+" if option.many else "")


def _case(pattern: str, words: str) -> str:
    return f"    {shlex.quote(pattern)}) echo {shlex.quote(words)} ;;\n"
