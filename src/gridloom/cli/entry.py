"""From arguments to an exit status: every way in which a command can end is handled here.

The statuses are 0 for done, 1 when the command worked but the answer is no (no mapping, an illegal mapping, a worse
result), 2 for a mistake in the input, 70 for a mistake of ours, 130 for Ctrl-C. Results go to standard output,
everything else to standard error, so that output can be piped.

``GRIDLOOM_PLUGINS=off`` and ``--no-plugins`` switch plug-ins off for one command.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import typer

from gridloom import plugins
from gridloom.errors import GridloomError, OptionError

DONE: Final = 0
NOT_FOUND: Final = 1
BAD_INPUT: Final = 2
INTERNAL: Final = 70
INTERRUPTED: Final = 130

# Typer carries a copy of click since 0.25 and imported it before; the base class of its errors is the same either way.
_UsageError: type[Any] = typer.BadParameter.__mro__[1]


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; a user's mistake is one line on standard error, never a traceback.

    ``arguments`` are those of the process unless they are given; none at all means ``--help``. Never raises and never
    ends the process, so that tests call it like any function.
    """
    from gridloom.cli.app import app
    from gridloom.cli.completion import join_bash_words

    join_bash_words(os.environ)
    for stream in (sys.stdout, sys.stderr):
        # Names in a file may hold what the terminal's encoding does not have.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    command = typer.main.get_command(app)
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        # A bare command is a question, not a mistake.
        with use_plugins(os.environ):
            status = command.main(given or ["--help"], prog_name="gridloom", standalone_mode=False)
        # A pipe that is closed shows when the buffer is written: here, where it is handled.
        sys.stdout.flush()
    except _UsageError as error:
        return _complain(_usage_message(error))
    except GridloomError as error:
        # Where a plug-in raised it, its author wants to see where.
        if os.environ.get("GRIDLOOM_DEBUG") and error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        return _complain(str(error))
    except (typer.Abort, KeyboardInterrupt) as stop:
        # An interrupt with words of its own has said them at once.
        if stop.__cause__ is None or not stop.__cause__.args:
            print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The program that reads the output has closed it (gridloom list kernels | head).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except SystemExit as stop:
        # Typer's own way out when the pipe breaks while it writes.
        return stop.code if isinstance(stop.code, int) else NOT_FOUND
    except Exception as error:
        return _internal(error)
    return status if isinstance(status, int) else DONE


def _usage_message(error: Any) -> str:
    """What is wrong with the words of a command line, and which help to read."""
    message: str = error.format_message()
    context = getattr(error, "ctx", None)
    if context is None:
        return message.rstrip(".")
    help_words = f"{context.command_path} --help"
    return f"{message} See {help_words}" if message.endswith("?") else f"{message.rstrip('.')}; see {help_words}"


def _complain(message: str) -> int:
    """Print a mistake of the user's as one line; returns the status for it."""
    print(f"error: {one_line(message)}", file=sys.stderr)
    return BAD_INPUT


def one_line(text: str) -> str:
    r"""Text of a file or an option as it can be printed: line ends and control characters are escaped.

    >>> one_line("two\nlines")
    'two\\nlines'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _internal(error: Exception) -> int:
    """Print what an unexpected exception means for the user; its traceback only where ``GRIDLOOM_DEBUG`` is set."""
    if os.environ.get("GRIDLOOM_DEBUG"):
        traceback.print_exception(error)
    print(
        f"internal error: {type(error).__name__}: {error}\n"
        "this is a mistake in gridloom, not yours; GRIDLOOM_DEBUG=1 shows where it happened, please report it",
        file=sys.stderr,
    )
    return INTERNAL


VARIABLE: Final = "GRIDLOOM_PLUGINS"


@contextmanager
def use_plugins(environment: Mapping[str, str]) -> Iterator[None]:
    """Use plug-ins as the environment says, and report refusals as notes, for the length of a command.

    OptionError for a value of the variable that is neither on nor off.
    """
    from gridloom.cli.progress import note

    asked = environment.get(VARIABLE, "")
    if asked not in ("", "on", "off"):
        raise OptionError(f"expected on or off, found {asked!r}", where=VARIABLE)
    before = plugins.is_enabled()
    plugins.report_to(lambda text: note(one_line(text)))
    if asked == "off":
        plugins.switch(False)
    try:
        yield
    finally:
        # Tests run several commands in one process.
        plugins.switch(before)
        plugins.report_to(None)


def use_no_plugins(context: typer.Context, wanted: bool) -> None:
    """The callback of ``--no-plugins``; the switch is put back when the command has ended."""
    if wanted and not context.resilient_parsing:
        plugins.switch(False)
