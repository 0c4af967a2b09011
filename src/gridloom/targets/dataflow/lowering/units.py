"""Units of a section: stages with so many compute units each become nodes with work and edges with token counts.

In a product on n compute units, each has its tiles of columns (as many columns as lanes), for which it takes packets of
weight vectors from a memory unit and the block's rows from another, again for each tile; the sums go out when a tile is
through. Results pass through memory units that hold two blocks: their two sides work on different blocks.

Token counts must come out even, or the graph has no repetition vector: units are therefore counted in divisors of what
is divided, and an edge carries packets of at most ``Fabric.packet`` vectors. ``Units._padded`` rounds a count up where
it has no such divisor.

What several units read of one, they get by multicast (the same ``part`` of an edge): the rows of a product, operands
that every unit reads whole, and results that several stages read. Weights and shares are parts of their own.

Every value has a *level*: how many double buffers lie between it and the inputs of the section. Values
of different levels belong to different blocks at any one time, so that a stage that reads two of them needs the earlier
one delayed by as many blocks (``Units.delay``), as in skip connections.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, gcd, lcm

from gridloom.targets.dataflow.lowering.stages import Stage, UnitFabric, divisors
from gridloom.targets.dataflow.program.model import TokenEdge, UnitGraph, UnitNode

#: Compute units that one memory unit sends the same rows to.
_ROW_READERS = 8


@dataclass(frozen=True, slots=True)
class Stream:
    """A value on its way: the nodes that put it, and the tokens of a block that each puts; ``level`` is their stage.

    The parts lie side by side in order: the first node puts the first tokens of the block.

    >>> Stream((("a", 4), ("b", 4)), 0).share(1, 4)
    [('a', 2)]
    >>> Stream((("a", 4), ("b", 4)), 0).share(0, 1)
    [('a', 4), ('b', 4)]
    """

    parts: tuple[tuple[str, int], ...]
    level: int

    @property
    def total(self) -> int:
        """Tokens of a block."""
        return sum(tokens for _, tokens in self.parts)

    def share(self, k: int, count: int) -> list[tuple[str, int]]:
        """Return what consumer k of count reads of it when each reads its own part."""
        low, high = k * self.total // count, (k + 1) * self.total // count
        found, at = [], 0
        for node, tokens in self.parts:
            overlap = min(high, at + tokens) - max(low, at)
            if overlap > 0:
                found.append((node, overlap))
            at += tokens
        return found


class TooLarge(Exception):
    """A section does not fit its array, and what there is too little of; caught where sections are cut."""


class SectionUnits:
    """Nodes and edges of a section as they are made.

    Methods add to the section and raise ``TooLarge`` as soon as the array has too little of something; the object is
    then of no further use. ``firings`` says how often each node fires per block, from which the rates of its edges
    follow. ``operands`` counts the inputs of each node, ``used`` the units of each kind.
    """

    def __init__(self, fabric: UnitFabric) -> None:
        self.fabric = fabric
        self.nodes: dict[str, UnitNode] = {}
        self.edges: list[TokenEdge] = []
        self.firings: dict[str, int] = {}
        self.operands: dict[str, int] = {}
        self.used = {"compute": 0, "memory": 0, "dram": 0}
        #: What is added to the names of nodes: copies of a section have names of their own.
        self.suffix = ""
        #: Tokens of a block of each node whose result is a stream: an edge with as many carries all of it.
        self.whole: dict[str, int] = {}
        self.parts: dict[str, int] = {}
        #: Memory units that hold an operand which is a value itself: a sample of it has to be there before it is read.
        self.held: list[str] = []
        #: Stage of the memory units that hold rows.
        self.level_of: dict[str, int] = {}

    def build(self, name: str) -> UnitGraph:
        """Return the graph; TooLarge when a unit has more inputs than there are."""
        if max(self.operands.values(), default=0) > self.fabric.operands:
            raise TooLarge("operands")
        return UnitGraph(name=name, nodes=tuple(self.nodes.values()), edges=tuple(self.edges))

    # -- nodes and edges --------------------------------------------------------------------------------------------

    def node(self, name: str, op: str, stage: str, work: int, firings: int) -> str:
        """Add a node that fires so often per block, each time for ``work`` cycles; return its name."""
        kind = {"buffer": "memory", "input": "dram", "output": "dram"}.get(op, "compute")
        self.used[kind] += 1
        if self.used[kind] > getattr(self.fabric, kind):
            raise TooLarge(f"{kind} units")
        name += self.suffix
        self.nodes[name] = UnitNode(id=name, op=op, label=stage, work=max(1, work))
        self.firings[name] = firings
        return name

    def edge(self, source: str, target: str, tokens: int, *, blocks: int = 0, part: int | None = None) -> None:
        """Add an edge that carries so many tokens per block; into memory it has room for ``blocks`` whole blocks.

        Edges of one source with the same ``part`` carry the same tokens. Unless it is given, an edge with all tokens of
        its source has part 0, and any other a part of its own.

        Between two nodes, packets go in step with the firings of both ends. Into memory (``blocks`` above 0), the
        consumer takes a whole block at once, before the first of its firings for it: it reads the block many times or
        in another order.
        """
        wanted = tokens
        tokens = self._padded(
            tokens, [self.firings[source]] if blocks else [self.firings[source], self.firings[target]]
        )
        if part is None and wanted != self.whole.get(source):
            part = self.parts[source] = self.parts.get(source, 0) + 1
        puts, puts_every = self._cadence(tokens, self.firings[source])
        takes, takes_every = (tokens, self.firings[target]) if blocks else self._cadence(tokens, self.firings[target])
        room = blocks * tokens if blocks else None
        if room is not None and room > self.fabric.capacity:
            raise TooLarge("memory of a unit")
        operand = self.operands.get(target, 0)
        self.operands[target] = operand + 1
        self.edges.append(
            TokenEdge(
                source=source, target=target, operand=operand, tokens=puts, takes=None if takes == puts else takes,
                puts_every=puts_every, takes_every=takes_every, room=room, part=part or 0,
            )
        )  # fmt: skip

    def _cadence(self, tokens: int, firings: int) -> tuple[int, int]:
        """Return the tokens of a packet and after how many firings one goes: half a FIFO where that divides.

        The smallest possible packet goes out most often; larger ones are multiples of it, as long as they divide the
        firings.
        """
        common = gcd(tokens, firings)
        least = tokens // common
        factor = max(m for m in range(1, self.fabric.packet // least + 1) if common % m == 0)
        return least * factor, firings // common * factor

    def _padded(self, tokens: int, firings: list[int]) -> int:
        """Return the least number of tokens, no less than these, that is whole packets at each of these firings."""
        for count in range(tokens, 2 * tokens + self.fabric.packet):
            if all(count // gcd(count, often) <= self.fabric.packet for often in firings):
                return count
        raise TooLarge("packets")

    def _packets(self, tokens: int) -> int:
        """Return the firings per block of a node that handles so many tokens, one packet each time."""
        return tokens // self._packet(tokens)

    def _packet(self, tokens: int) -> int:
        """Return the largest packet that so many tokens are a whole number of."""
        return max(d for d in divisors(tokens) if d <= self.fabric.packet)

    def _common_firings(self, tokens: list[int]) -> int:
        """Return the fewest firings per block for which the packets of all these edges are whole and small enough."""
        for firings in divisors(lcm(*tokens)):
            if all(count // gcd(count, firings) <= self.fabric.packet for count in tokens):
                return firings
        raise TooLarge("packets")

    # -- memory between stages --------------------------------------------------------------------------------------

    def narrow(self, stream: Stream, most: int, stage: str) -> Stream:
        """Return the stream from at most ``most`` nodes: memory units gather what comes from more.

        Each round joins up to ``operands`` nodes per memory unit, in equal groups where the count allows, and raises
        the level by one. Several rounds make a tree.
        """
        while len(stream.parts) > most:
            count = len(stream.parts)
            groups = next(g for g in divisors(count) if count / g <= self.fabric.operands or g == count)
            if groups == count:
                groups = -(-count // self.fabric.operands)
            size = -(-count // groups)
            chunks = [stream.parts[k : k + size] for k in range(0, count, size)]
            parts = tuple(self._buffer(list(chunk), f"{stage}.gather", stage, 2) for chunk in chunks)
            stream = Stream(parts, stream.level + 1)
        return stream

    def _buffer(self, parts: list[tuple[str, int]], name: str, stage: str, blocks: int) -> tuple[str, int]:
        """Add a memory unit that gathers what the nodes put and holds so many blocks; return it with its tokens."""
        tokens = sum(count for _, count in parts)
        firings = self._packets(tokens)
        unit = self.node(
            f"{name}{len(self.nodes)}", "buffer", stage, ceil(tokens / firings / self.fabric.ports), firings
        )
        for source, count in parts:
            self.edge(source, unit, count, blocks=blocks)
        self.whole[unit] = tokens
        return unit, tokens

    def delay(self, stream: Stream, level: int, stage: str) -> Stream:
        """Return the stream as a later stage reads it: memory units hold the blocks that are under way elsewhere.

        As many memory units are used as their capacity or their operands demand, each with a share of every block.
        """
        if stream.level >= level:
            return stream
        blocks = level - stream.level + 1
        count = max(-(-blocks * stream.total // self.fabric.capacity), -(-len(stream.parts) // self.fabric.operands))
        shares = [stream.share(k, count) for k in range(count)]
        return Stream(tuple(self._buffer(share, f"{stage}.delay", stage, blocks) for share in shares), level)

    # -- DRAM -------------------------------------------------------------------------------------------------------

    def source(self, name: str, tokens: int, period: int) -> Stream:
        """Add an input with as many DRAM interfaces as keep up with a period; return its stream.

        The stream has level 0. What the interfaces carry is divided evenly between them.
        """
        count = self._interfaces(tokens, period)
        share = -(-tokens // count)
        firings = self._packets(share)
        names = [self.node(f"{name}.{k}", "input", name, ceil(share / firings), firings) for k in range(count)]
        self.whole |= dict.fromkeys(names, share)
        return Stream(tuple((unit, share) for unit in names), 0)

    def sink(self, name: str, stream: Stream, period: int) -> None:
        """Add an output to DRAM."""
        count = self._interfaces(stream.total, period)
        for k in range(count):
            parts = tuple(stream.share(k, count))
            # An output has one operand: what comes from several nodes is joined in memory before.
            while len(parts) > 1:
                parts = self.narrow(Stream(parts, stream.level), 1, name).parts
            ((source, tokens),) = parts
            firings = self._packets(tokens)
            self.edge(source, self.node(f"{name}.{k}", "output", name, ceil(tokens / firings), firings), tokens)

    def _interfaces(self, tokens: int, period: int) -> int:
        """Return how many DRAM interfaces carry so many tokens in a period with a fifth of the time to spare.

        It is a divisor of the tokens, so that all carry the same; 1 where no divisor is large enough.
        """
        wanted = ceil(tokens * self.fabric.dram_cycles / max(1.0, 0.8 * period))
        if self.fabric.most_interfaces:
            return max(d for d in divisors(tokens) if d <= max(1, min(wanted, self.fabric.most_interfaces)))
        return next((d for d in divisors(tokens) if d >= wanted), 1)

    # -- stages -----------------------------------------------------------------------------------------------------

    def stage(self, stage: Stage, units: int, inputs: list[Stream]) -> Stream:
        """Add the units of a stage and return its result; ``inputs`` are the streams of its operands in order."""
        if stage.kind == "vector":
            return self._vector(stage, units, inputs)
        return (
            self._weight_grad(stage, units, inputs) if stage.kind == "weight_grad" else self._gemm(stage, units, inputs)
        )

    def _vector(self, stage: Stage, units: int, inputs: list[Stream]) -> Stream:
        """Add the units of a vector stage; operands that come from earlier stages are delayed to the latest one."""
        if stage.window:
            inputs = [self._windowed(inputs[0], stage), *inputs[1:]]
        ready, top = self._together(inputs, self.fabric.operands // len(inputs) * units, stage.id)
        share = -(-stage.vectors // units)
        busy = -(-max(stage.vectors, stage.streamed) // units) * -(-stage.steps // self.fabric.stages)
        whole = stage.shared or (False,) * len(ready)
        if any(whole):
            # Every unit reads all of a narrow operand: it comes from as few nodes as its operands allow.
            ready = [self.narrow(s, 1, stage.id) if w else s for s, w in zip(ready, whole)]
            top = max(stream.level for stream in ready)
            ready = [self.delay(stream, top, stage.id) for stream in ready]
        parts = []
        for k in range(units):
            feeds = [
                (*feed, 0 if all_of_it else None) for stream, all_of_it in zip(ready, whole)
                for feed in (stream.parts if all_of_it else stream.share(k, units))
            ]  # fmt: skip
            firings = self._common_firings([share, *(tokens for _, tokens, _ in feeds)])
            work = ceil(busy / firings)
            unit = self.node(f"{stage.id}.v{k}", "elementwise", stage.id, work, firings)
            for source, tokens, part in feeds:
                self.edge(source, unit, tokens, part=part)
            self.whole[unit] = share
            parts.append((unit, share))
        return Stream(tuple(parts), top)

    def _windowed(self, stream: Stream, stage: Stage) -> Stream:
        """Return the stream through memory units that hold the rows of a window beside the blocks that stream."""
        blocks = 2 + -(-stage.window // stream.total)
        count = max(-(-blocks * stream.total // self.fabric.capacity), -(-len(stream.parts) // self.fabric.operands))
        shares = [stream.share(k, count) for k in range(count)]
        parts = tuple(self._buffer(share, f"{stage.id}.window", stage.id, blocks) for share in shares if share)
        return Stream(parts, stream.level + blocks - 1)

    def _together(self, inputs: list[Stream], most: int, stage: str) -> tuple[list[Stream], int]:
        """Return the streams of a stage's operands at one level, narrowed to ``most`` nodes, and that level."""
        level = max(stream.level for stream in inputs)
        ready = [self.narrow(self.delay(stream, level, stage), most, stage) for stream in inputs]
        # Gathering may have raised the level of one operand above the others.
        top = max(stream.level for stream in ready)
        return [self.delay(stream, top, stage) for stream in ready], top

    def _gemm(self, stage: Stage, units: int, inputs: list[Stream]) -> Stream:
        """Add the compute units of a product, with the memory units of its two operands.

        Each compute unit owns tiles of columns, as many columns each as there are lanes. For a tile it takes the rows
        of the block once and the tile's weights once, and puts the finished sums. The result has the level of the rows'
        memory units.
        """
        fabric = self.fabric
        tiles = stage.batch * stage.columns // fabric.lanes // units
        inner = fabric.vectors(stage.inner)
        weights = tiles * inner * fabric.lanes
        rows = self._rows(stage, units, inputs[0], tiles * inner)
        level = max(self.level_of[unit] for unit in rows)
        packet = self._packet(weights)
        firings = weights // packet
        names = [
            self.node(f"{stage.id}.c{k}", "gemm", stage.id, packet * fabric.block_rows, firings) for k in range(units)
        ]
        for k, name in enumerate(names):
            # Units of one member of the batch read the same rows.
            member = k * stage.batch // units
            self.edge(rows[k * len(rows) // units], name, tiles * inner * fabric.block_rows, part=member)
            self.whole[name] = tiles * fabric.block_rows
        self._weights(stage, names, weights, inputs[1] if stage.held else None)
        return Stream(tuple((name, tiles * fabric.block_rows) for name in names), level)

    def _rows(self, stage: Stage, units: int, stream: Stream, firings: int) -> list[str]:
        """Add the memory units that hold a block of the left operand and send it once for each tile of columns."""
        fabric = self.fabric
        count = row_units(stage, units)
        if count is None:
            raise TooLarge("memory units")
        groups = min(count, stage.batch)
        stream = self.narrow(stream, fabric.operands * groups, stage.id)
        names = []
        work = ceil(fabric.block_rows / fabric.ports)
        for k in range(count):
            feeds = stream.share(k * groups // count, groups)
            while len(feeds) > fabric.operands:
                feeds = list(self.narrow(Stream(tuple(feeds), stream.level), fabric.operands, stage.id).parts)
            name = self.node(f"{stage.id}.x{k}", "buffer", stage.id, work, firings)
            # What a convolution looks at lies in blocks before and after the one that it works on.
            blocks = 2 + -(-stage.window // stream.total)
            for source, tokens in feeds:
                self.edge(source, name, tokens, blocks=blocks)
            self.level_of[name] = stream.level + blocks - 1
            names.append(name)
        return names

    def _weights(self, stage: Stage, names: list[str], weights: int, held: Stream | None) -> None:
        """Add the memory units with the right operand; each feeds some compute units, or several feed one."""
        fabric = self.fabric
        count = weight_units(stage, len(names), fabric)
        if count is None:
            raise TooLarge("memory units")
        if held is not None:
            held = self.narrow(held, fabric.operands * count, stage.id)
        each, several = max(1, len(names) // count), max(1, count // len(names))
        packet = self._packet(weights // several)
        firings = weights // several // packet
        for k in range(count):
            unit = self.node(f"{stage.id}.w{k}", "buffer", stage.id, ceil(packet * each / fabric.ports), firings)
            if held is not None:
                self.held.append(unit)
                for source, tokens in held.share(k, count):
                    self.edge(source, unit, tokens, blocks=2)
            for j in range(each):
                self.edge(unit, names[k * len(names) // count + j], weights // several)

    def _weight_grad(self, stage: Stage, units: int, inputs: list[Stream]) -> Stream:
        """Add the units of a weight gradient: memory units sum over rows, and a share goes out with each block.

        Both operands are brought to one level first, since a row of one meets the same row of the other. TooLarge where
        the share of a unit is no whole number of packets.
        """
        fabric = self.fabric
        share = stage.inner * stage.columns // fabric.lanes // units
        firings = share // fabric.packet
        if not firings or share % fabric.packet:
            raise TooLarge("packets")
        (left, right), level = self._together(inputs, fabric.operands, stage.id)
        names, parts = [], []
        for k in range(units):
            names.append(self.node(f"{stage.id}.c{k}", "gemm", stage.id, fabric.packet * fabric.block_rows, firings))
        for side, stream in (("x", left), ("y", right)):
            for first in range(0, units, _ROW_READERS):
                name = self.node(f"{stage.id}.{side}{first}", "buffer", stage.id, 1, firings)
                for source, tokens in stream.parts:
                    self.edge(source, name, tokens, blocks=2)
                for unit in names[first : first + _ROW_READERS]:
                    # Every unit has columns of its own of the right operand, and all of the left one.
                    self.edge(name, unit, firings, part=0 if side == "x" else None)
        size = -(-share // fabric.capacity)
        out = -(-stage.vectors // (units * size))
        for k, name in enumerate(names):
            for j in range(size):
                unit = self.node(f"{stage.id}.s{k}_{j}", "buffer", stage.id, -(-fabric.packet // size), firings)
                self.edge(name, unit, share // size)
                self.whole[unit] = out
                parts.append((unit, out))
        return Stream(tuple(parts), level + 1)


def row_units(stage: Stage, units: int) -> int | None:
    """Return how many memory units hold the left operand of a product; None when no number suits the compute units.

    The fewest are taken with which each feeds at most ``_ROW_READERS`` compute units and serves whole members of the
    batch (or whole fractions of one).
    """
    for count in divisors(units):
        if units // count <= _ROW_READERS and (stage.batch % count == 0 or count % stage.batch == 0):
            return count
    return None


def weight_units(stage: Stage, units: int, fabric: UnitFabric) -> int | None:
    """Return how many memory units hold the right operand: a divisor of the compute units, or a small multiple of them.

    A memory unit that feeds more than half of ``block_rows`` compute units would have no port cycles to spare.
    """
    vectors = stage.batch * fabric.vectors(stage.inner) * stage.columns * (2 if stage.held else 1)
    needed = -(-vectors // fabric.capacity)
    readers = max(1, fabric.block_rows * fabric.ports // 2)
    for count in divisors(units):
        if count >= needed and units // count <= readers:
            return count
    for factor in (2, 4):
        if units * factor >= needed and fabric.packet % factor == 0:
            return units * factor
    return None


def unit_counts(stage: Stage, fabric: UnitFabric) -> list[int]:
    """Return the numbers of compute units that a stage can have, smallest first.

    Only divisors of the work count, so that all units of a stage do the same; an empty list means that its operands do
    not fit the memory units at all.
    """
    if stage.kind == "vector":
        return [n for n in divisors(stage.vectors) if n <= fabric.compute]
    if stage.kind == "weight_grad":
        whole = stage.inner * stage.columns // fabric.lanes // fabric.packet
        return [n for n in divisors(whole) if n <= fabric.compute]
    counts = [n for n in divisors(stage.batch * stage.columns // fabric.lanes) if n <= fabric.compute]
    return [n for n in counts if row_units(stage, n) and weight_units(stage, n, fabric)]
