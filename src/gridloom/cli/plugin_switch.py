"""Whether plug-ins are used, and where the user hears of those that are refused.

``GRIDLOOM_PLUGINS=off`` and ``--no-plugins`` switch them off for one command.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import typer

from gridloom import plugins
from gridloom.errors import OptionError

VARIABLE: Final = "GRIDLOOM_PLUGINS"


@contextmanager
def use_plugins(environment: Mapping[str, str]) -> Iterator[None]:
    """Use plug-ins as the environment says, and report refusals as notes, for the length of a command.

    OptionError for a value of the variable that is neither on nor off.
    """
    from gridloom.cli.entry import one_line
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
