"""The `w4s` program: dispatches to a command and turns errors into exit codes. `command_table` lists the commands.

w4s --help
w4s city make --preset quick --out city
w4s train --preset city --data city --out run
w4s evaluate run
"""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from types import FrameType
from typing import Any, Final, TextIO

from world4scorer.cli.command_table import COMMANDS, Command
from world4scorer.cli.exit_codes import INPUT_ERROR, INTERRUPTED, PIPE_CLOSED, TERMINATED, USAGE_ERROR, UsageError
from world4scorer.jobs.extras import MissingExtra, how_to_install

HELP: Final = ("-h", "--help", "help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code, see `exit_codes`."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    with _ended_by_sigterm(), _logged_to_stderr():
        try:
            code = _run(words)
            sys.stdout.flush()
            return code
        except BrokenPipeError as error:
            if _write_nowhere():
                return PIPE_CLOSED
            return _fail(
                f"{_os_error_message(error)}: a process that was started has ended; run this again", INPUT_ERROR
            )
        except UsageError as error:
            return _fail(f"{error}", USAGE_ERROR)
        except OSError as error:
            return _fail(_os_error_message(error), INPUT_ERROR)
        except ValueError as error:  # what a user can cause; anything else is ours and keeps its traceback
            return _fail(f"{error}", INPUT_ERROR)
        except MissingExtra as error:
            return _fail(f"{error}", INPUT_ERROR)
        except ImportError as error:
            if (remedy := how_to_install(error, f"w4s {words[0]}")) is None:
                raise
            return _fail(remedy, INPUT_ERROR)
        except KeyboardInterrupt:
            return _fail("interrupted; finished work is kept", INTERRUPTED)
        except _Terminated:
            return _fail("terminated; finished work is kept", TERMINATED)
        except SystemExit as ended:  # tyro has printed the error, or help
            return ended.code if isinstance(ended.code, int) else USAGE_ERROR


def _run(words: Sequence[str]) -> int:
    if not words or (words[0] in HELP and len(words) == 1):
        from world4scorer.cli.overview import overview

        print(overview(), end="")
        return 0
    if words[0] in ("-V", "--version"):
        from world4scorer import __version__

        print(f"w4s {__version__}")
        return 0
    if words[0] in HELP:
        words = [*words[1:], "--help"]
    command = _named({command.name: command for command in COMMANDS}, words[0], "w4s")
    return _run_subcommand(command, words[1:]) if command.has_subcommands else _run_command(command, words[1:])


def _run_subcommand(command: Command, words: Sequence[str]) -> int:
    if not words or words[0] in HELP:
        from world4scorer.cli.overview import subcommand_overview

        print(subcommand_overview(command), end="")
        return 0
    function = _named(command.subcommands(), words[0], f"w4s {command.name}")
    return _call(function, words[1:], f"w4s {command.name} {words[0]}")


def _run_command(command: Command, words: Sequence[str]) -> int:
    function = command.function()
    return function(words) if command.reads_words else _call(function, words, f"w4s {command.name}")


def _call(function: Callable[..., int], words: Sequence[str], prog: str) -> int:
    import tyro

    from world4scorer.cli.overview import description

    config = (tyro.conf.DisallowNone, tyro.conf.FlagCreatePairsOff)
    return tyro.cli(function, prog=prog, description=description(function), args=list(words), config=config)


def _named(known: Mapping[str, Any], name: str, prog: str) -> Any:
    if name in known:
        return known[name]
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean `{prog} {near[0]}`?" if near else f"`{prog} --help` lists all."
    raise UsageError(f"`{prog} {name}`: no such command; {hint}")


def _os_error_message(error: OSError) -> str:
    """File first, as in our own messages; for a rename, the new name."""
    name = error.filename2 or error.filename
    return f"{error}" if name is None else f"{os.fsdecode(name)}: {error.strerror}"


def _fail(text: str, code: int) -> int:
    print("w4s:", " ".join(text.splitlines()), file=sys.stderr)
    return code


def _write_nowhere() -> bool:
    """Whether nobody reads our output any more; then what Python still writes at its end goes unnoticed."""
    closed = [stream for stream in (sys.stdout, sys.stderr) if _is_closed(stream)]
    for stream in closed:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    return bool(closed)


def _is_closed(stream: TextIO) -> bool:
    """Whether a stream is a pipe without a reader. Asking writes nothing: a buffer may be empty after it failed."""
    try:
        number = stream.fileno()
    except (OSError, ValueError):  # not a file, as in notebooks
        return False
    if not hasattr(select, "poll"):  # Windows: taken to be so, which is what a broken pipe mostly means
        return stream is sys.stdout
    asked = select.poll()
    asked.register(number, select.POLLOUT)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in asked.poll(0))


class _StderrHandler(logging.Handler):
    """Writes messages to standard error as it is at that moment: a progress bar replaces it while it is shown."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr)


@contextmanager
def _logged_to_stderr() -> Iterator[None]:
    """Within it, messages of the library appear on standard error."""
    logger, handler = logging.getLogger("world4scorer"), _StderrHandler()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class _Terminated(BaseException):
    """SIGTERM, so that files under way are tidied up on the way out."""


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Within it, SIGTERM ends the processes that were started, then this one in good order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    process = os.getpid()

    def terminate(number: int, frame: FrameType | None) -> None:
        import multiprocessing

        if os.getpid() != process:  # a fork that has inherited this
            os._exit(TERMINATED)
        for child in multiprocessing.active_children():  # one that works on would be waited for
            child.terminate()
        raise _Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    sys.exit(main())
