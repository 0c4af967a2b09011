"""``gridloom show`` draws a mapping, an array or a graph in the terminal or in an SVG file, and lists loops.

What it is given is found out by looking: with ``--arch`` it is a file of bits; a C or Python file without a function
or loop is listed; everything else is loaded as a mapping, an array or a graph.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gridloom.cli.completion import offer_names, offer_sources
from gridloom.cli.options import CompilerOptions, LoopOptions, Quiet, Svg
from gridloom.cli.outputs import check_writable, write_and_tell
from gridloom.cli.progress import note
from gridloom.errors import OptionError

if TYPE_CHECKING:
    from gridloom.archs.model import Arch
    from gridloom.compiler.ir.c_source import SourceOptions
    from gridloom.dfg.model import Dfg
    from gridloom.mapping.model import Mapping


# Columns of a console that no picture fills.
_WIDE = 4000


def show(
    *,
    what: Annotated[
        str,
        typer.Argument(
            metavar="MAPPING|ARCH|SOURCE|BITS",
            help="A mapping file, an array, a graph, a C or Python file, or a file of configuration bits.",
            autocompletion=offer_sources,
        ),
    ],
    svg: Svg = None,
    arch: Annotated[
        str | None,
        typer.Option(
            "--arch",
            metavar="ARCH",
            help="For configuration bits: the array that they are for.",
            autocompletion=offer_names("archs"),
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="For C and Python files: print the loops as one JSON object.")
    ] = False,
    as_yaml: Annotated[
        bool, typer.Option("--yaml", help="Print an array, or that of a mapping, as a description by tile.")
    ] = False,
    loops: LoopOptions = LoopOptions(),
    compiling: CompilerOptions = CompilerOptions(),
    quiet: Quiet = False,
) -> int:
    """Draw a mapping, an array or a graph in the terminal, or into a file with --svg.

    With --yaml, print an array as a description that can be changed and given to --arch. Of a C or Python file, list
    the loops, or the networks where it imports torch. Of configuration bits, with --arch, say what each of them sets.
    """
    from gridloom.compiler.loops.spec import is_loop, is_part
    from gridloom.flow.files import load_any
    from gridloom.flow.inputs import read_source
    from gridloom.limits import READING_SECONDS, deadline

    check_writable([("--svg", svg)])
    if arch is not None:
        return _show_bits(Path(what), arch, svg)
    what = loops.apply(what)
    named = compiling.apply(what)
    if is_loop(what) and not is_part(what) and svg is None:
        with deadline(READING_SECONDS, "listing the loops"):
            return _list_loops(Path(what), as_json, compiling.options)
    if as_json:
        raise OptionError("only the loops of a C or Python file are listed; leave it out", where="--json")
    with deadline(READING_SECONDS, "reading the source"):
        shown = load_any(what) if isinstance(named, str) else read_source(named)
    if as_yaml:
        return _print_description(shown, svg)
    if svg is None:
        _draw(shown)
        return 0
    from gridloom.emit import svg as picture_of

    write_and_tell({svg: picture_of(shown)})
    return 0


def _print_description(shown: Mapping | Arch | Dfg, svg: Path | None) -> int:
    """Print an array as YAML; OptionError for a graph, and for ``--svg`` beside it."""
    from gridloom.archs import Arch
    from gridloom.archs.described.text import yaml_text
    from gridloom.archs.described.writing import describe

    if svg is not None:
        raise OptionError("a description is text; leave --svg or --yaml out", where="--yaml")
    arch = shown if isinstance(shown, Arch) else getattr(shown, "arch", None)
    if arch is None:
        raise OptionError("a graph has no description as an array; give an array or a mapping", where="--yaml")
    print(yaml_text(describe(arch)), end="")
    return 0


def _list_loops(path: Path, as_json: bool, options: SourceOptions) -> int:
    """Print the loops of a C file, the kernels or the networks of a Python file; a file without any is no error."""
    import json

    from gridloom.compiler.source import module_reader
    from gridloom.flow.loops.listing import list_loops

    if path.suffix == ".py" and (reader := module_reader(path)) is not None:
        networks = reader.list_networks(path)
        if as_json:
            print(json.dumps({"file": str(path), "networks": [row.to_dict() for row in networks]}))
            return 0
        print("\n".join(line for row in networks for line in row.lines()) if networks else f"{path} has no networks")
        return 0
    rows = list_loops(path, options)
    if as_json:
        print(json.dumps({"file": str(path), "loops": [row.to_dict() for row in rows]}))
        return 0
    what = "kernels" if path.suffix == ".py" else "loops"
    print("\n".join(line for row in rows for line in row.lines()) if rows else f"{path} has no {what}")
    return 0


def _show_bits(path: Path, arch: str, svg: Path | None) -> int:
    """Print what each field of a file of configuration bits sets on an array.

    OptionError for ``--svg``: there is no picture of bits.
    """
    from gridloom.flow.inputs import read_arch
    from gridloom.hardware.bitstream.files import disassemble, load_bits

    if svg is not None:
        raise OptionError("configuration bits are shown as text; leave it out", where="--svg")
    print(disassemble(*load_bits(path, read_arch(arch))), end="")
    return 0


def _draw(shown: Mapping | Arch | Dfg) -> None:
    """Draw in the terminal, at full width whatever the window has, with a note where it does not fit."""
    from rich.console import Console
    from rich.measure import Measurement

    from gridloom.emit.terminal.drawing import terminal

    picture = terminal(shown)
    window = Console().width
    # Cut off at the right it would be another picture; a file has all the room it needs.
    console = Console(width=_WIDE, highlight=False)
    console.print(picture, soft_wrap=True)
    width = Measurement.get(console, console.options, picture).maximum
    if console.is_terminal and width > window:
        note(f"the picture is {width} columns wide, the window {window}: widen it, or pipe the picture into less -RS")
