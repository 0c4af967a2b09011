"""Random loops for the data of the II estimator: many shapes, each family with a style of its own.

A *family* is a number from which a style is drawn: shape, size, fan-out, locality, streams, live-ins and carried
values. Its graphs share the style and differ in size and in every further draw. A graph is drawn again from two
numbers, so that labels need not keep it, and folds go by family: graphs of one style are too much alike for some to be
trained on and others to be measured on.

Graphs have streams; on arrays with memory and without ports these become loads and stores, as those of any kernel do.

Arrays for the data of the II estimator, each drawn from a number: tori, presets, crossbars, described meshes.

What limits a loop differs from array to array: issue slots, registers, links, memory ports, or multipliers. Arrays are
small (at most 16 PEs), because a search on a large one takes minutes and there is room on it anyway.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gridloom.dfg.model import Dfg, DfgBuilder

#: Ops of two operands, the frequent ones several times.
_OPS: Final = ("add", "add", "sub", "mul", "xor", "and", "shl", "max", "mul", "add")


@dataclass(frozen=True, kw_only=True)
class LoopStyle:
    """What the loops of a family have in common."""

    family: int
    shape: str
    #: The fewest and the most ops.
    ops: tuple[int, int]
    #: The most streams read and written, and live-ins.
    inputs: int
    outputs: int
    liveins: int
    #: The share of values, latest first, that operands are chosen from, and the most readers of a value.
    locality: float
    fan_out: int
    #: Values side by side, in shapes that have lanes or layers.
    lanes: int
    #: The share of ops that read a carried value, the ops on its way round, and the iterations that it is carried over.
    carried_share: float
    carried_length: int
    carried_distance: int


def style_of(family: int) -> LoopStyle:
    """Return the style of a family, drawn from its number."""
    rng = random.Random(f"loop family {family}")
    least = rng.choice((4, 5, 6, 7, 8, 10, 12, 16))
    carried = rng.random() < 0.6
    return LoopStyle(
        family=family,
        shape=rng.choice(tuple(SHAPES)),
        ops=(least, least + least // 2),
        inputs=rng.choice((1, 2, 2, 3, 4, 6)),
        outputs=rng.choice((1, 1, 1, 2, 3, 4)),
        liveins=rng.choice((0, 0, 0, 1, 2, 4)),
        locality=rng.choice((0.15, 0.3, 0.6, 1.0)),
        fan_out=rng.choice((2, 3, 4, 6, 12)),
        lanes=rng.choice((2, 3, 4, 6, 8)),
        carried_share=rng.choice((0.05, 0.1, 0.2)) if carried else 0.0,
        carried_length=rng.choice((1, 2, 3, 5)),
        carried_distance=rng.choice((1, 1, 1, 2)),
    )


class _Draft:
    """A loop that grows op by op; ``values`` holds streams and results, the latest last."""

    def __init__(self, style: LoopStyle, rng: random.Random, name: str) -> None:
        self.style = style
        self.rng = rng
        self.builder = DfgBuilder(name)
        self.ops = 0
        self.values: list[str] = []
        self.readers: dict[str, int] = {}
        self.sources: dict[str, tuple[str, ...]] = {}
        self.waiting: list[str] = []
        self._streams: list[str] = []
        self._liveins = [self.builder.livein(f"c{k}") for k in range(rng.randint(0, style.liveins))]

    def stream(self) -> str:
        """Add a stream, or choose one of those that there are once the style's number is reached; returns it."""
        if len(self._streams) >= self.style.inputs:
            return self.rng.choice(self._streams)
        name = self.builder.input(f"x{len(self._streams)}")
        self._streams.append(name)
        self._keep(name, ())
        return name

    def op(self, first: str, second: str) -> str:
        """Add an op on two values; the second may turn into a carried value or a live-in. Returns its result."""
        rng = self.rng
        operands: tuple[str, ...] = (first, second)
        if rng.random() < self.style.carried_share:
            operands = (first,)
        elif self._liveins and rng.random() < 0.15:
            operands = (first, rng.choice(self._liveins))
        name = self.builder.add(rng.choice(_OPS), *operands)
        if len(operands) == 1:
            self.waiting.append(name)
        self.ops += 1
        self._keep(name, operands)
        return name

    def _keep(self, name: str, operands: tuple[str, ...]) -> None:
        for value in operands:
            self.readers[value] = self.readers.get(value, 0) + 1
        self.sources[name] = operands
        self.values.append(name)
        self.readers[name] = 0

    def pick(self, among: Sequence[str], other: str = "") -> str:
        """Return one of some values: a recent one that has not too many readers, and not ``other`` where possible."""
        start = max(0, len(among) - max(2, int(self.style.locality * len(among))))
        near = [v for v in among[start:] if self.readers[v] < self.style.fan_out and v != other]
        return self.rng.choice(near or [v for v in among[start:] if v != other] or list(among))

    def finished(self) -> Dfg:
        """Join what nobody reads into the outputs, close the carried values, and return the graph."""
        unread = [v for v in self.values if self.readers[v] == 0]
        while len(unread) > self.style.outputs:
            first, second = unread.pop(0), unread.pop(0)
            name = self.builder.add("add", first, second)
            self._keep(name, (first, second))
            unread.append(name)
        for k, value in enumerate(unread):
            self.builder.output(value, f"y{k}")
        for name in self.waiting:
            distance = self.style.carried_distance
            self.builder.carry(self._below(name), name, operand=1, distance=distance, initial=[0] * distance)
        return self.builder.build()

    def _below(self, name: str) -> str:
        """Return a value that depends on an op by about as many ops as the style says: what it carries back."""
        chain = [name]
        position = self.values.index(name)
        for value in self.values[position + 1 :]:
            if len(chain) >= self.style.carried_length:
                break
            if chain[-1] in self.sources[value]:
                chain.append(value)
        return chain[-1]


def _growing(draft: _Draft, size: int) -> None:
    """Each op reads two earlier values."""
    for _ in range(2):
        draft.stream()
    while draft.ops < size:
        fresh = draft.rng.random() < draft.style.inputs / size
        first = draft.stream() if fresh else draft.pick(draft.values)
        draft.op(first, draft.pick(draft.values, first))


def _layers(draft: _Draft, size: int) -> None:
    """Each op of a layer reads two values of the layer before."""
    layer = [draft.stream() for _ in range(draft.style.lanes)]
    while draft.ops < size:
        layer = [draft.op(v, draft.rng.choice(layer)) for v in draft.rng.sample(layer, len(layer))]


def _tree(draft: _Draft, size: int) -> None:
    """Products of streams that a tree adds up."""
    queue: list[str] = []
    while 2 * len(queue) <= size:
        first = draft.stream()
        queue.append(draft.op(first, draft.pick(draft.values)))
    while len(queue) > 1:
        queue.append(draft.op(queue.pop(0), queue.pop(0)))


def _butterfly(draft: _Draft, size: int) -> None:
    """Stages of sums over lanes at strides of powers of two."""
    lanes = 4 if draft.style.lanes < 6 else 8
    stage = [draft.stream() for _ in range(lanes)]
    stride = 1
    while draft.ops < size:
        stage = [draft.op(stage[k], stage[k ^ stride]) for k in range(lanes)]
        stride = 2 * stride if 2 * stride < lanes else 1


def _chain(draft: _Draft, size: int) -> None:
    """One long chain; each op also reads a stream or something older."""
    last = draft.stream()
    while draft.ops < size:
        other = draft.stream() if draft.rng.random() < 0.3 else draft.rng.choice(draft.values)
        last = draft.op(last, other)


def _hubs(draft: _Draft, size: int) -> None:
    """A few values that many ops read."""
    hubs = [draft.stream() for _ in range(2)]
    while draft.ops < size:
        name = draft.op(draft.pick(draft.values), draft.rng.choice(hubs))
        if draft.rng.random() < 0.1:
            hubs[draft.rng.randrange(2)] = name


def _parallel(draft: _Draft, size: int) -> None:
    """Lanes beside each other that meet now and then."""
    lanes = [draft.stream() for _ in range(draft.style.lanes)]
    while draft.ops < size:
        k = draft.rng.randrange(len(lanes))
        meets = draft.rng.random() < 0.2
        lanes[k] = draft.op(lanes[k], draft.rng.choice(lanes) if meets else draft.stream())


SHAPES: Final[Mapping[str, Callable[[_Draft, int], None]]] = {
    "growing": _growing,
    "layers": _layers,
    "tree": _tree,
    "butterfly": _butterfly,
    "chain": _chain,
    "hubs": _hubs,
    "parallel": _parallel,
}


def draw(family: int, number: int) -> Dfg:
    """Return a graph of a family. Linear in its size but for the choice of operands.

    >>> draw(3, 0).nodes == draw(3, 0).nodes
    True
    """
    style = style_of(family)
    rng = random.Random(f"loop {family} {number}")
    draft = _Draft(style, rng, f"loop_{family}_{number}")
    SHAPES[style.shape](draft, rng.randint(*style.ops))
    return draft.finished()


_SIZES: Final = ((2, 2), (2, 2), (2, 3), (2, 4), (3, 3), (3, 3), (3, 4), (4, 4), (4, 4))
_LINKS: Final[tuple[Any, ...]] = (
    ["mesh"],
    ["mesh"],
    ["mesh", "diagonal"],
    [{"pattern": "mesh", "along": "rows"}, {"pattern": "onehop", "along": "cols"}],
    ["onehop"],
)


def array_text(number: int) -> str:
    """Return the description of an array as JSON text, drawn from a number.

    >>> array_text(7) == array_text(7)
    True
    """
    rng = random.Random(f"array {number}")
    kind = rng.choices(("torus", "central", "preset", "hycube", "described"), (38, 8, 10, 12, 32))[0]
    rows, cols = rng.choice(_SIZES)
    makers = {"torus": _torus, "central": _central, "preset": _preset, "hycube": _hycube, "described": _described}
    return json.dumps(makers[kind](rng, rows, cols), sort_keys=True)


def _memory(rng: random.Random) -> dict[str, Any]:
    """Which PEs access memory, and how many at a time."""
    where = rng.choice(("all", "all", {"region": {"cols": [0, 0]}}, {"region": {"rows": [0, 0]}}))
    return {"memory": where, "bus": rng.choice(("row", "row", "dedicated", None))}


def _torus(rng: random.Random, rows: int, cols: int) -> dict[str, Any]:
    return {
        "family": "torus",
        "rows": rows,
        "cols": cols,
        "regs": rng.choice((0, 1, 1, 2, 2, 4, 8)),
        "mul": rng.choice(("all", "all", "checkerboard", {"region": {"cols": [0, 0]}})),
        "latency": {"*": 1, "mul": rng.choice((1, 1, 2, 3))},
        "hold": rng.choice(("until-write", "until-write", "next")),
        **_memory(rng),
    }


def _central(rng: random.Random, rows: int, cols: int) -> dict[str, Any]:
    return {
        "family": "torus",
        "rows": rows,
        "cols": cols,
        "file": "central",
        "regs": rng.choice((4, 8, 16, 32)),
        **_memory(rng),
    }


def _preset(rng: random.Random, rows: int, cols: int) -> dict[str, Any]:
    return {"family": f"ramp-{rng.choice((1, 2, 3, 4, 5, 6, 7, 8))}"}


def _hycube(rng: random.Random, rows: int, cols: int) -> dict[str, Any]:
    return {
        "family": "hycube",
        "rows": rows,
        "cols": cols,
        "hops": rng.choice((1, 2, 4)),
        "regs": rng.choice((None, 1, 2, 4)),
        "bus": rng.choice(("row", "dedicated", None)),
    }


def _described(rng: random.Random, rows: int, cols: int) -> dict[str, Any]:
    tiles: list[dict[str, Any]] = [{"ops": ["alu"], "registers": rng.choice((0, 1, 2, 4))}]
    tiles.append({"where": rng.choice(({"col": 0}, {"row": 0}, "all")), "ops": {"add": "memory"}})
    tiles.append({"where": rng.choice(({"col": cols - 1}, {"row": rows - 1}, "all")), "ops": {"add": "mul"}})
    tiles[-1]["latency"] = {"mul": rng.choice((1, 2))}
    spec: dict[str, Any] = {
        "style": "modulo",
        "rows": rows,
        "cols": cols,
        "links": rng.choice(_LINKS),
        "tiles": tiles,
        "memory": {"ports": rng.choice(("row", "column", "tile", "none"))},
    }
    if rng.random() < 0.25:
        spec["buses"] = [rng.choice(("rows", "columns"))]
    return spec
