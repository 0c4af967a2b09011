"""Runs a configured array on a stimulus and says what could be observed.

The tables of a run are set up here: constants by node, streams by row, one flat memory for all arrays and spills, and
the rings of the rows. Whatever has no value yet is poison. ``kernel.clock`` then runs the cycles, all at once or a
few at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gridloom.archs.model import Kind
from gridloom.dfg.interpreter import Observation, Stimulus, Words
from gridloom.dfg.semantics import DOMAIN_CODE, encode
from gridloom.errors import SimulationError
from gridloom.mapping.configuration import Configuration
from gridloom.sim import kernel
from gridloom.sim.reading import first_values, has_cycles
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

    ``trap`` is None where every access stayed inside its array.
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

    ``last`` is the cycle in which the last result is there. ``streams`` may be written between two calls of
    :meth:`advance`, which is how messages reach a running flow. An instance belongs to one run and cannot be started
    again.
    """

    def __init__(self, compiled: SlotCode, stimulus: Stimulus) -> None:
        configuration = compiled.configuration
        arch = configuration.arch
        if not has_cycles(arch):
            raise SimulationError(
                f"array {arch.name!r} is {arch.style}: it has no cycles to run; simulate its mapping instead"
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
            compiled.start, compiled.code, compiled.issues, compiled.operands, _initial(compiled, stimulus),
            compiled.file_start, compiled.file_rows,
        )  # fmt: skip
        self._data = kernel.Data(self.constants, self.streams, self.results, self.memory)
        self._scratch = kernel.FiringScratch(
            buffer=np.zeros(max(width, 3), dtype=np.int64),
            pending=np.zeros((len(compiled.issues) + 1, 2), dtype=np.int64),
            trap=np.zeros(4, dtype=np.int64),
        )

    def advance(self, cycle: int) -> None:
        """Run up to a cycle, which must not be before the current one; O(code of the slots that are passed)."""
        configuration = self.compiled.configuration
        domain = DOMAIN_CODE[configuration.dfg.domain]
        extent = kernel.Extent(self.cycle, cycle, configuration.ii, self.stimulus.iterations, domain)
        kernel.clock(extent, self._rings, self._code, self._data, self._scratch)
        self.cycle = cycle

    def row_values(self) -> Words:
        """The value of each row (``SlotCode.rows``) in the last cycle that ran; at least one cycle has to have run.

        A wire that nothing reads in that cycle's slot still shows what it had before.
        """
        rings = self._rings
        return np.asarray(rings.cells[rings.base + ((self.cycle - 1) & rings.mask)])

    def outcome(self) -> ArrayRun:
        """What the run has shown so far; results that are not there yet are poison."""
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


def _initial(compiled: SlotCode, stimulus: Stimulus) -> Words:
    """The initial values of all operands, with the live-ins among them filled in."""
    if not compiled.initial_liveins:
        return compiled.initial
    table = compiled.initial.copy()
    for position, name in compiled.initial_liveins.items():
        table[position] = stimulus.liveins[name]
    return table


def _streams(compiled: SlotCode, stimulus: Stimulus) -> Words:
    """The input streams as rows of a table ``[stream, firing]``, with one row to spare."""
    nodes = compiled.configuration.dfg.nodes
    table = np.zeros((len(compiled.stream_of) + 1, max(stimulus.iterations, 1)), dtype=np.int64)
    for k, row in compiled.stream_of.items():
        table[row, : stimulus.iterations] = stimulus.streams[nodes[k].id][: stimulus.iterations]
    return table


def _memory(compiled: SlotCode, stimulus: Stimulus, constants: Words) -> Words:
    """The words of all arrays and spills before cycle 0.

    Arrays that the stimulus leaves out are zero, as in the interpreter; spill buffers are poison, or hold the live-in
    that they keep from the start.
    """
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
    """The results of a run in the interpreter's form, so that the two can be compared field by field.

    Of a node with several copies, copy 0 is shown. What has no issue slot (constants, live-ins, streams that need no
    tile) shows the value that its readers take.
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
        _observe_free_outputs(compiled, values, stimulus.liveins)
    return Observation(
        iterations=n,
        outputs={node.id: values[:, k].copy() for k, node in enumerate(dfg.nodes) if node.op == "output"},
        memory={name: memory[first : first + length].copy() for name, (first, length) in compiled.arrays.items()},
        liveouts={node.liveout: int(values[n - 1, k]) for k, node in enumerate(dfg.nodes) if node.liveout and n},
        values=values,
    )


def _observe_free_outputs(compiled: SlotCode, values: Words, liveins: Mapping[str, int]) -> None:
    """An output that needs no tile shows what its producer yields.

    A loop-carried edge into the output shifts the values by its distance, with the initial values before them.
    """
    dfg = compiled.configuration.dfg
    for k, e, source in compiled.free_outputs:
        shown = np.roll(values[:, source], dfg.edges[e].distance)
        for firing, value in enumerate(first_values(dfg, e)[: len(values)]):
            shown[firing] = liveins[value] if isinstance(value, str) else encode(dfg.domain, value)
        values[:, k] = shown


def _trap(compiled: SlotCode, record: Words) -> Trap | None:
    """The record of the first access out of bounds; None where there was none."""
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
