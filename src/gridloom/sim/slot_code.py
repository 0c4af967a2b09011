"""Turns a Configuration into straight-line code for each slot, which the kernel runs.

Only rows that something reads get instructions. Within a slot they are sorted by their zero-latency dependences; what
cannot be sorted is a combinational cycle, which no array settles.

A *row* is a resource that holds a value (wire, output register, register) or a further lane of one; rows are
renumbered densely, in the order in which they are first wanted. The cost of a simulated cycle is the number of
instructions of its slot, so that leaving out rows that nothing reads is most of the speed on large arrays with small
graphs.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from gridloom.archs.model import ISSUE_KINDS, Kind
from gridloom.dfg.semantics import encode, salt
from gridloom.errors import SimulationError
from gridloom.mapping.configuration import Configuration, Operand, Slot
from gridloom.sim import kernel
from gridloom.sim.flows import start_stages
from gridloom.sim.hazards import lost_issues
from gridloom.sim.kernel import Words
from gridloom.sim.reading import is_timeless, op_rows, operand_edges, positions, program_order

_WIRES: Final = (Kind.IN, Kind.LINK, Kind.SWITCH)
_STORAGE: Final = (Kind.OUT, Kind.REG)
_ACCESS: Final = {
    "load": kernel.LOAD,
    "load_data": kernel.LOAD,
    "store": kernel.STORE,
    "store_if": kernel.STORE_IF,
    "store_data": kernel.STORE_DATA,
    "load_address": kernel.PASS,
    "store_address": kernel.PASS,
}
_PLAIN: Final = {
    "const": kernel.CONSTANT,
    "livein": kernel.CONSTANT,
    "input": kernel.STREAM,
    "output": kernel.PASS,
}

#: (code, a, b, c) as the kernel reads it.
Instruction = tuple[int, int, int, int]
_Issues = defaultdict[tuple[int, int], list[int]]


@dataclass(frozen=True, kw_only=True)
class SlotCode:
    """What the kernel needs, but for the stimulus.

    That is the code, the tables of issues and operands, and the layout of rows and memory. It is made once by
    :func:`compile_slots` and may be run any number of times. The columns of the tables are named in
    :mod:`gridloom.sim.kernel`.

    Issues have the order of ``configuration.slots``. ``base``, ``mask`` and ``rows`` have one entry for each dense row
    number; ``file_start`` and ``file_rows`` list the dense rows of each rotating register file in use. ``words`` is the
    size of the flat memory: arrays first, then spills.
    """

    configuration: Configuration
    #: Start stage of each issue slot, in the order of ``configuration.slots``.
    stages: tuple[int, ...]
    #: Instructions of slot s: ``code[start[s]:start[s + 1]]``.
    start: Words
    code: Words
    issues: Words
    operands: Words
    initial: Words
    #: Position in ``initial`` -> the live-in whose value stands there.
    initial_liveins: dict[int, str]
    #: First cell and ring mask of each row; how many cells there are; which row of ``driver`` each is.
    base: Words
    mask: Words
    cells: int
    rows: tuple[int, ...]
    file_start: Words
    file_rows: Words
    #: Array name -> (first word, words) and the first word of each spill, in one flat memory.
    arrays: dict[str, tuple[int, int]]
    spills: tuple[int, ...]
    words: int
    #: (node position, copy) -> issue; stream row by node position.
    issue_of: dict[tuple[int, int], int]
    stream_of: dict[int, int]
    #: Why issues are lost, in words.
    lost: tuple[str, ...] = ()

    @cached_property
    def free_outputs(self) -> list[tuple[int, int, int]]:
        """The outputs that need no tile, in program order: node, edge and the node that the edge comes from."""
        dfg = self.configuration.dfg
        at, operands = positions(dfg), operand_edges(dfg)
        outputs = [k for k in program_order(dfg) if dfg.nodes[k].op == "output" and (k, 0) not in self.issue_of]
        return [(k, e, at[dfg.edges[e].source]) for k in outputs for e in operands[k][:1]]

    def cycles(self, iterations: int) -> int:
        """Cycles until the last result of a run is there; 0 for no iterations."""
        ii = self.configuration.ii
        ends = [
            (stage + iterations - 1) * ii + slot.slot + slot.latency
            for stage, slot in zip(self.stages, self.configuration.slots)
        ]
        return max([*ends, -1]) + 1 if iterations else 0

    def length(self, iterations: int) -> int:
        """Cycles that a run takes: until the last operation's result is there, latency + II * (iterations - 1).

        Moves and spills that come after it carry nothing that anything reads.
        """
        ii = self.configuration.ii
        ends = [
            (stage + iterations - 1) * ii + slot.slot + slot.latency
            for stage, slot in zip(self.stages, self.configuration.slots)
            if slot.kind == "op"
        ]
        return max([*ends, 0]) if iterations else 0

    @property
    def depth(self) -> int:
        """Iterations in flight: stages from the first issue to the last result.

        A run of fewer iterations never fills the pipeline, so that its prologue and epilogue overlap.
        """
        ii = self.configuration.ii
        ends = [stage + (slot.slot + slot.latency) // ii for stage, slot in zip(self.stages, self.configuration.slots)]
        return max([*ends, 0]) + 1


def compile_slots(configuration: Configuration, *, seed: int = 0) -> SlotCode:
    """The code of a configuration's slots. Linear in its multiplexers and issue slots.

    ``seed`` chooses how much later than necessary the flows behind asynchronous edges start. SimulationError when a
    slot has a combinational cycle or asynchronous edges wait for each other. A configuration that is wrong in any
    other way compiles, and computes something wrong.
    """
    return _Compiler(configuration, seed).result()


class _Compiler:
    """Compiles one configuration.

    ``wanted`` are the (row, slot) pairs whose value something reads, ``reach`` is how many cycles back each row is
    read, ``row_number`` gives the kernel's number of a row. ``completing`` and ``finishing`` list the issues whose
    results are there in a slot, by resource and by tile.
    """

    def __init__(self, configuration: Configuration, seed: int) -> None:
        self.configuration = configuration
        self.arch = configuration.arch
        self.dfg = configuration.dfg
        self.ii = configuration.ii
        self.ops = op_rows(self.dfg)
        self.resources = len(self.arch.kind)
        self.stages = start_stages(configuration, seed)
        self.lost = lost_issues(configuration)
        self.issue_of = {(slot.node, slot.copy): k for k, slot in enumerate(configuration.slots) if slot.kind == "op"}
        self.stream_of = {k: row for row, k in enumerate(self._nodes("input"))}
        arcs = zip(self.arch.arc_source.tolist(), self.arch.arc_target.tolist())
        self.holding = {source for source, target in arcs if source == target}
        self.completing, self.finishing = self._completions()
        self.rotating = self._rotating_files()
        self.file_of = {row: file for file in self.rotating for row in file}
        self.row_number: dict[int, int] = {}
        self.reach: dict[int, int] = {}
        self.wanted: set[tuple[int, int]] = set()

    def _nodes(self, op: str) -> list[int]:
        """The positions of the nodes of an op."""
        return [k for k, node in enumerate(self.dfg.nodes) if node.op == op]

    def result(self) -> SlotCode:
        """The code and all tables. What is wanted has to be known first, since it decides which rows exist."""
        self._collect_wanted()
        file_start, file_rows = self._file_tables()
        issues, operands, initial, named = self._issue_tables()
        start, code = [0], []
        for slot in range(self.ii):
            code += self._code_of(slot)
            start.append(len(code))
        # A row that is read d cycles back needs its last d + 1 values.
        depth = np.array([_power_of_two(self.reach[row] + 1) for row in self.row_number], dtype=np.int64)
        arrays, spills, words = self._memory_layout()
        return SlotCode(
            configuration=self.configuration,
            stages=tuple(self.stages),
            start=np.array(start, dtype=np.int64),
            code=_table(code, 4),
            issues=issues,
            operands=operands,
            initial=initial,
            initial_liveins=named,
            base=np.cumsum(depth) - depth,
            mask=depth - 1,
            cells=int(depth.sum()),
            rows=tuple(self.row_number),
            file_start=file_start,
            file_rows=file_rows,
            arrays=arrays,
            spills=spills,
            words=words,
            issue_of=self.issue_of,
            stream_of=self.stream_of,
            lost=tuple(self.lost.values()),
        )

    # -- rows that something reads ------------------------------------------------------------------------------------

    def kind(self, row: int) -> int:
        """The kind of a row: a resource, or a further wire of one."""
        return int(self.arch.kind[self._resource(row)])

    def _resource(self, row: int) -> int:
        """The resource of a row; a lane belongs to the resource that it is a further wire of."""
        return row if row < self.resources else self.configuration.lanes[row - self.resources]

    def _completions(self) -> tuple[_Issues, _Issues]:
        """(FU or LOAD resource, slot), and (tile, slot) -> the issues whose results are there in that slot.

        Several issues may complete in the same slot of a wrong configuration, or in different rounds of a right one.
        """
        by_resource: _Issues = defaultdict(list)
        by_tile: _Issues = defaultdict(list)
        for k, slot in enumerate(self.configuration.slots):
            if slot.writes:
                done = (slot.slot + slot.latency) % self.ii
                by_resource[slot.resource, done].append(k)
                by_tile[slot.tile, done].append(k)
        return by_resource, by_tile

    def _rotating_files(self) -> list[tuple[int, ...]]:
        """The rotating registers of each file, as the settings or the array give their number."""
        counts = self.configuration.settings.get("rotating", {})
        files = [(file, counts.get(file.name, file.rotating)) for file in self.arch.register_files]
        return [file.registers[:count] for file, count in files if count]

    def _collect_wanted(self) -> None:
        """Close what issues read and multiplexers select over their drivers; note how far back each row is read.

        Wires that are set but lead nowhere are wanted as well, which also finds combinational cycles among them.
        """
        driver = self.configuration.driver
        work: list[tuple[int, int]] = []
        for slot in self.configuration.slots:
            for operand in slot.operands:
                if self._reads_row(operand):
                    self._want(work, operand.resource, (slot.slot - operand.fifo) % self.ii, operand.fifo)
        for row, slot_number in zip(*(axis.tolist() for axis in np.nonzero(driver >= 0))):
            if self.kind(row) in _WIRES:
                self._want(work, row, slot_number, 0)
        while work:
            row, slot_number = work.pop()
            source = int(driver[row, slot_number])
            if source >= 0 and self.kind(source) not in ISSUE_KINDS:
                delay = int(self.configuration.delay[row, slot_number])
                self._want(work, source, (slot_number - delay) % self.ii, delay)

    def _want(self, work: list[tuple[int, int]], row: int, slot: int, back: int) -> None:
        """Note that a row is read in a slot, ``back`` cycles later at most.

        A wire is wanted in that slot only. Storage is wanted in all slots, since its value may have been written in
        any of them, and with it the whole rotating file, whose values wander through all its registers.
        """
        self.reach[row] = max(self.reach.get(row, 0), back)
        if (row, slot) in self.wanted:
            return
        related = self.file_of.get(row, (row,)) if self.kind(row) in _STORAGE else (row,)
        slots = range(self.ii) if self.kind(row) in _STORAGE else (slot,)
        for other in related:
            self.row_number.setdefault(other, len(self.row_number))
            self.reach.setdefault(other, 0)
            for s in slots:
                if (other, s) not in self.wanted:
                    self.wanted.add((other, s))
                    work.append((other, s))

    def _reads_row(self, operand: Operand) -> bool:
        """True for an operand that comes over a wire that exists."""
        return operand.kind == "routed" and 0 <= operand.resource < len(self.configuration.driver)

    def _file_tables(self) -> tuple[Words, Words]:
        """The rows of the rotating files that something reads, as CSR."""
        start, rows = [0], []
        for file in self.rotating:
            if file[0] in self.row_number:
                rows += [self.row_number[row] for row in file]
                start.append(len(rows))
        return np.array(start, dtype=np.int64), np.array(rows, dtype=np.int64)

    # -- instructions -------------------------------------------------------------------------------------------------

    def _code_of(self, slot: int) -> list[Instruction]:
        """The instructions of a slot, sorted so that what is needed in the same cycle comes first."""
        rows = sorted(row for row, s in self.wanted if s == slot)
        issues = [k for k, record in enumerate(self.configuration.slots) if record.slot == slot]
        # Issues count from -1 downwards, so that rows and issues share one key.
        pieces: dict[int, list[Instruction]] = {}
        needs: dict[int, set[int]] = {}
        for row in rows:
            pieces[row], needs[row] = self._row_piece(row, slot)
        for k in issues:
            pieces[-1 - k] = [(kernel.ISSUE, 0, k, self.stages[k])]
            needs[-1 - k] = self._issue_needs(k)
        return [instruction for key in self._sorted(needs, slot) for instruction in pieces[key]]

    def _row_piece(self, row: int, slot: int) -> tuple[list[Instruction], set[int]]:
        """What sets a row in a slot, and what has to be there before.

        Storage keeps its value unless something is written, a wire floats unless something drives it; a multiplexer
        that is set replaces both. Needed before are combinational sources: rows that are copied without delay, and
        issues of latency 0.
        """
        number, kind = self.row_number[row], self.kind(row)
        if kind == Kind.CONST:
            return [], set()
        source = int(self.configuration.driver[row, slot])
        piece: list[Instruction] = []
        if kind in _STORAGE and row in self.holding:
            if self.reach[row] and not (slot == 0 and row in self.file_of):
                piece.append((kernel.KEEP, number, 0, 0))
        else:
            piece.append((kernel.FLOAT, number, 0, 0))
        issues = self._writers(row, kind, source, slot)
        for k in issues:
            record = self.configuration.slots[k]
            stage = self.stages[k] + (record.slot + record.latency) // self.ii
            piece.append((kernel.WRITE, number, k, stage))
        needs = {-1 - k for k in issues if self.configuration.slots[k].latency == 0}
        if source >= 0 and self.kind(source) not in (*ISSUE_KINDS, Kind.MEM):
            delay = int(self.configuration.delay[row, slot])
            piece = [(kernel.COPY, number, self.row_number[source], delay)]
            if delay == 0 and self.kind(source) != Kind.CONST:
                needs.add(source)
        return piece, needs

    def _writers(self, row: int, kind: int, source: int, slot: int) -> list[int]:
        """The issues whose completion a row takes: an output register those of its tile, any other what it selects."""
        if kind == Kind.OUT:
            return self.finishing[int(self.arch.tile[row]), slot]
        return self.completing[source, slot]

    def _issue_needs(self, k: int) -> set[int]:
        """The rows and issues that an issue reads in the cycle in which it fires."""
        record = self.configuration.slots[k]
        needs: set[int] = set()
        for operand in record.operands:
            if self._reads_row(operand) and operand.fifo == 0 and self.kind(operand.resource) != Kind.CONST:
                needs.add(operand.resource)
            partner = self.issue_of.get((operand.node, operand.copy), -1)
            if operand.kind in ("pair", "async") and partner >= 0:
                other = self.configuration.slots[partner]
                if other.slot == record.slot and self.stages[partner] - operand.distance == self.stages[k]:
                    needs.add(-1 - partner)
        return needs

    def _sorted(self, needs: dict[int, set[int]], slot: int) -> list[int]:
        """The pieces of a slot in topological order, ties by key (issues come first); SimulationError for a cycle."""
        followers: dict[int, list[int]] = defaultdict(list)
        degree = {key: len(before) for key, before in needs.items()}
        for key, before in needs.items():
            for other in before:
                followers[other].append(key)
        ready = [key for key, count in degree.items() if count == 0]
        heapq.heapify(ready)
        order: list[int] = []
        while ready:
            key = heapq.heappop(ready)
            order.append(key)
            for other in followers[key]:
                degree[other] -= 1
                if degree[other] == 0:
                    heapq.heappush(ready, other)
        if len(order) < len(needs):
            self._raise_cycle(needs, set(needs) - set(order), slot)
        return order

    def _raise_cycle(self, needs: dict[int, set[int]], left: set[int], slot: int) -> None:
        """Raise the SimulationError that names the resources of one combinational cycle, in signal order."""
        key = min(left)
        path: list[int] = []
        while key not in path:
            path.append(key)
            key = min(needs[key] & left)
        ring = path[path.index(key) :][::-1]
        names = [
            self.arch.resource_names[self.configuration.slots[-1 - k].resource if k < 0 else self._resource(k)]
            for k in ring
        ]
        raise SimulationError(
            f"slot {slot} has a combinational cycle: {' -> '.join([*names, names[0]])}; put a register into it",
            where=f"graph {self.dfg.name!r} on array {self.arch.name!r}",
        )

    # -- tables -------------------------------------------------------------------------------------------------------

    def _memory_layout(self) -> tuple[dict[str, tuple[int, int]], tuple[int, ...], int]:
        """Where each array and each spill begins in the flat memory, and how many words there are."""
        arrays: dict[str, tuple[int, int]] = {}
        word = 0
        for array in self.dfg.arrays:
            arrays[array.name] = (word, array.length)
            word += array.length
        spills = []
        for spill in self.configuration.spills:
            spills.append(word)
            word += spill.depth
        return arrays, tuple(spills), word

    def _issue_tables(self) -> tuple[Words, Words, Words, dict[int, str]]:
        """The tables of issues and operands, the initial values that operands point to, and the live-ins among these.

        Values that the graph does not give for a first firing are poison here; a graph gives all of them.
        """
        arrays, spills, _ = self._memory_layout()
        issues: list[tuple[int, ...]] = []
        operands: list[tuple[int, ...]] = []
        initial: list[int] = []
        named: dict[int, str] = {}
        for number, record in enumerate(self.configuration.slots):
            kind, op, node_salt, index = self._action(record)
            lost = number in self.lost
            first, length = 0, 0
            if lost:
                # No word of memory is there for it, and none of its operands.
                kind = kernel.EVALUATE if kind in (kernel.STREAM, kernel.CONSTANT) else kind
            elif record.kind == "op":
                first, length = arrays.get(self.dfg.nodes[record.node].array or "", (0, 0))
            elif record.spill >= 0:
                first, length = spills[record.spill], self.configuration.spills[record.spill].depth
            issues.append((kind, op, node_salt, len(operands), len(record.operands), first, length, index, 0))
            for operand in record.operands:
                origin = (kernel.FROM_NOWHERE, 0) if lost else self._origin(operand)
                operands.append((*origin, operand.fifo, operand.distance, len(initial)))
                values: list[int] = []
                for value in operand.initial[: operand.distance]:
                    if isinstance(value, str):
                        named[len(initial) + len(values)] = value
                    values.append(kernel.POISON if isinstance(value, str) else encode(self.dfg.domain, value))
                initial += values + [kernel.POISON] * (operand.distance - len(values))
        return _table(issues, 9), _table(operands, 5), np.array([*initial, 0], dtype=np.int64), named

    def _action(self, record: Slot) -> tuple[int, int, int, int]:
        """(what the kernel does, op code, salt, constant or stream) of an issue.

        Accesses of domain ``opaque`` are evaluated like any op: their arrays are not known.
        """
        if record.kind != "op":
            kinds = {"move": kernel.PASS, "load": kernel.SPILL_LOAD, "store": kernel.SPILL_STORE}
            return kinds[record.kind], 0, 0, 0
        node, op = self.dfg.nodes[record.node], self.ops[record.node]
        index = self.stream_of.get(record.node, record.node)
        if node.op in _PLAIN:
            return _PLAIN[node.op], 0, 0, index
        if op.op_class in ("mem", "mem_data") and self.dfg.domain != "opaque":
            return _ACCESS[node.op], 0, 0, 0
        return kernel.EVALUATE, op.code, salt(node.id), 0

    def _origin(self, operand: Operand) -> tuple[int, int]:
        """(where an operand comes from, index there).

        An operand that nothing provides comes from nowhere, which the kernel reads as poison.
        """
        if operand.kind == "routed":
            if self._reads_row(operand):
                return kernel.FROM_ROW, self.row_number[operand.resource]
            return kernel.FROM_NOWHERE, 0
        if operand.kind in ("pair", "async") and (operand.node, operand.copy) in self.issue_of:
            return kernel.FROM_RESULT, self.issue_of[operand.node, operand.copy]
        if operand.node in self.stream_of:
            return kernel.FROM_STREAM, self.stream_of[operand.node]
        if is_timeless(self.ops[operand.node]):
            return kernel.FROM_CONSTANT, operand.node
        return kernel.FROM_NOWHERE, 0


def _power_of_two(count: int) -> int:
    """The least power of two that is not below a count, so that a ring is indexed by a mask."""
    return 1 << max(count - 1, 0).bit_length()


def _table(rows: list[tuple[int, ...]] | list[Instruction], width: int) -> Words:
    """Rows as a two-dimensional array, also where there are none."""
    return np.array(rows, dtype=np.int64).reshape(-1, width)
