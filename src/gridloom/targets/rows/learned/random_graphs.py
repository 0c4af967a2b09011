"""Random graphs for the mappability data set: many shapes, each family with a style of its own.

A *family* is a number from which a style is drawn: shape, ops, depth, fan-out, constants, inputs and outputs. Its
graphs share the style and differ in size and in every further draw. Families whose shape is ``part`` are convex parts
of our kernels; the kernels that the partitioning flow is measured on (``cma_*``), and their twins of 32-bit words, are
not among them.

Every draw is seeded by a text with the numbers of family and graph, so a graph can be made again from two numbers, and
stores need not keep it. Folds go by family, and the parts of one kernel are in one fold: graphs of one style or one
kernel are too much alike for some to be trained on and others to be measured on.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from gridloom import registry
from gridloom.dfg.model import Dfg, DfgBuilder, Edge, Node
from gridloom.errors import GridloomError
from gridloom.partition import split

#: Families from this number on have more inputs, outputs or constants than the array may have room for.
OVERFULL: Final = 1_000_000

LEAST_OPS: Final = 5
MOST_OPS: Final = 80

#: Kind of kernel -> its ops of two operands, the frequent ones several times.
MIXES: Final[Mapping[str, tuple[str, ...]]] = {
    "sums": ("add", "add", "sub", "mult", "sra"),
    "logic": ("xor", "and", "or", "xor", "sl", "sr"),
    "hash": ("add", "xor", "and", "or", "sl", "sr", "add"),
    "pixels": ("mult", "add", "sr", "and", "add", "or"),
    "choices": ("gt", "sel", "sub", "lt", "sel", "eql", "add"),
    "any": ("add", "sub", "mult", "sl", "sr", "sra", "and", "or", "xor", "sel", "gt", "lt", "eql"),
}

#: Op of domain i32 in our kernels -> op of the array.
_AS_CMA: Final[Mapping[str, str]] = {
    "add": "add", "sub": "sub", "mul": "mult", "mulh": "mult", "shl": "sl", "shr": "sra", "lshr": "sr", "rotl": "sl",
    "and": "and", "or": "or", "xor": "xor", "not": "not", "neg": "not", "abs": "cat", "square": "mult",
    "min": "sel", "max": "sel", "umin": "sel", "umax": "sel", "eq": "eql", "ne": "xor", "lt": "lt", "le": "lt",
    "gt": "gt", "ge": "gt", "ult": "lt", "ule": "lt", "sext8": "cat", "sext16": "cat", "zext8": "and", "zext16": "and",
}  # fmt: skip

#: Kernels that parts are taken from: straight-line code whose ops have at most two operands.
PART_SOURCES: Final = (
    "dct4", "fft_radix2", "gray", "sepia", "alpha_blend", "sobel", "sha1_step", "matmul", "convolution", "kmeans",
    "map_reduce", "tree_reduce", "distance", "fir",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Style:
    """What the graphs of a family have in common."""

    family: int
    shape: str
    mix: str
    #: The most inputs and outputs.
    inputs: int
    outputs: int
    #: The most different constants, and the share of ops that read one.
    constants: int
    constant_share: float
    #: The share of the values, latest first, that an op chooses its operands from: a small one makes local graphs.
    locality: float
    #: How strongly an op prefers values with few readers.
    thrift: float
    #: The most readers of a value.
    fan_out: int
    #: How many values are side by side, where a shape has lanes or layers.
    lanes: int


class GraphDraft:
    """A graph that grows op by op.

    ``values`` holds inputs and results, the latest last. Values without a reader at the end are joined by further ops,
    so a graph has no dead code; ``joins_needed`` counts those ops in advance, so that sizes come out as drawn.
    """

    def __init__(self, style: Style, rng: random.Random, name: str) -> None:
        self.style = style
        self.rng = rng
        self.builder = DfgBuilder(name, "cma24")
        self.ops = 0
        #: Values in the order they came, and how often each is read.
        self.values: list[str] = []
        self.readers: dict[str, int] = {}
        self._names: list[str] = []
        self._constants = rng.sample(range(1, 60_000), max(1, style.constants)) if style.constants else []

    def input(self) -> str:
        """Add an input, or choose one of the inputs once the style's number is reached; returns it."""
        if len(self._names) >= self.style.inputs:
            return self.rng.choice(self._names)
        name = self.builder.input(f"x{len(self._names)}")
        self._names.append(name)
        self.values.append(name)
        self.readers[name] = 0
        return name

    def op(self, first: str, second: str | None = None) -> str:
        """Add an op on two values, or on one value and a constant where there is no second; returns its result."""
        rng, b = self.rng, self.builder
        self.readers[first] += 1
        if second is not None:
            self.readers[second] += 1
            name = b.add(rng.choice(MIXES[self.style.mix]), first, second)
        elif self._constants:
            name = b.add(rng.choice(MIXES[self.style.mix]), first, b.const(rng.choice(self._constants)))
        else:
            name = b.add(rng.choice(("not", "cat")), first)
        self.ops += 1
        self.values.append(name)
        self.readers[name] = 0
        return name

    def step(self, first: str, second: str) -> str:
        """Add an op on two values or, as often as the style says, on the first and a constant; returns its result."""
        return self.op(first, None if self.rng.random() < self.style.constant_share else second)

    def pick(self, among: Sequence[str], other: str | None = None) -> str:
        """Return one of some values; recent values and those with few readers are more probable.

        ``other`` is not chosen again, unless there is nothing else.
        """
        start = max(0, len(among) - max(2, int(self.style.locality * len(among))))
        near = [v for v in among[start:] if self.readers[v] < self.style.fan_out and v != other]
        if not near:
            near = [v for v in among[start:] if v != other] or list(among)
        return self.rng.choices(near, [1 / (1 + self.style.thrift * self.readers[v]) for v in near])[0]

    @property
    def unread(self) -> list[str]:
        """Values without a reader."""
        return [v for v in self.values if self.readers[v] == 0]

    def joins_needed(self) -> int:
        """Return how many ops it takes to join the values without a reader into as many outputs as the style has."""
        return max(0, len(self.unread) - self.style.outputs)

    def grow(self, ops: int, step: Callable[[], object]) -> None:
        """Call ``step`` until the graph, with the ops that joining needs, has as many ops as asked for."""
        while self.ops + self.joins_needed() < ops:
            step()

    def finish(self) -> Dfg:
        """Join the values without a reader, add outputs, drop idle inputs, and return the graph."""
        rng, b = self.rng, self.builder
        while len(unread := self.unread) > self.style.outputs:
            k = rng.randrange(len(unread) - 1)
            self.op(unread[k], unread[k + 1])
        idle = {v for v in unread if v in self._names}
        for k, value in enumerate(v for v in unread if v not in idle):
            b.output(value, f"y{k}")
        b.nodes = [node for node in b.nodes if node.id not in idle]
        return b.build()


# -- shapes ---------------------------------------------------------------------------------------------------------


def _window(draft: GraphDraft, ops: int) -> None:
    """Each op reads values that were made shortly before it."""
    for _ in range(draft.style.inputs):
        draft.input()

    def step() -> None:
        first = draft.pick(draft.values)
        draft.step(first, draft.pick(draft.values, first))

    draft.grow(ops, step)


def _layered(draft: GraphDraft, ops: int) -> None:
    """Layers that read the layer before, near their own position, and sometimes an older one."""
    lanes, rng = draft.style.lanes, draft.rng
    layer = [draft.input() for _ in range(lanes)]
    older = list(layer)
    reach = max(1, int(draft.style.locality * lanes))
    while draft.ops + draft.joins_needed() < ops:
        current = []
        for k in range(lanes):
            if draft.ops + draft.joins_needed() >= ops:
                break
            first = layer[min(len(layer) - 1, k)]
            second = layer[(k + rng.randint(-reach, reach)) % len(layer)]
            if rng.random() < 0.08:
                second = rng.choice(older)
            current.append(draft.step(first, second) if first != second else draft.op(first))
        older += layer
        layer = current or layer


def _trees(draft: GraphDraft, ops: int) -> None:
    """Sums of products: leaves are inputs times constants, several trees over shared inputs."""
    style, rng = draft.style, draft.rng
    for _ in range(style.inputs):
        draft.input()
    roots = list(draft.values)
    while draft.ops + draft.joins_needed() < ops:
        leaves = rng.randint(2, max(2, min(style.lanes + 2, ops - draft.ops)))
        level = [draft.pick(roots) for _ in range(leaves)]
        level = [draft.op(v) if rng.random() < 2 * style.constant_share else v for v in level]
        while len(level) > 1 and draft.ops < ops:
            pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
            level = [draft.op(*pair) if len(pair) == 2 and pair[0] != pair[1] else pair[0] for pair in pairs]
        roots.append(level[0])


def _butterfly(draft: GraphDraft, ops: int) -> None:
    """Stages of sums and differences of pairs at changing distances, some scaled."""
    lanes, rng = max(2, draft.style.lanes), draft.rng
    layer = [draft.input() for _ in range(lanes)]
    stride = 1
    while draft.ops + draft.joins_needed() < ops:
        new = list(layer)
        for k in range(lanes):
            j = k ^ stride
            if j < lanes and k < j and layer[k] != layer[j] and draft.ops + draft.joins_needed() + 1 < ops:
                new[k], new[j] = draft.op(layer[k], layer[j]), draft.op(layer[k], layer[j])
            elif draft.ops + draft.joins_needed() < ops and rng.random() < draft.style.constant_share:
                new[k] = draft.op(layer[k])
        if new == layer:
            new[0] = draft.op(layer[0])
        layer = [draft.op(v) if rng.random() < draft.style.constant_share / 2 and draft.ops < ops else v for v in new]
        stride = stride * 2 if stride * 2 < lanes else 1


def _lanes(draft: GraphDraft, ops: int) -> None:
    """Chains side by side that read from each other sometimes."""
    style, rng = draft.style, draft.rng
    heads = [draft.input() for _ in range(max(1, style.lanes))]

    def step() -> None:
        k = rng.randrange(len(heads))
        j = (k + rng.choice((-1, 1))) % len(heads) if rng.random() < 0.8 else rng.randrange(len(heads))
        alone = heads[j] == heads[k] or rng.random() < 1 - style.locality
        heads[k] = draft.op(heads[k]) if alone else draft.step(heads[k], heads[j])

    draft.grow(ops, step)


def _forks(draft: GraphDraft, ops: int) -> None:
    """Values that fork into branches and join again, nested or one after the other."""
    rng = draft.rng
    ends = [draft.input() for _ in range(max(1, draft.style.inputs // 2))]

    def step() -> None:
        k = rng.randrange(len(ends))
        if rng.random() < 0.4 and len(ends) < draft.style.lanes + 2:
            ends.append(draft.op(ends[k]))
        elif len(ends) > 1 and rng.random() < 0.6:
            other = ends.pop(k)
            j = rng.randrange(len(ends))
            ends[j] = draft.op(ends[j], other) if ends[j] != other else draft.op(other)
        else:
            ends[k] = draft.step(ends[k], draft.pick(draft.values, ends[k]))

    draft.grow(ops, step)


def _rounds(draft: GraphDraft, ops: int) -> None:
    """A state of a few words that is mixed and rotated round after round, with an input or a constant each."""
    style, rng = draft.style, draft.rng
    state = [draft.input() for _ in range(max(2, min(5, style.lanes)))]

    def step() -> None:
        mixed = draft.op(state[-1], state[-2]) if state[-1] != state[-2] else draft.op(state[-1])
        for value in rng.sample(state, min(len(state), rng.randint(0, 2))):
            if value != mixed and draft.ops < ops:
                mixed = draft.step(mixed, value)
        if rng.random() < 0.5:
            word = draft.input()
            mixed = draft.op(mixed, word) if draft.ops < ops else mixed
        if rng.random() < style.constant_share and draft.ops < ops:
            mixed = draft.op(mixed)
        state.append(mixed)
        state.pop(0)

    draft.grow(ops, step)


SHAPES: Final[Mapping[str, Callable[[GraphDraft, int], None]]] = {
    "window": _window,
    "layered": _layered,
    "trees": _trees,
    "butterfly": _butterfly,
    "lanes": _lanes,
    "forks": _forks,
    "rounds": _rounds,
}


def style_of(family: int) -> Style:
    """Return the style of a family; the same number always has the same style.

    >>> style_of(7) == style_of(7), style_of(OVERFULL).inputs > 12
    (True, True)
    """
    # A text as the seed keeps styles and graphs independent of each other, whatever their numbers.
    rng = random.Random(f"mappability style {family}")
    shape = rng.choice([*SHAPES, *SHAPES, "part"])
    inputs = rng.choice((1, 2, 2, 3, 4, 4, 5, 6, 8, 8, 10, 12))
    usual = Style(
        family=family,
        shape=shape,
        mix=rng.choice(tuple(MIXES)),
        inputs=inputs,
        outputs=rng.choice((1, 1, 2, 2, 3, 4, 4, 6, 8, 8, 10, 12)),
        constants=rng.choice((0, 1, 2, 3, 4, 6, 8, 8, 11, 13, 15, 16)),
        constant_share=rng.choice((0.05, 0.1, 0.2, 0.3, 0.45)),
        locality=rng.choice((0.15, 0.3, 0.5, 0.8, 1.0)),
        thrift=rng.choice((0.0, 0.5, 1.0, 3.0, 8.0)),
        fan_out=rng.choice((2, 3, 4, 6, 12)),
        lanes=rng.randint(2, 9),
    )
    return usual if family < OVERFULL else _overfull(usual, rng)


def _overfull(style: Style, rng: random.Random) -> Style:
    """The style with more inputs, outputs and constants than the published array takes."""
    return replace(
        style,
        inputs=rng.randint(13, 20),
        outputs=rng.randint(13, 20),
        constants=rng.randint(17, 28),
        constant_share=rng.choice((0.3, 0.45, 0.6)),
        lanes=rng.randint(9, 16),
    )


def draw(family: int, number: int) -> Dfg:
    """Return graph ``number`` of a family, with 5 to 80 ops; the same numbers always give the same graph.

    >>> graph = draw(3, 0)
    >>> graph.name, graph.domain, graph == draw(3, 0)
    ('random_3_0', 'cma24', True)
    """
    style = style_of(family)
    rng = random.Random(f"mappability graph {family} {number}")
    name = f"random_{family}_{number}"
    if style.shape == "part":
        return _part(style, rng, name)
    ops = _size(rng, 0.6 if family >= OVERFULL else 1.4)
    draft = GraphDraft(style, rng, name)
    SHAPES[style.shape](draft, ops)
    return draft.finish()


def _size(rng: random.Random, power: float = 1.4) -> int:
    """How many ops a graph has: small graphs are more frequent, as they are among the parts that a flow asks about."""
    return LEAST_OPS + int((MOST_OPS + 1 - LEAST_OPS) * rng.random() ** power)


# -- parts of kernels -----------------------------------------------------------------------------------------------


def as_cma(source: str) -> Dfg | None:
    """Return a kernel's graph with the array's ops instead of its own; None: it has ops that the array cannot do.

    Values need not mean the same, since only the shape of the graph matters to a mapping. None also for kernels with
    arrays in memory, with loop-carried or ordering edges, and where an op's counterpart takes another number of
    operands.
    """
    try:
        dfg: Dfg = registry.load("kernels", source).build()
    except GridloomError:
        return None
    nodes = []
    for node in dfg.nodes:
        op = node.op if node.op in ("input", "output", "const", "livein") else _AS_CMA.get(node.op)
        if op is None or node.array is not None:
            return None
        value = None if node.op != "const" else int(node.value or 0) % 50_000
        nodes.append(Node(id=node.id, op=op, value=value, variable=node.variable))
    edges = tuple(Edge(source=e.source, target=e.target, operand=e.operand) for e in dfg.edges if e.kind == "data")
    if not dfg.is_acyclic or len(edges) != len(dfg.edges):
        return None
    try:
        return Dfg(name=dfg.name, domain="cma24", nodes=tuple(nodes), edges=edges)
    except GridloomError:
        return None


@lru_cache(maxsize=1)
def part_sources() -> tuple[Dfg, ...]:
    """Return the graphs that parts are taken from."""
    return tuple(dfg for dfg in map(as_cma, PART_SOURCES) if dfg is not None)


def group_of(family: int) -> str:
    """Return what a family is kept together with in folds: itself, or all parts of the same kernel.

    >>> group_of(3), group_of(3) == group_of(4)
    ('family 3', False)
    """
    if style_of(family).shape != "part":
        return f"family {family}"
    return f"kernel {_whole(family).name}"


def _whole(family: int) -> Dfg:
    """The kernel that the parts of a family are taken from."""
    sources = part_sources()
    return sources[family % len(sources)]


def _part(style: Style, rng: random.Random, name: str) -> Dfg:
    """A convex part of a kernel: what lies between two cuts of an order in which dependences go forward.

    Such a part is convex, which the partitioning flow's parts are too: no path leaves it and comes back.
    """
    whole = _whole(style.family)
    # Any cut of an order in which dependences go forward gives convex parts.
    order = _random_order(whole, rng)
    ops = _size(rng)
    start = rng.randint(0, max(0, len(order) - ops))
    home = {node: int(k >= start) + int(k >= start + ops) for k, node in enumerate(order)}
    parts = split(whole, home)
    wanted = next(
        part for part in parts if order[start] in part.dfg.index and part.dfg.node(order[start]).op != "input"
    )
    return wanted.dfg.renamed(name)


def _random_order(dfg: Dfg, rng: random.Random) -> list[str]:
    """The ops in a random order in which every dependence goes forward, mostly depth first."""
    inner = {
        node.id
        for node, op in zip(dfg.nodes, dfg.ops, strict=True)
        if not op.timeless and node.op not in ("input", "output")
    }
    waiting = dict.fromkeys(inner, 0)
    readers: dict[str, list[str]] = {node: [] for node in inner}
    for edge in dfg.edges:
        if edge.source in waiting and edge.target in waiting:
            waiting[edge.target] += 1
            readers[edge.source].append(edge.target)
    ready = sorted(node for node, count in waiting.items() if count == 0)
    rng.shuffle(ready)
    order = []
    while ready:
        node = ready.pop(-1 if rng.random() < 0.8 else rng.randrange(len(ready)))
        order.append(node)
        for reader in readers[node]:
            waiting[reader] -= 1
            if waiting[reader] == 0:
                ready.append(reader)
    return order
