"""One function for the pictures of mappings, arrays and graphs."""

from __future__ import annotations

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.emit.picture.array import svg_arch, svg_mapping
from gridloom.emit.picture.graph import svg_dfg
from gridloom.errors import OptionError
from gridloom.mapping.model import Mapping


def svg(thing: Mapping | Arch | Dfg) -> str:
    """Return the picture of a mapping, an array or a graph as SVG text; OptionError for anything else.

    For options use the function of each kind: ``array.svg_mapping`` draws a single slot or cycle. Linear in what is
    drawn, but for graphs, which cost a layered layout.
    """
    if isinstance(thing, Mapping):
        return svg_mapping(thing)
    if isinstance(thing, Arch):
        return svg_arch(thing)
    if isinstance(thing, Dfg):
        return svg_dfg(thing)
    raise OptionError(f"cannot draw a {type(thing).__name__}; expected a mapping, an array or a graph")
