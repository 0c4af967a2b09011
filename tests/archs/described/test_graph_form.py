"""What is wrong with a description by resource is said with the key."""

from __future__ import annotations

from typing import Any

import pytest

from gridloom.archs import build
from gridloom.archs.described.graph_form import describe_graph
from gridloom.errors import ArchError


def damaged(way: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """A description by resource of which one part is replaced."""
    data: Any = describe_graph(build("torus:1x2,regs=1"))
    part = data
    for key in way[:-1]:
        part = part[key]
    part[way[-1]] = value
    return data


@pytest.mark.parametrize(
    ("way", "value", "message"),
    [
        (("style",), None, "style: expected one of static, modulo, found None"),
        (("links",), "mesh", "links: an array is described by tile or by resource; leave this key out, or 'graph'"),
        (("graph", "tile"), [], "graph.tile: the graph of an array has no key 'tile'; did you mean 'tiles'?"),
        (("graph", "tiles", 1, "name"), "pe_0_0", "graph.tiles: two tiles have the same name"),
        (("graph", "tiles", 0, "ops"), ["aluu"], "graph.tiles.0.ops.0: 'aluu' is not known; did you mean 'alu'?"),
        (
            ("graph", "tiles", 0, "fifo"),
            -1,
            "graph.tiles.0.fifo: expected a whole number from 0 to 1099511627776 or null (no limit), found -1",
        ),
        (
            ("graph", "tiles", 0, "latency"),
            {"mull": 2},
            "graph.tiles.0.latency.mull: latency has no key 'mull'; did you mean 'mul'?",
        ),
        (
            ("graph", "resources", 0, "tile"),
            "pe_0_9",
            "graph.resources.0.tile: no tile is called 'pe_0_9'; did you mean 'pe_0_1'?",
        ),
        (
            ("graph", "resources", 1, "group"),
            "x",
            "graph.resources.1.group: no resource is called 'x'; resources are listed under graph.resources",
        ),
        (
            ("graph", "arcs", 0),
            ["pe_0_0.fu"],
            "graph.arcs.0: expected [source, target, latency, settings bit], found ['pe_0_0.fu']",
        ),
        (
            ("graph", "arcs", 0),
            ["pe_0_0.fu", "pe_0_0.out", 1, 3],
            "graph.arcs.0: the array has no settings, found settings bit 3",
        ),
        (("graph", "rules"), ["none"], "graph.rules.0: 'none' is not known; "),
        (
            ("graph", "register_files", 0, "rotating"),
            2,
            "graph.register_files.0.rotating: expected a whole number from 0 to 1, found 2",
        ),
    ],
)
def test_the_key_is_named(way: tuple[Any, ...], value: Any, message: str) -> None:
    with pytest.raises(ArchError) as error:
        build(damaged(way, value))
    assert str(error.value).startswith(f"array: {message}")
