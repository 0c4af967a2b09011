"""The reference interpreter: runs n iterations of a Dfg in program order. What it says is what the graph means.

It reads the fields of the graph, the op table and the semantics, and none of the look-ups that ``Dfg`` offers: mappers
and configurations use these, and a mistake in one of them has to show as a difference from the interpreter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

import numpy as np

from gridloom.dfg.carriers import Words as Words
from gridloom.dfg.checks import MAX_DISTANCE
from gridloom.dfg.model import Dfg, Node
from gridloom.dfg.ops import lookup
from gridloom.dfg.semantics import DOMAIN_CODE, encode, evaluate, salt
from gridloom.errors import SimulationError

#: Ops that read or write an array, or make its address.
_ACCESSES: Final = frozenset({"load", "store", "store_if", "load_address", "load_data", "store_address", "store_data"})


@dataclass(kw_only=True)
class Stimulus:
    """What a run is fed: streams by input node, live-ins by node, memory by array.

    Values are carriers (int64), as :mod:`gridloom.dfg.semantics` defines them.
    """

    iterations: int
    streams: dict[str, Words] = field(default_factory=dict)
    liveins: dict[str, int] = field(default_factory=dict)
    memory: dict[str, Words] = field(default_factory=dict)


@dataclass(kw_only=True)
class Observation:
    """What a run shows: every output stream, final memory, live-outs, and each node's value in each iteration.

    Two runs are the same when their outputs, memory and live-outs agree; values are for looking closer.
    """

    iterations: int
    outputs: dict[str, Words]
    memory: dict[str, Words]
    liveouts: dict[str, int]
    #: [iteration, node position]; stores and idle nodes hold 0.
    values: Words


def random_stimulus(dfg: Dfg, iterations: int, seed: int = 0, *, within: Mapping[str, int] | None = None) -> Stimulus:
    """Random streams, live-ins and memory for a graph. ``within`` bounds the values of named streams (for indices).

    The same seed gives the same stimulus. Streams are as long as ``iterations``; memory does not depend on it.
    """
    rng = np.random.default_rng(seed)
    stimulus = Stimulus(iterations=iterations)
    for node in dfg.nodes:
        bound = (within or {}).get(node.id)
        if node.op == "input":
            stimulus.streams[node.id] = random_words(dfg.domain, rng, iterations, bound)
        elif node.op == "livein":
            stimulus.liveins[node.id] = int(random_words(dfg.domain, rng, 1, bound)[0])
    for name in (value for edge in dfg.edges for value in edge.initial if isinstance(value, str)):
        if name not in stimulus.liveins:
            stimulus.liveins[name] = int(random_words(dfg.domain, rng, 1, (within or {}).get(name))[0])
    for array in dfg.arrays:
        stimulus.memory[array.name] = random_words(dfg.domain, rng, array.length, None)
    return stimulus


def random_words(domain: str, rng: np.random.Generator, count: int, bound: int | None) -> Words:
    """Random carriers of a domain: half of them small, so that compares and shifts see both sides.

    With a bound, they are numbers from 0 up to it, whatever the domain. ``f32`` gives finite singles; ``opaque`` and
    ``tensor`` give wide numbers only, since nothing compares them.
    """
    if bound is not None:
        return rng.integers(0, max(bound, 1), count, dtype=np.int64)
    if domain == "f32":
        singles = rng.normal(0.0, 100.0, count).astype(np.float32)
        return singles.view(np.int32).astype(np.int64)
    if domain == "cma24":
        wide = rng.integers(0, 1 << 24, count, dtype=np.int64)
    elif domain == "i32":
        wide = rng.integers(-(1 << 31), 1 << 31, count, dtype=np.int64)
    else:
        return rng.integers(-(1 << 62), 1 << 62, count, dtype=np.int64)
    small = rng.integers(0, 64, count, dtype=np.int64)
    return np.where(rng.random(count) < 0.5, small, wide)


class OutOfBounds(SimulationError):
    """An access outside its array; ``iteration`` is the one in which it happens."""

    def __init__(self, message: str, *, where: str | None = None, iteration: int = 0) -> None:
        super().__init__(message, where=where)
        self.iteration = iteration


class Interpreter:
    """Runs a graph iteration by iteration; O(iterations * edges) kernel calls.

    An instance is prepared once and may run many stimuli, but not in several threads at a time: operands pass through
    one buffer.
    """

    def __init__(self, dfg: Dfg) -> None:
        self.dfg = dfg
        self._domain = DOMAIN_CODE[dfg.domain]
        self._salts = [salt(node.id) for node in dfg.nodes]
        #: For each node what its operands read: the position of the source, the distance, the first values.
        self._position = {node.id: k for k, node in enumerate(dfg.nodes)}
        incoming = _operand_edges(dfg)
        self._operands = [tuple(self._operand(e) for e in incoming[node.id]) for node in dfg.nodes]
        self._order = _program_order(dfg)
        self._codes = [lookup(dfg.domain, node.op).code for node in dfg.nodes]
        self._constant = [encode(dfg.domain, node.value or 0) if node.op == "const" else 0 for node in dfg.nodes]
        interpreted = dfg.domain != "opaque"
        self._accesses = [interpreted and node.op in _ACCESSES for node in dfg.nodes]
        self._buffer = np.zeros(max([len(row) for row in self._operands] + [1]), dtype=np.int64)

    def _operand(self, e: int) -> tuple[int, int, list[int | str]]:
        """What an edge reads: the position of its source, its distance, and the values of the first iterations.

        Names of live-ins stay names until a run gives them values.
        """
        edge = self.dfg.edges[e]
        # Values that the graph does not give are 0; in domain ``opaque`` distinct numbers, so that a wrong one shows.
        number = -1 - e * MAX_DISTANCE if self.dfg.domain == "opaque" else None
        missing = [0 if number is None else number - k for k in range(len(edge.initial), edge.distance)]
        initial = [
            value if isinstance(value, str) else encode(self.dfg.domain, value) for value in (*edge.initial, *missing)
        ]
        return self._position[edge.source], edge.distance, initial

    def run(self, stimulus: Stimulus) -> Observation:
        """Run ``stimulus.iterations`` iterations and return everything that can be observed.

        Needs a stream of at least so many values for each input, and a value for each live-in; arrays that the stimulus
        leaves out are zero. The stimulus is not changed. SimulationError for an index outside its array.
        """
        dfg, n = self.dfg, stimulus.iterations
        self._check(stimulus)
        rows: list[list[int]] = []
        memory = {name: words.copy() for name, words in stimulus.memory.items()}
        for array in dfg.arrays:
            memory.setdefault(array.name, np.zeros(array.length, dtype=np.int64))
        for iteration in range(n):
            row = [0] * len(dfg.nodes)
            rows.append(row)
            for k in self._order:
                row[k] = self._fire(k, iteration, rows, memory, stimulus)
        values = np.array(rows, dtype=np.int64).reshape(n, len(dfg.nodes))
        outputs = {node.id: values[:, k].copy() for k, node in enumerate(dfg.nodes) if node.op == "output"}
        liveouts = {node.liveout: int(values[n - 1, k]) for k, node in enumerate(dfg.nodes) if node.liveout and n > 0}
        return Observation(iterations=n, outputs=outputs, memory=memory, liveouts=liveouts, values=values)

    def _check(self, stimulus: Stimulus) -> None:
        """Raise SimulationError for a live-in or a stream that the stimulus lacks, or that is too short."""
        where = f"graph {self.dfg.name!r}"
        for node in self.dfg.nodes:
            if node.op == "livein" and node.id not in stimulus.liveins:
                raise SimulationError(f"the stimulus has no value for live-in {node.id!r}", where=where)
            if node.op == "input":
                found = len(stimulus.streams.get(node.id, ()))
                if found < stimulus.iterations:
                    wanted = f"{stimulus.iterations} values for input {node.id!r}"
                    raise SimulationError(f"the stimulus has {found} of {wanted}", where=where)

    def _fire(self, k: int, iteration: int, rows: list[list[int]], memory: dict[str, Words], stimulus: Stimulus) -> int:
        """The value of node k in an iteration; operands of earlier iterations are looked up in ``rows``."""
        node = self.dfg.nodes[k]
        buffer = self._buffer
        operands = self._operands[k]
        for position, (source, distance, initial) in enumerate(operands):
            if iteration >= distance:
                buffer[position] = rows[iteration - distance][source]
                continue
            first = initial[iteration]
            buffer[position] = stimulus.liveins[first] if isinstance(first, str) else first
        if node.op == "const":
            return self._constant[k]
        if node.op == "livein":
            return stimulus.liveins[node.id]
        if node.op == "input":
            return int(stimulus.streams[node.id][iteration])
        if node.op == "output":
            return int(buffer[0])
        if self._accesses[k]:
            return self._access(k, buffer, iteration, memory)
        return self._compute(k, buffer, len(operands))

    def _compute(self, k: int, buffer: Words, count: int) -> int:
        """The result of an op of the op table."""
        return int(evaluate(self._domain, self._codes[k], self._salts[k], buffer, count))

    def _access(self, k: int, buffer: Words, iteration: int, memory: dict[str, Words]) -> int:
        """A load or a store. SimulationError for an index outside the array.

        An address node of a split access yields the address itself, which its ``pair`` edge hands to the data node. A
        ``store_if`` whose condition is 0 touches nothing, so its index may be anything.
        """
        node = self.dfg.nodes[k]
        if node.op in ("load_address", "store_address"):
            return int(buffer[0])
        address, value = int(buffer[0]), int(buffer[1]) if len(buffer) > 1 else 0
        if node.op == "store_data":
            # Operand 0 is the value, operand 1 the address that its pair edge brings.
            address, value = value, address
        if node.op == "store_if" and not buffer[2]:
            return 0
        if node.op in ("load", "load_data"):
            return self._load(node, address, iteration, memory)
        self._store(node, address, value, iteration, memory)
        return 0

    def _load(self, node: Node, address: int, iteration: int, memory: dict[str, Words]) -> int:
        """The element at an index."""
        return int(self._words(node, address, iteration, memory)[address])

    def _store(self, node: Node, address: int, value: int, iteration: int, memory: dict[str, Words]) -> None:
        """Write the element at an index."""
        self._words(node, address, iteration, memory)[address] = value

    def _words(self, node: Node, address: int, iteration: int, memory: dict[str, Words]) -> Words:
        """The array of an access; SimulationError for an index outside of it."""
        words = memory[node.array or ""]
        if not 0 <= address < len(words):
            raise OutOfBounds(
                f"iteration {iteration}: node {node.id!r} indexes {node.array}[{address}]; it has {len(words)} words",
                where=f"graph {self.dfg.name!r}",
                iteration=iteration,
            )
        return words


def _operand_edges(dfg: Dfg) -> dict[str, list[int]]:
    """Return the edges that carry a value into each node, by operand."""
    rows: dict[str, list[int]] = {node.id: [] for node in dfg.nodes}
    for e in sorted(range(len(dfg.edges)), key=lambda e: dfg.edges[e].operand):
        if dfg.edges[e].kind != "order":
            rows[dfg.edges[e].target].append(e)
    return rows


def _program_order(dfg: Dfg) -> list[int]:
    """Return the nodes in an order in which edges of distance 0 go forward; ties by position."""
    position = {node.id: k for k, node in enumerate(dfg.nodes)}
    followers: list[list[int]] = [[] for _ in dfg.nodes]
    waits = [0] * len(dfg.nodes)
    for edge in dfg.edges:
        if edge.distance == 0:
            followers[position[edge.source]].append(position[edge.target])
            waits[position[edge.target]] += 1
    ready = [k for k, count in enumerate(waits) if count == 0]
    order: list[int] = []
    while ready:
        order.append(k := heappop(ready))
        for other in followers[k]:
            waits[other] -= 1
            if waits[other] == 0:
                heappush(ready, other)
    return order


def interpret(dfg: Dfg, stimulus: Stimulus) -> Observation:
    """Run a graph once. Build an :class:`Interpreter` to run the same graph many times.

    Costs O(iterations * edges) kernel calls.
    """
    return Interpreter(dfg).run(stimulus)
