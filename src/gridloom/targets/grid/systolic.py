"""Systolic form of dense sums of products: adder trees become chains of multiply-adds.

A matrix product, a convolution with several results and a fully connected layer are *product arrays*: many sums of
products whose factors are shared. Their adder trees have no layout with short wires, since each factor is needed all
over the array. Kung and Leiserson's systolic form has one: each sum is a chain along which the partial sum moves, all
chains take the factors in the same order, and a factor moves across the chains.

1. A sum is a maximal tree of ``add`` nodes whose inner values nobody else reads; its leaves are products and terms.
2. A graph is rewritten where sums of two products or more have at least ``_PRODUCTS`` products in all, and a factor
   that is not constant has ``_READERS`` readers on average. Other graphs keep their trees, which have less latency.
3. The terms start the chain. Each product becomes a ``mul_add`` with the name of the product; the last one takes the
   name of the sum. Products are ordered by their most shared factor, in the order of the graph.

Sums wrap at 32 bits, so that their order does not matter; floating-point graphs stay as they are. :func:`check_equal`
runs both graphs with the reference interpreter before the pass returns. Linear in the graph but for that run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.interpreter import interpret, random_stimulus
from gridloom.dfg.model import Dfg, Edge, Node
from gridloom.errors import DfgError
from gridloom.transform.streams import needs_memory, streams_to_memory

#: Products, and readers of a factor on average, from which a graph counts as a product array.
_PRODUCTS: Final = 32
_READERS: Final = 2.5

#: The part of the tiles from which a graph fills an array.
_FULL: Final = 0.8

# Operands of the multiply-add, and iterations that both graphs run.
_OPERANDS: Final = 3
_ITERATIONS: Final = 8


@dataclass(frozen=True, slots=True)
class ProductSum:
    """A tree of adds: its root, the adds below it, the products and other terms at its leaves (indices of edges)."""

    root: str
    inner: tuple[str, ...]
    products: tuple[str, ...]
    terms: tuple[int, ...]


def fit(dfg: Dfg, arch: Arch) -> Dfg:
    """The graph as a static grid takes it: systolic where it is a product array that would fill the tiles.

    Chains need fewer tiles, and adder trees fewer links at each of them, so that a graph which leaves tiles free keeps
    its trees. Streams become memory accesses where the array has no ports.
    """
    placed = sum(dfg.op_class(node.id) not in arch.free for node in dfg.nodes)
    able = dfg.domain == "i32" and any(
        tile.runs("mul_add", frozenset({"mul"})) and tile.operands >= _OPERANDS for tile in arch.tiles
    )
    fitted = make_systolic(dfg) if able and placed > _FULL * len(arch.tiles) else dfg
    return streams_to_memory(fitted) if needs_memory(fitted, arch) else fitted


def make_systolic(dfg: Dfg) -> Dfg:
    """The graph with a chain of multiply-adds for each sum, if it is a product array; else the graph itself.

    >>> from gridloom.compiler.kernels.base import from_spec
    >>> kernel, settings = from_spec("matmul_add,n=4")
    >>> len(kernel.build(**settings).nodes), len(make_systolic(kernel.build(**settings)).nodes)
    (192, 128)
    """
    sums = product_sums(dfg)
    if not is_product_array(dfg, sums):
        return dfg
    made = _rewrite(dfg, sums)
    check_equal(dfg, made)
    return made


def product_sums(dfg: Dfg) -> list[ProductSum]:
    """The sums of two products or more, in the order of their roots in the graph."""
    inner = {node.id for node in dfg.nodes if _joins(dfg, node, "add")}
    products = {node.id for node in dfg.nodes if _joins(dfg, node, "mul")}
    found = []
    for node in dfg.nodes:
        if node.op == "add" and node.id not in inner and not _is_special(dfg, node):
            tree = _tree(dfg, node.id, inner, products)
            if len(tree.products) > 1:
                found.append(tree)
    return found


def is_product_array(dfg: Dfg, sums: list[ProductSum]) -> bool:
    """True where there are many products, and their factors are shared."""
    products = [product for tree in sums for product in tree.products]
    edges = [dfg.edges[e] for product in products for e in dfg.operand_edges(product)]
    moving = [edge.source for edge in edges if not dfg.op(edge.source).timeless]
    return len(products) >= _PRODUCTS and len(moving) >= _READERS * len(set(moving))


def check_equal(source: Dfg, made: Dfg) -> None:
    """DfgError where two graphs differ in an output, a live-out or memory on a random stimulus."""
    stimulus = random_stimulus(source, _ITERATIONS, seed=1)
    expected, found = interpret(source, stimulus), interpret(made, stimulus)
    differing = [name for name, words in expected.outputs.items() if not np.array_equal(words, found.outputs[name])]
    differing += [name for name, words in expected.memory.items() if not np.array_equal(words, found.memory[name])]
    differing += [name for name, word in expected.liveouts.items() if word != found.liveouts[name]]
    if differing:
        raise DfgError(
            f"{differing[0]!r} differs after a rewriting (an error in gridloom; please report it)",
            where=f"graph {source.name!r}",
        )


def _is_special(dfg: Dfg, node: Node) -> bool:
    """Whether a node is more than its op: it has a class or a variable of its own, or edges that order it."""
    k = dfg.index[node.id]
    ordered = any(dfg.edges[e].kind != "data" for e in (*dfg.in_edges[k], *dfg.out_edges[k]))
    return bool(ordered or node.op_class or node.variable)


def _joins(dfg: Dfg, node: Node, op: str) -> bool:
    """Whether a node has the op, and its value goes to one ``add`` of the same iteration and nowhere else."""
    if node.op != op or node.liveout or _is_special(dfg, node):
        return False
    out = [dfg.edges[e] for e in dfg.out_edges[dfg.index[node.id]]]
    if len(out) != 1 or out[0].distance:
        return False
    reader = dfg.node(out[0].target)
    return reader.op == "add" and not _is_special(dfg, reader)


def _tree(dfg: Dfg, root: str, inner: set[str], products: set[str]) -> ProductSum:
    """The tree below a root, its leaves from left to right."""
    adds: list[str] = []
    leaves: list[str] = []
    terms: list[int] = []
    waiting = [root]
    while waiting:
        add = waiting.pop()
        if add != root:
            adds.append(add)
        for e in reversed(dfg.operand_edges(add)):
            source = dfg.edges[e].source
            if source in inner:
                waiting.append(source)
            elif source in products:
                leaves.append(source)
            else:
                terms.append(e)
    return ProductSum(root, tuple(adds), tuple(leaves), tuple(sorted(terms)))


def _rewrite(dfg: Dfg, sums: list[ProductSum]) -> Dfg:
    """The graph with every sum as a chain."""
    readers = {node.id: len(dfg.out_edges[k]) * (not dfg.ops[k].timeless) for k, node in enumerate(dfg.nodes)}
    gone = {name for tree in sums for name in (*tree.inner, *tree.products, tree.root)}
    nodes = [node for node in dfg.nodes if node.id not in gone]
    edges = [edge for edge in dfg.edges if edge.target not in gone]
    for tree in sums:
        _chain(dfg, tree, readers, nodes, edges)
    place = dfg.index
    nodes.sort(key=lambda node: place[node.id])
    return replace(dfg, nodes=tuple(nodes), edges=tuple(edges))


def _chain(dfg: Dfg, tree: ProductSum, readers: Mapping[str, int], nodes: list[Node], edges: list[Edge]) -> None:
    """Add the chain of a sum: adds of its terms, then a multiply-add for each product."""

    def turn(product: str) -> tuple[int, ...]:
        sources = [dfg.edges[e].source for e in dfg.operand_edges(product)]
        return tuple(dfg.index[name] for name in sorted(sources, key=lambda name: (-readers[name], dfg.index[name])))

    order = sorted(tree.products, key=turn)
    spare = list(tree.inner)
    first: Edge | None = None
    for e in tree.terms:
        term = dfg.edges[e]
        if first is None:
            first = term
            continue
        name = spare.pop()
        nodes.append(dfg.node(name))
        edges.append(replace(first, target=name, operand=0))
        edges.append(replace(term, target=name, operand=1))
        first = Edge(source=name, target=name)
    for k, product in enumerate(order):
        name = tree.root if k == len(order) - 1 else product
        op = "mul" if first is None else "mul_add"
        nodes.append(replace(dfg.node(name), op=op))
        edges += [replace(dfg.edges[e], target=name) for e in dfg.operand_edges(product)]
        if first is not None:
            edges.append(replace(first, target=name, operand=2))
        first = Edge(source=name, target=name)
