"""The record of this plug-in: what it adds to gridloom, by name and place.

The entry point in ``pyproject.toml`` names :data:`TARGET`. The record is pure data and imports nothing but its own
types, so that loading it costs next to nothing; a module is imported when something of it is used.
"""

from __future__ import annotations

from gridloom.registry import Command, Entry, Mapper, Reader, Target

TARGET = Target(
    name="example",
    summary="a mapper, arrays and a reader to copy and to change",
    mappers={
        "greedy": Mapper(
            {"grid": "gridloom_example.greedy:greedy"},
            "one node after the other on the nearest free tile, routes by breadth-first search",
            without=("constant_stores",),
        ),
    },
    archs={
        "king": Entry("gridloom_example.king:build", "static grid in which each tile has 8 neighbours"),
    },
    readers={
        "ops": Reader("gridloom_example.ops_file:read", "one operation in a line: *.ops", endings=(".ops",)),
    },
    costs={
        "hops": Entry("gridloom_example.hops:Hops", "the fewer links a value takes, the better"),
    },
    suites={
        "king": Entry("gridloom_example:suites/king.yaml", "three small kernels on a grid with 8 neighbours"),
    },
    commands={
        "count-ops": Command("gridloom_example.count_ops:count_ops", "Count the operations of a graph.", "kernel:fir"),
    },
)
