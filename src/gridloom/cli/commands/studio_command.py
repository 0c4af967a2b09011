"""``gridloom studio`` serves a page on this machine: write, map, watch, step, understand and change by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gridloom.cli.completion import offer_sources
from gridloom.cli.options import Quiet
from gridloom.cli.progress import note
from gridloom.errors import OptionError


def studio(
    *,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[SOURCE|MAPPING|STORE]",
            help="What to open first: a source or an array to map, a mapping, or the store of a run.",
            autocompletion=offer_sources,
        ),
    ] = None,
    folder: Annotated[
        Path, typer.Option("--folder", metavar="DIR", help="The working folder: no file outside of it is touched.")
    ] = Path("."),
    port: Annotated[int, typer.Option("--port", metavar="N", help="The port; 0 takes one that is free.", min=0)] = 0,
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FILE", help="Where the history goes; default gridloom-studio.sqlite."),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", metavar="N", help="Searches that run at the same time.", min=1, max=64)
    ] = 1,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    quiet: Quiet = False,
) -> int:
    """Open the studio: a page on this machine, at an address with a secret token.

    The server listens on the loopback address only and ends with Ctrl-C.
    """
    from gridloom.studio.session import Session
    from gridloom.studio.web.serving import StudioServer

    if not folder.is_dir():
        raise OptionError(f"{folder} is no folder", where="--folder")
    root = folder.resolve()
    session = Session(root, store=store or root / "gridloom-studio.sqlite", workers=jobs)
    try:
        session.begin(what)
        server = StudioServer(session, port)
    except BaseException:
        session.close()
        raise
    server.run(lambda address: _tell(address, browser))
    return 0


def _tell(address: str, browser: bool) -> None:
    """Print the address, and open it where the user wants that."""
    print(address, flush=True)
    note("the studio runs until Ctrl-C; whoever has this address can use it")
    if browser:
        import webbrowser

        webbrowser.open(address)
