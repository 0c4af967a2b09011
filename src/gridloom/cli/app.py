"""The commands and their order in the help text.

A command's function is imported when its name is given, and no command imports what it works with before it runs:
``gridloom --help`` and completion have to answer at once. The commands are declared: those that serve every target in
:mod:`gridloom.builtin`, the others in the declaration of their target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from itertools import groupby
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from gridloom import registry
from gridloom._version import __version__
from gridloom.cli.entry import use_no_plugins
from gridloom.cli.options import Quiet, flatten_records
from gridloom.limits import check_numbers

#: The tasks of the overview, in their order.
TASKS: Final = ("Map", "Judge and understand", "Compare and explore", "Hardware", "Learn", "Installation")


class _BuiltIn(Mapping[str, Any]):
    """The commands that are built in, each made when it is asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _make_command(name, dict(COMMANDS)[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Commands(TyperGroup):
    """The commands as one; Ctrl-C reaches the entry as Abort.

    Commands of plug-ins are looked for when a name is asked for that is not built in, and by completion. The help text
    does without them, since it has to answer at once.
    """

    _completes = False

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _BuiltIn()  # type: ignore[assignment]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name; None where neither we nor a plug-in have it."""
        found = super().get_command(ctx, cmd_name)
        if found is not None:
            return found
        added = registry.plugin_commands().get(cmd_name)
        return None if added is None else _make_command(cmd_name, added)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the overview: the commands that are built in, under the task that each belongs to."""
        width = max(len(name) for name, _ in COMMANDS)
        for task, rows in groupby(COMMANDS, key=lambda row: row[1].task):
            with formatter.section(task):
                formatter.write_dl([(name.ljust(width), command.summary) for name, command in rows])

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands; those of plug-ins only for completion."""
        added = registry.plugin_commands() if self._completes else {}
        return [*super().list_commands(ctx), *added]

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """What the Tab key offers, with the commands of plug-ins."""
        self._completes = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self._completes = False

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        # Typer itself would return the exit status 130, and nobody would be told.
        except KeyboardInterrupt as interrupt:
            raise typer.Abort from interrupt


app = typer.Typer(
    name="gridloom",
    cls=_Commands,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _within_limits(function: Callable[..., int]) -> Callable[..., int]:
    """The command, which refuses numbers outside of their ranges before it does anything."""
    flat = flatten_records(function)

    @wraps(flat)
    def checked(**options: Any) -> int:
        check_numbers(options)
        return flat(**options)

    return checked


def _make_command(name: str, command: registry.Command) -> Any:
    """The command, as typer makes one of a function. Its line in the overview has room for 54 characters."""
    alone = typer.Typer(rich_markup_mode=None, add_completion=False, context_settings=app.info.context_settings)
    # After \b click leaves the lines as they are, so that the example can be copied.
    example = f"\b\nExample:\n  gridloom {name} {command.example}".rstrip()
    alone.command(name, short_help=command.summary, epilog=example)(_within_limits(command.load()))
    return typer.main.get_command(alone)


#: The commands that are built in, task by task; those of a single target come last in their task.
COMMANDS: Final = tuple(
    sorted(
        registry.commands().items(),
        key=lambda row: (TASKS.index(row[1].task), not row[1].target.startswith("gridloom.cli.")),
    )
)


def _version(wanted: bool) -> None:
    """Print the version and end, for the eager option ``--version``."""
    if wanted:
        typer.echo(f"gridloom {__version__}")
        raise typer.Exit


@app.callback(epilog="A first command: gridloom map kernel:fir --arch mesh:5x5")
def root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    no_plugins: Annotated[
        bool, typer.Option("--no-plugins", callback=use_no_plugins, is_eager=True, help="Use no plug-ins.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Map dataflow graphs onto coarse-grained reconfigurable arrays; every mapping is checked and simulated."""
