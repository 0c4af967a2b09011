"""``gridloom show``: a mapping, an array or a graph as a picture in the terminal or in an SVG file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gridloom.cli.outputs import check_writable, write_all
from gridloom.cli.progress import note

if TYPE_CHECKING:
    from gridloom.arch.model import Arch
    from gridloom.dfg.model import Dfg
    from gridloom.mapping.model import Mapping


def show(
    what: Annotated[str, typer.Argument(metavar="MAPPING|ARCH|SOURCE", help="A mapping file, an array or a graph.")],
    svg: Annotated[Path | None, typer.Option("--svg", help="Write the picture here instead.")] = None,
) -> int:
    """Draw a mapping, an array or a graph."""
    from gridloom.flow.files import load_any

    check_writable([("--svg", svg)])
    shown = load_any(what)
    if svg is None:
        print(_terminal(shown))
        return 0
    write_all({svg: _svg(shown)})
    note(f"wrote {svg}")
    return 0


def _svg(shown: Mapping | Arch | Dfg) -> str:
    from gridloom import emit
    from gridloom.arch.model import Arch
    from gridloom.mapping.model import Mapping

    if isinstance(shown, Mapping):
        return emit.svg_mapping(shown)
    return emit.svg_arch(shown) if isinstance(shown, Arch) else emit.svg_dfg(shown)


def _terminal(shown: Mapping | Arch | Dfg) -> str:
    from gridloom import emit

    return emit.terminal(shown)
