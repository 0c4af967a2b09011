"""Runs a configured array on a stimulus and says what could be observed.

:class:`Execution` lays out the memory, streams and rings of a run and calls the clock of :mod:`gridloom.sim.kernel`;
what the clock leaves is turned into an Observation of the same form as the interpreter's, so that the two can be
compared. Registers, wires, results and spills that nothing has set start as poison: a value that is read before it was
written shows as wrong instead of as a harmless 0. Arrays that the stimulus leaves out are 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridloom.archs.model import Kind
from gridloom.dfg.interpreter import Observation, Stimulus, Words
from gridloom.dfg.semantics import DOMAIN_CODE, encode
from gridloom.errors import SimulationError
from gridloom.mapping.configuration import Configuration
from gridloom.sim import kernel
from gridloom.sim.slot_code import SlotCode, compile_slots


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """Accesses outside an array: how many, and the first one.

    ``count`` is over the whole run. ``firing`` is the iteration of the access, ``length`` the words of the array. A
    trap is recorded, and the run goes on.
    """

    count: int
    node: str
    firing: int
    address: int
    length: int

    def __str__(self) -> str:
        return f"node {self.node!r} accesses word {self.address} of {self.length} in firing {self.firing}"


@dataclass(kw_only=True)
class ArrayRun:
    """One run: what it shows, how long it took, what went out of bounds.

    ``cycles`` counts from cycle 0 to the last result. A run with a trap is wrong, whatever the observation says.
    """

    observation: Observation
    cycles: int
    trap: Trap | None


def run(configuration: Configuration, stimulus: Stimulus, *, seed: int = 0) -> Observation:
    """Run a configuration of a static or modulo array for ``stimulus.iterations`` iterations.

    Returns what the interpreter would return for the graph, if the array is set right. Accesses out of bounds read
    poison and store nothing. ``seed`` chooses when flows behind asynchronous edges start. The cost of a cycle is one
    pass over the code of its slot. SimulationError for an elastic array, a combinational cycle, or asynchronous edges
    that wait for each other.
    """
    return execute(compile_slots(configuration, seed=seed), stimulus).observation


def execute(compiled: SlotCode, stimulus: Stimulus) -> ArrayRun:
    """Run compiled slots; the same ones may be run on any number of stimuli."""
    running = Execution(compiled, stimulus)
    running.advance(running.last)
    return running.outcome()


class Execution:
    """A run on its way: what stands on the array after ``cycle`` cycles.

    ``results[firing, issue]``, ``streams[stream, iteration]`` and ``memory`` may be read between calls of
    :meth:`advance`, and streams may be filled in for cycles to come: this is how flows of a program exchange messages.
    ``last`` is the cycle at which all results are there.
    """

    def __init__(self, compiled: SlotCode, stimulus: Stimulus) -> None:
        configuration = compiled.configuration
        if configuration.arch.style == "elastic":
            raise SimulationError(
                f"array {configuration.arch.name!r} is elastic: it has no cycles to run; simulate its mapping instead"
            )
        self.compiled = compiled
        self.stimulus = stimulus
        self.cycle = 0
        self.last = compiled.cycles(stimulus.iterations)
        self.constants = _constants(configuration, stimulus)
        self.streams = _streams(compiled, stimulus)
        self.results = np.full(
            (max(stimulus.iterations, 1), max(len(compiled.issues), 1)), kernel.POISON, dtype=np.int64
        )
        self.memory = _memory(compiled, stimulus, self.constants)
        width = int(compiled.issues[:, kernel.I_COUNT].max(initial=0))
        self._rings = kernel.Rings(_cells(compiled, self.constants), compiled.base, compiled.mask)
        self._code = kernel.Code(
            compiled.start, compiled.code, compiled.issues, compiled.operands, compiled.initial,
            compiled.file_start, compiled.file_rows,
        )  # fmt: skip
        self._data = kernel.Data(self.constants, self.streams, self.results, self.memory)
        self._scratch = kernel.Scratch(
            buffer=np.zeros(max(width, 3), dtype=np.int64),
            pending=np.zeros((len(compiled.issues) + 1, 2), dtype=np.int64),
            trap=np.zeros(4, dtype=np.int64),
        )

    def advance(self, cycle: int) -> None:
        """Run up to a cycle, which has to be at or after the present one."""
        configuration = self.compiled.configuration
        domain = DOMAIN_CODE[configuration.dfg.domain]
        extent = kernel.Extent(self.cycle, cycle, configuration.ii, self.stimulus.iterations, domain)
        kernel.clock(extent, self._rings, self._code, self._data, self._scratch)
        self.cycle = cycle

    def outcome(self) -> ArrayRun:
        """What the run has shown so far."""
        observation = _observe(self.compiled, self.stimulus, self.constants, self.results, self.memory)
        return ArrayRun(observation=observation, cycles=self.cycle, trap=_trap(self.compiled, self._scratch.trap))


def _constants(configuration: Configuration, stimulus: Stimulus) -> Words:
    """The value of each timeless node, by position."""
    dfg = configuration.dfg
    values = np.full(len(dfg.nodes), kernel.POISON, dtype=np.int64)
    for k, node in enumerate(dfg.nodes):
        if node.op == "const":
            values[k] = encode(dfg.domain, node.value or 0)
        elif node.op == "livein":
            values[k] = stimulus.liveins[node.id]
    return values


def _streams(compiled: SlotCode, stimulus: Stimulus) -> Words:
    """The streams of the stimulus by stream row; one row more, so that the table is never empty."""
    nodes = compiled.configuration.dfg.nodes
    table = np.zeros((len(compiled.stream_of) + 1, max(stimulus.iterations, 1)), dtype=np.int64)
    for k, row in compiled.stream_of.items():
        table[row, : stimulus.iterations] = stimulus.streams[nodes[k].id][: stimulus.iterations]
    return table


def _memory(compiled: SlotCode, stimulus: Stimulus, constants: Words) -> Words:
    """The memory before cycle 0: arrays of the stimulus, spilled live-ins, and poison in all other spills."""
    words = np.full(compiled.words + 1, kernel.POISON, dtype=np.int64)
    for name, (first, length) in compiled.arrays.items():
        words[first : first + length] = stimulus.memory[name][:length] if name in stimulus.memory else 0
    for first, spill in zip(compiled.spills, compiled.configuration.spills):
        if spill.livein >= 0:
            words[first : first + spill.depth] = constants[spill.livein]
    return words


def _cells(compiled: SlotCode, constants: Words) -> Words:
    """Every ring before cycle 0: poison, or the value that a resource is preset to."""
    configuration = compiled.configuration
    cells = np.empty(compiled.cells + 1, dtype=np.int64)
    for number, row in enumerate(compiled.rows):
        first, depth = compiled.base[number], compiled.mask[number] + 1
        cells[first : first + depth] = kernel.poison(number, -1 & 0xFFFFFFF)
        if row in configuration.preset and configuration.arch.kind[row] != Kind.MEM:
            cells[first : first + depth] = constants[configuration.preset[row]]
    return cells


def _observe(compiled: SlotCode, stimulus: Stimulus, constants: Words, results: Words, memory: Words) -> Observation:
    """What a run shows: the value of each node in each iteration, and outputs, memory and live-outs drawn from them.

    A node with several instances is observed at its first. Timeless nodes show their constants, and inputs that need no
    tile their streams.
    """
    dfg, n = compiled.configuration.dfg, stimulus.iterations
    values = np.full((n, len(dfg.nodes)), kernel.POISON, dtype=np.int64)
    for k, node in enumerate(dfg.nodes):
        if (k, 0) in compiled.issue_of:
            values[:, k] = results[:n, compiled.issue_of[k, 0]]
        elif node.op in ("const", "livein"):
            values[:, k] = constants[k]
        elif node.op == "input" and "input" in compiled.configuration.arch.free:
            values[:, k] = stimulus.streams[node.id][:n]
    if "output" in compiled.configuration.arch.free:
        _observe_free_outputs(compiled, values)
    return Observation(
        iterations=n,
        outputs={node.id: values[:, k].copy() for k, node in enumerate(dfg.nodes) if node.op == "output"},
        memory={name: memory[first : first + length].copy() for name, (first, length) in compiled.arrays.items()},
        liveouts={node.liveout: int(values[n - 1, k]) for k, node in enumerate(dfg.nodes) if node.liveout and n},
        values=values,
    )


def _observe_free_outputs(compiled: SlotCode, values: Words) -> None:
    """An output that needs no tile shows what its producer yields."""
    dfg = compiled.configuration.dfg
    for k in dfg.topological:
        if dfg.nodes[k].op != "output" or (k, 0) in compiled.issue_of:
            continue
        for e in dfg.operand_edges(dfg.nodes[k].id)[:1]:
            edge = dfg.edges[e]
            shown = np.roll(values[:, dfg.index[edge.source]], edge.distance)
            for firing, value in enumerate(dfg.initial_values(e)[: len(values)]):
                shown[firing] = encode(dfg.domain, value)
            values[:, k] = shown


def _trap(compiled: SlotCode, record: Words) -> Trap | None:
    """The record of the first trap with the names of things; None where there was none."""
    if not record[kernel.TRAP_COUNT]:
        return None
    issue = int(record[kernel.TRAP_ISSUE])
    node = compiled.configuration.dfg.nodes[compiled.configuration.slots[issue].node].id
    return Trap(
        count=int(record[kernel.TRAP_COUNT]),
        node=node,
        firing=int(record[kernel.TRAP_FIRING]),
        address=int(record[kernel.TRAP_ADDRESS]),
        length=int(compiled.issues[issue, kernel.I_LENGTH]),
    )
