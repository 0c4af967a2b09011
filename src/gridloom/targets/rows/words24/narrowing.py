"""``narrow``: an integer loop of streams as a graph of 24-bit words that computes the same.

Values have to fit where all their bits matter; the first that does not is named with its range. The result keeps the
loop as it was, so that whoever maps the graph can run both and compare what they store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.interpreter import Stimulus, Words, interpret
from gridloom.dfg.model import Dfg
from gridloom.errors import SourceError
from gridloom.targets.rows.words24 import words
from gridloom.targets.rows.words24.carried import Streamed, find_carried_edge, stream_counters
from gridloom.targets.rows.words24.demand import ALL_BITS, WORD_BITS, demands_of
from gridloom.targets.rows.words24.lower import WordLowering
from gridloom.targets.rows.words24.ranges import REGISTER, SIGNED, UNSIGNED, WORD, Range, fits, inside, ranges_of
from gridloom.targets.rows.words24.rewrite import biases_after_shifts, small_constants
from gridloom.transform.assumed import array_of

_MASK = (1 << WORD_BITS) - 1


@dataclass(frozen=True, kw_only=True)
class Narrowing:
    """A loop and the graph of 24-bit words that stands for it; :func:`narrow` makes one.

    ``source`` computes with 32 bits and ``dfg`` with 24. Both have the same outputs: what ``dfg`` stores is, in the
    bits of the element and with its sign, what ``source`` stores, as long as inputs and live-ins keep to ``ranges``.
    """

    source: Dfg
    dfg: Dfg
    streamed: Streamed = field(repr=False)
    #: Node -> its least and greatest value.
    ranges: Mapping[str, Range] = field(repr=False)
    #: Output -> bits of the element that it writes, where they are fewer than 24.
    stored: Mapping[str, int] = field(repr=False)

    def stimulus(self, iterations: int, seed: int) -> tuple[Stimulus, Stimulus]:
        """Return random values within the ranges, for the source and for the graph of words.

        Where a counter would leave its range, there are fewer iterations, at least one.
        """
        iterations = min([iterations, *self._trips()])
        rng = np.random.default_rng(seed)
        given = Stimulus(iterations=iterations)
        initial = {value for edge in self.source.edges for value in edge.initial if isinstance(value, str)}
        for node in self.source.nodes:
            low, high = self.ranges.get(node.id, WORD)
            if node.op == "input":
                given.streams[node.id] = _drawn(rng, low, high, iterations)
            elif node.op == "livein":
                given.liveins[node.id] = int(_drawn(rng, low, high, 1)[0])
        for name in sorted(initial - given.liveins.keys()):
            low, high = self._start(name, iterations)
            given.liveins[name] = int(_drawn(rng, low, high, 1)[0])
        streams = self.streamed.streams(given)
        return given, Stimulus(
            iterations=iterations,
            streams={node.id: streams[node.id] & _MASK for node in self.dfg.nodes if node.op == "input"},
            liveins={name: value & _MASK for name, value in given.liveins.items()},
        )

    def _start(self, name: str, iterations: int) -> Range:
        """The numbers that a live-in may be that a counter or a delayed stream starts with."""
        low, high = self.source.ranges.get(name, REGISTER)
        for stream, counter in self.streamed.counters.items():
            if counter.initial == name:
                way = counter.step * iterations
                low, high = self._counted(stream)
                low, high = low - min(way, 0), high - max(way, 0)
        for stream, item in self.streamed.delayed.items():
            if name in item.initial and item.source not in self.streamed.counters:
                low, high = self.ranges.get(stream, (low, high))
        return low, max(low, high)

    def _counted(self, name: str) -> Range:
        """The range of a counter, which the graph need not read itself."""
        return self.ranges.get(name, self.source.ranges.get(name, WORD))

    def _trips(self) -> list[int]:
        """Iterations for which counters that start at a number stay within their ranges."""
        trips = []
        for name, counter in self.streamed.counters.items():
            if counter.step and not isinstance(counter.initial, str):
                low, high = self._counted(name)
                room = high - int(counter.initial) if counter.step > 0 else int(counter.initial) - low
                trips.append(max(1, room // abs(counter.step)))
        return trips

    def findings(self, given: Stimulus, outputs: Mapping[str, Words]) -> list[str]:
        """Return where output streams of words differ from what the source stores; empty: nowhere.

        Costs one run of the interpreter over the source.
        """
        expected = interpret(self.source, given)
        found = []
        for name, stored in expected.outputs.items():
            bits = self.stored.get(name, ALL_BITS)
            if name not in outputs or not np.array_equal(self._read(name, outputs[name]), _low(stored, bits)):
                found.append(f"output {name!r} differs from what the source stores")
        return found

    def _read(self, name: str, stream: Words) -> Words:
        """The numbers that a stream of words stands for."""
        bits = self.stored.get(name, ALL_BITS)
        if bits < ALL_BITS:
            return _low(stream, bits)
        word = stream & _MASK
        signed = self.ranges[name][0] < 0
        return np.where(word > SIGNED[1], word - (1 << WORD_BITS), word) if signed else word

    def check(self, iterations: int = 12, seed: int = 0) -> None:
        """Run both graphs and raise SourceError where they differ: an error in gridloom, and not in the loop."""
        given, words24 = self.stimulus(iterations, seed)
        found = self.findings(given, interpret(self.dfg, words24).outputs)
        if found:
            raise SourceError(
                f"{found[0]} (an error in gridloom; please report it)", where=f"graph {self.source.name!r}"
            )


def _drawn(rng: np.random.Generator, low: int, high: int, count: int) -> Words:
    """Random numbers of a range, its ends among them more often than chance would have it."""
    drawn = rng.integers(low, high + 1, count, dtype=np.int64)
    ends = np.where(rng.random(count) < 0.5, low, high)
    return np.where(rng.random(count) < 0.15, ends, drawn)


def _low(stream: Words, bits: int) -> Words:
    return stream & ((1 << bits) - 1) if bits < ALL_BITS else stream


def narrow(dfg: Dfg, *, multiplies: bool = True, registers: bool = True) -> Narrowing:
    """Return an integer loop of streams as a graph of 24-bit words.

    ``dfg.ranges`` says what is known of inputs, live-ins and outputs. ``multiplies``: the ALUs multiply; ``registers``:
    constants and live-ins are in registers of 17 bits. SourceError for a value that has to fit and does not, for one
    that is kept between iterations, and for an op that 24 bits have no form of. Linear in the graph.
    """
    split = stream_counters(dfg)
    _refuse_kept(split.dfg)
    stored = _element_bits(split.dfg)
    inputs = {name: known for name, known in split.dfg.ranges.items() if name not in stored}
    loop, ranges = split.dfg, ranges_of(split.dfg, inputs)
    demands = demands_of(loop, ranges, stored)
    rewritten = biases_after_shifts(small_constants(loop, demands), ranges, demands)
    if rewritten is not loop:
        loop, ranges = rewritten, ranges_of(rewritten, inputs)
        demands = demands_of(loop, ranges, stored)
    _refuse_wide(loop, ranges, demands, registers=registers)
    made = words.Words(name=dfg.name, reserved=loop.index, multiplies=multiplies, registers=registers, notes=dfg.notes)
    lowering = WordLowering(source=loop, ranges=ranges, demands=demands, words=made)
    return Narrowing(source=dfg, dfg=lowering.run(), streamed=split, ranges=ranges, stored=stored)


def _element_bits(dfg: Dfg) -> dict[str, int]:
    """Output -> the bits of its elements, where the source says that they have 8 or 16."""
    found = {}
    for node in dfg.nodes:
        if node.op == "output" and node.id in dfg.ranges:
            low, high = dfg.ranges[node.id]
            bits = (high - low).bit_length()
            if bits < WORD_BITS:
                found[node.id] = bits
    return found


def _refuse_kept(dfg: Dfg) -> None:
    """SourceError for a value or an order between iterations that no stream brings."""
    edge = find_carried_edge(dfg)
    if edge is None:
        return
    if edge.kind != "data":
        what = f"{edge.source!r} and {edge.target!r} have to write in order, iterations apart"
    else:
        what = f"value {edge.source!r} is kept for later iterations"
    raise SourceError(
        f"{what}; rows of combinational ALUs keep nothing between iterations: map the loop onto an array with "
        "registers, such as torus:4x4",
        where=f"graph {dfg.name!r}",
    )


def _refuse_wide(dfg: Dfg, ranges: Mapping[str, Range], demands: Mapping[str, int], *, registers: bool) -> None:
    """SourceError for the first value, in the order of dependences, that has to fit 24 bits and does not."""
    for k in dfg.topological:
        node = dfg.nodes[k]
        wide = demands[node.id] > WORD_BITS and not fits(ranges[node.id])
        held = node.op != "livein" or not registers or demands[node.id] <= 17 or inside(ranges[node.id], REGISTER)
        if not wide and held:
            continue
        low, high = ranges[node.id]
        kind = {"input": "input", "livein": "live-in"}.get(node.op, "value")
        name = array_of(node.variable) or node.id if node.op in ("input", "livein") else node.id
        words24 = f"24-bit words ({SIGNED[0]}..{SIGNED[1]}, or 0..{UNSIGNED[1]})"
        holder = words24 if wide else f"constant registers of 17 bits ({REGISTER[0]}..{REGISTER[1]})"
        raise SourceError(
            f"{kind} {name!r} lies in {low}..{high}, which {holder} do not hold; use narrower types or a mask, or "
            f"state a range that holds, as in --assume-range {_lever(dfg, node.id, name)}=-100..100",
            where=f"graph {dfg.name!r}",
        )


def _lever(dfg: Dfg, node: str, name: str) -> str:
    """The name of an input that a value depends on, for the advice; the value's own where it is an input."""
    if dfg.node(node).op in ("input", "livein"):
        return name
    before = [node]
    seen = {node}
    for current in before:
        for e in dfg.operand_edges(current):
            source = dfg.node(dfg.edges[e].source)
            if source.op in ("input", "livein"):
                return array_of(source.variable) or source.id
            if source.id not in seen:
                seen.add(source.id)
                before.append(source.id)
    return name


def narrow_loop(dfg: Dfg, arch: Arch) -> Narrowing | None:
    """Return a loop of 32-bit integers as one of 24-bit words, after a short run of both.

    None for graphs that come from no loop, and so say nothing of the types of their streams. SourceError for a loop
    that 24 bits are too few for.
    """
    if dfg.domain != "i32" or not dfg.ranges:
        return None
    made = narrow(dfg, multiplies=not any("mult" in tile.lacks for tile in arch.tiles))
    made.check()
    return made
