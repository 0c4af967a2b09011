"""The commands and their order in the help text."""

from __future__ import annotations

from typing import Annotated

import typer

from gridloom._version import __version__
from gridloom.cli.bench_command import bench
from gridloom.cli.check_commands import check, simulate
from gridloom.cli.estimate_command import estimate, mappability_figure
from gridloom.cli.explore_command import explore
from gridloom.cli.list_command import list_names
from gridloom.cli.map_command import map_source
from gridloom.cli.model_commands import evaluate, train
from gridloom.cli.partition_command import partition
from gridloom.cli.program_command import program
from gridloom.cli.rtl_command import rtl
from gridloom.cli.show_command import show

app = typer.Typer(
    name="gridloom",
    help="Map dataflow graphs onto coarse-grained reconfigurable arrays; every mapping is checked and simulated.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("map")(map_source)
app.command("check")(check)
app.command("simulate")(simulate)
app.command("show")(show)
app.command("bench")(bench)
app.command("rtl")(rtl)
app.command("program")(program)
app.command("partition")(partition)
app.command("estimate")(estimate)
app.command("mappability-figure")(mappability_figure)
app.command("train")(train)
app.command("eval")(evaluate)
app.command("explore")(explore)
app.command("list")(list_names)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gridloom {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Map dataflow graphs onto coarse-grained reconfigurable arrays; every mapping is checked and simulated."""
