"""Binary trees, reducing and expanding, and map-reduce trees: the reduction patterns of machine learning.

A full binary tree of n nodes has (n + 1) / 2 leaves. Several components are several trees in one graph, without an
edge between them.

A leaf may be required to enter through a multiplier's tile, which makes the placement of inputs a constraint, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gridloom.compiler.kernels.base import Kernel, KernelValues
from gridloom.compiler.kernels.building import connect, reduce_tree, sink
from gridloom.compiler.kernels.reference import signed32, sinks, weight
from gridloom.compiler.parameters import choice, number
from gridloom.dfg.carriers import Words
from gridloom.dfg.model import DfgBuilder

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Stimulus


_TREES = {
    "nodes": choice(15, [2**depth - 1 for depth in range(2, 12)], "nodes of the full binary tree of each component"),
    "components": number(1, 1, 16, "connected components"),
}

_REDUCE_PARAMETERS = _TREES | {
    "leaves": choice("input", ("input", "mul"), "mul: each input stream enters through a multiplier's tile"),
}


def _reduce(b: DfgBuilder, nodes: int, components: int, leaves: str) -> None:
    """One adder tree for each component; its leaves may need the tile of a multiplier."""
    for c in range(components):
        inputs = []
        for k in range((nodes + 1) // 2):
            name = f"x{c}_{k}"
            inputs.append(b.add("input", id=name, variable=name, op_class="mul" if leaves == "mul" else None))
        reduce_tree(b, "add", inputs, id=f"y{c}", liveout=f"y{c}")


def _reduce_model(stimulus: Stimulus, nodes: int, components: int, leaves: str) -> KernelValues:
    """The sum of all inputs of each component."""
    width = (nodes + 1) // 2
    sums = {f"y{c}": sum_streams(stimulus, [f"x{c}_{k}" for k in range(width)]) for c in range(components)}
    return sinks(sums)


def sum_streams(stimulus: Stimulus, names: list[str]) -> Words:
    """The 32-bit sum of some input streams."""
    return signed32(np.sum([stimulus.streams[name] for name in names], axis=0, dtype=np.int64))


TREE_REDUCE = Kernel(
    "tree_reduce",
    "full binary adder trees; leaves are inputs, roots are the results",
    _reduce,
    _reduce_model,
    _REDUCE_PARAMETERS,
)


_EXPAND_PARAMETERS = _TREES | {
    "leaves": choice("output", ("output", "mul"), "mul: each leaf multiplies by a weight and is itself a result"),
}


def _expand(b: DfgBuilder, nodes: int, components: int, leaves: str) -> None:
    """One tree of moves for each component, doubled level by level; the leaves are outputs or multipliers."""
    for c in range(components):
        level = [b.input(f"x{c}")]
        while 2 * len(level) < (nodes + 1) // 2:
            level = [b.add("move", parent) for parent in level for _ in range(2)]
        for k in range(2 * len(level)):
            if leaves == "mul":
                sink(b, "mul", level[k // 2], weight(k), id=f"y{c}_{k}")
            else:
                b.output(level[k // 2], f"y{c}_{k}")


def _expand_model(stimulus: Stimulus, nodes: int, components: int, leaves: str) -> KernelValues:
    """Each leaf shows the input, times its weight where leaves multiply."""
    streams = {}
    for c in range(components):
        for k in range((nodes + 1) // 2):
            x = stimulus.streams[f"x{c}"]
            streams[f"y{c}_{k}"] = signed32(x * weight(k)) if leaves == "mul" else x
    return sinks(streams) if leaves == "mul" else KernelValues(streams=streams)


TREE_EXPAND = Kernel(
    "tree_expand", "full binary trees that spread one input to all leaves", _expand, _expand_model, _EXPAND_PARAMETERS
)


_MAP_REDUCE_PARAMETERS = _TREES | {
    "tail": number(3, 1, 32, "nodes before each leaf, the input among them"),
}


def _map_reduce(b: DfgBuilder, nodes: int, components: int, tail: int) -> None:
    """Before each leaf, ``tail - 1`` ops subtract or xor a weight in turn; then come a product and an adder tree."""
    for c in range(components):
        products = []
        for k in range((nodes + 1) // 2):
            value = b.input(f"x{c}_{k}")
            for stage in range(tail - 1):
                value = connect(b, "sub" if stage % 2 == 0 else "xor", value, weight(k + stage))
            products.append(connect(b, "mul", value, weight(k)))
        reduce_tree(b, "add", products, id=f"y{c}", liveout=f"y{c}")


def _map_reduce_model(stimulus: Stimulus, nodes: int, components: int, tail: int) -> KernelValues:
    """The same chains of subtractions and exclusive ors on whole streams, then one sum."""
    streams = {}
    for c in range(components):
        total = np.zeros(stimulus.iterations, dtype=np.int64)
        for k in range((nodes + 1) // 2):
            value = stimulus.streams[f"x{c}_{k}"]
            for stage in range(tail - 1):
                value = value ^ weight(k + stage) if stage % 2 else signed32(value - weight(k + stage))
            total = signed32(total + value * weight(k))
        streams[f"y{c}"] = total
    return sinks(streams)


MAP_REDUCE = Kernel(
    "map_reduce",
    "map-reduce trees: a tail of nodes before each leaf's multiplier, then an adder tree",
    _map_reduce,
    _map_reduce_model,
    _MAP_REDUCE_PARAMETERS,
)
