"""Random graphs, seeded: layered, growing-network and series-parallel; in domain ``i32`` or ``opaque``.

A plan (node, op, operands) is drawn first; the graph and the model both start from it. The same parameters always
give the same graph.

In domain ``opaque`` the same graphs have uninterpreted ops, so that a mapper meets the structure alone. Inputs are
called ``x_k``, ops ``n_...``, outputs ``y_k``. Fan-out is bounded by :data:`MAX_FANOUT` where the structure leaves a
choice.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from graphlib import TopologicalSorter
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from gridloom.compiler.kernels.base import Kernel, KernelValues
from gridloom.compiler.kernels.reference import signed32
from gridloom.compiler.parameters import KernelParameter, choice, number
from gridloom.dfg.carriers import Words
from gridloom.dfg.model import DfgBuilder

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Stimulus

#: Id, op, operands; in an order in which operands come first.
Step = tuple[str, str, tuple[str, ...]]
Plan = Callable[..., list[Step]]

BINARY = ("add", "sub", "mul", "and", "or", "xor", "min", "max")
UNARY = ("not", "neg", "abs")
MAX_FANOUT = 4
#: How far back a growing network reaches; keeps drawing linear in its size.
WINDOW = 128


def _op(rng: random.Random, arity: int) -> str:
    """A random op of one or two operands."""
    return rng.choice(BINARY if arity == 2 else UNARY)


# -- plans ----------------------------------------------------------------------------------------------------------


def _layered(layers: int, width: int, seed: int) -> list[Step]:
    """Every node of a layer reads two of the layer before, every node of which is read: all paths are equally long.

    The first operands are a permutation of the layer before, which is what makes sure that each of its nodes is read.
    """
    rng = random.Random(seed)
    previous = [f"x_{k}" for k in range(width)]
    plan: list[Step] = [(name, "input", ()) for name in previous]
    for layer in range(1, layers + 1):
        current = [f"n_{layer}_{k}" for k in range(width)]
        for name, first in zip(current, rng.sample(range(width), width), strict=True):
            second = (first + 1 + rng.randrange(width - 1)) % width
            plan.append((name, _op(rng, 2), (previous[first], previous[second])))
        previous = current
    return plan + [(f"y_{k}", "output", (name,)) for k, name in enumerate(previous)]


def _growing(nodes: int, inputs: int, seed: int) -> list[Step]:
    """Each new node reads one or two older ones, more often recent ones and ones with few readers.

    What nothing reads in the end becomes an output.
    """
    rng = random.Random(seed)
    names = [f"x_{k}" for k in range(inputs)]
    readers = dict.fromkeys(names, 0)
    plan: list[Step] = [(name, "input", ()) for name in names]
    for k in range(nodes):
        # The newest node has no reader yet, so that there is always one to choose.
        free = [name for name in names[-WINDOW:] if readers[name] < MAX_FANOUT]
        likely = [(1 + position) / (1 + 2 * readers[name]) for position, name in enumerate(free)]
        arity = 1 if len(free) < 2 or rng.random() < 0.2 else 2
        operands: list[str] = []
        while len(operands) < arity:
            pick = rng.choices(free, likely)[0]
            if pick not in operands:
                operands.append(pick)
                readers[pick] += 1
        name = f"n_{k}"
        plan.append((name, _op(rng, arity), tuple(operands)))
        names.append(name)
        readers[name] = 0
    unread = [name for name in names if readers[name] == 0]
    return plan + [(f"y_{k}", "output", (name,)) for k, name in enumerate(unread)]


def _series_parallel(nodes: int, seed: int) -> list[Step]:
    """Edges are split by a node or doubled through one, until there are enough nodes between input and output.

    No node gets more than two operands or :data:`MAX_FANOUT` readers, so that every node is an op of the table. The
    steps are sorted topologically at the end, as edges were split in any order.
    """
    rng = random.Random(seed)
    edges: list[tuple[str, str]] = [("x_0", "n_0"), ("n_0", "y_0")]
    into, out = {"n_0": 1, "y_0": 1}, {"x_0": 1, "n_0": 1}
    for k in range(1, nodes):
        name = f"n_{k}"
        position = rng.randrange(len(edges))
        source, target = edges[position]
        doubles = target != "y_0" and into[target] < 2 and out[source] < MAX_FANOUT and rng.random() < 0.6
        if doubles:
            edges.append((source, name))
            out[source] += 1
            into[target] += 1
        else:
            edges[position] = (source, name)
        edges.append((name, target))
        into[name] = out[name] = 1
    operands: dict[str, list[str]] = {}
    for source, target in edges:
        operands.setdefault(target, []).append(source)
    plan: list[Step] = [("x_0", "input", ())]
    for name in TopologicalSorter(operands).static_order():
        if name in operands:
            op = "output" if name == "y_0" else _op(rng, len(operands[name]))
            plan.append((name, op, tuple(operands[name])))
    return plan


# -- graph and model ------------------------------------------------------------------------------------------------


def _graph(plan: Plan) -> Callable[..., None]:
    """The function that draws the graph of a plan into a builder."""

    def draw(b: DfgBuilder, domain: str, **settings: int) -> None:
        for name, op, operands in plan(**settings):
            b.add(op, *operands, id=name, variable=name if op in ("input", "output") else None)

    return draw


_INTEGER: dict[str, Callable[..., Words]] = {
    "add": lambda x, y: signed32(x + y),
    "sub": lambda x, y: signed32(x - y),
    "mul": lambda x, y: signed32(x * y),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "min": np.minimum,
    "max": np.maximum,
    "not": np.invert,
    "neg": lambda x: signed32(-x),
    "abs": lambda x: signed32(np.abs(x)),
    "output": lambda x: x,
}


def _mixed(name: str, operands: tuple[Words, ...], iterations: int) -> Words:
    """The uninterpreted function of a node, over 64-bit words without sign: a mix of its name and its operands.

    It repeats the mix of :mod:`gridloom.dfg.semantics` on purpose: the model must not use what it checks.
    """
    seed = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")
    state = np.full(iterations, seed, dtype=np.uint64)
    for k, words in enumerate(operands):
        z = state ^ (words.astype(np.uint64) + np.uint64(k) + np.uint64(0x9E3779B97F4A7C15))
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state = z ^ (z >> np.uint64(31))
    return state.astype(np.int64)


def _model(plan: Plan) -> Callable[..., KernelValues]:
    """The function that computes what the graph of a plan should show, step by step."""

    def expect(stimulus: Stimulus, domain: str, **settings: int) -> KernelValues:
        values = dict(stimulus.streams)
        outputs = {}
        for name, op, sources in plan(**settings):
            operands = tuple(values[source] for source in sources)
            if op == "output":
                outputs[name] = operands[0]
            elif op != "input":
                integer = domain == "i32"
                values[name] = _INTEGER[op](*operands) if integer else _mixed(name, operands, stimulus.iterations)
        return KernelValues(streams=outputs)

    return expect


def _random_graph(name: str, summary: str, plan: Plan, parameters: dict[str, KernelParameter]) -> Kernel:
    """A kernel whose graph and model start from the same plan."""
    common = {
        "seed": number(0, 0, 2**31 - 1, "of the random numbers"),
        "domain": choice("i32", ("i32", "opaque"), "integer ops, or uninterpreted functions"),
    }
    return Kernel(name=name, summary=summary, parameters=parameters | common, graph=_graph(plan), model=_model(plan))


RANDOM_LAYERED = _random_graph(
    "random_layered",
    "random layers, each node reading two of the layer before",
    _layered,
    {"layers": number(4, 1, 256, "layers of ops"), "width": number(4, 2, 256, "nodes per layer")},
)

RANDOM_GROWING = _random_graph(
    "random_growing",
    "random growing network: each new node reads older ones; at most four readers each",
    _growing,
    {"nodes": number(32, 1, 4096, "ops"), "inputs": number(4, 1, 256, "inputs")},
)

RANDOM_SERIES_PARALLEL = _random_graph(
    "random_series_parallel",
    "random series-parallel graph between one input and one output",
    _series_parallel,
    {"nodes": number(32, 1, 4096, "ops")},
)
