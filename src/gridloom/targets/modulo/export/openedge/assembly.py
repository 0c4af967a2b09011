"""From a mapping to a program: registers that are loaded first, prologue, kernel, epilogue, stores of live-outs, exit.

A mapping repeats its instructions every II; a machine without predicates runs them straight where only some iterations
have begun or are left. The kernel is the window of II cycles that ends with the loop's branch and begins when every
instruction belongs to an iteration. Before it, the firings of iterations before the first bring the values that the
graph says these have: from an immediate or from memory. Where code is too long, the kernel goes on for some passes in
place of an epilogue, as long as no store and no live-out belongs to an iteration beyond the last: loads by pointers
then read beyond their arrays. All of it is one function of the mapping; nothing is searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from gridloom.archs.model import Kind
from gridloom.dfg.model import Initial, Node
from gridloom.errors import MappingError
from gridloom.mapping.configuration import Configuration, Operand, Slot, configure
from gridloom.mapping.model import Mapping
from gridloom.targets.modulo.export.openedge.compaction import compact
from gridloom.targets.modulo.export.openedge.program import (
    TRIPS,
    Grid,
    Line,
    Parameter,
    PeProgram,
    drop_unread,
    empty_line,
    is_idle,
    live_after,
)
from gridloom.targets.modulo.export.openedge.scaling import Scaling
from gridloom.targets.modulo.export.openedge.words import LEAST, LENGTH, MOST, NOP, PeInstruction

_OPCODES: Final = {
    "add": "SADD", "sub": "SSUB", "mul": "SMUL", "shl": "SLT", "lshr": "SRT", "shr": "SRA", "and": "LAND", "or": "LOR",
    "xor": "LXOR", "select_sign": "BSFA", "select_zero": "BZFA", "ne": "BNE", "move": "SADD", "load": "LWI",
    "store": "SWI",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFiring:
    """An instruction of the kernel: its PE, its cycle in iteration 0, and the iterations before 0 that it has."""

    pe: int
    cycle: int
    instruction: PeInstruction
    #: The node; -1: a move of a route.
    node: int
    copy: int
    early: int


def assemble(mapping: Mapping) -> PeProgram:
    """Return the program of a legal mapping of a lowered graph. Linear in its hops.

    MappingError where the mapping is not one for the machine, or the program is longer than its memory.
    """
    if not mapping.arch.has("instructions"):
        raise MappingError(f"array {mapping.arch.name!r} does not run the instructions of OpenEdgeCGRA")
    lengths: list[int] = []
    assembly = _Assembly(mapping)
    for beyond in range(assembly.most_beyond + 1):
        program = assembly.program(beyond)
        lengths.append(len(program.lines))
        if lengths[-1] <= LENGTH:
            return program
    raise MappingError(f"the program has {min(lengths)} instructions, and a PE holds {LENGTH}")


class _Assembly:
    """The assembly of one mapping."""

    def __init__(self, mapping: Mapping) -> None:
        self.mapping, self.dfg, self.arch, self.ii = mapping, mapping.dfg, mapping.arch, mapping.ii
        self.grid = Grid(self.arch.rows, self.arch.cols)
        self.configuration: Configuration = configure(mapping)
        self.scaling = Scaling(self.dfg)
        self.branch = self._branch_node()
        counter = self.dfg.edges[self.dfg.operand_edges(self.dfg.nodes[self.branch].id)[0]].source
        self.counter = self.dfg.index[counter]
        self.initials = self._initials()
        early = self._early_moves()
        self.firings = [self._firing(slot, early) for slot in self.configuration.slots]
        self.start = self._window()
        #: The iteration of the first pass that belongs to the last iteration in the last pass, and the least it can be.
        bound = [self._passes(f) for f in self.firings if self._is_exact(f)]
        bound += [self._passes(f) + self._is_overwritten(f) for f in self._liveouts()]
        self.latest = max([*bound, *(self._passes(f) for f in self.firings if f.node >= 0)])
        self.most_beyond = self.latest - max(bound, default=0)

    def _branch_node(self) -> int:
        """The node that ends the loop."""
        found = [k for k, node in enumerate(self.dfg.nodes) if node.op == "ne"]
        if len(found) != 1:
            raise MappingError(f"{len(found)} nodes compare for the loop's branch; map the loop again from its source")
        return found[0]

    # -- what the mapping says ----------------------------------------------------------------------------------------

    def _initials(self) -> dict[tuple[str, int], dict[int, Initial]]:
        """(node, copy) -> iteration before 0 -> what its result is then."""
        found: dict[tuple[str, int], dict[int, Initial]] = {}
        for route in self.mapping.routes:
            edge = self.dfg.edges[route.edge]
            values = found.setdefault((edge.source, route.source_copy), {})
            for iteration, value in zip(range(-edge.distance, 0), self.dfg.initial_values(route.edge)):
                if values.setdefault(iteration, value) != value:
                    raise MappingError(f"node {edge.source!r} has two values before the loop; map the loop again")
        return found

    def _early_moves(self) -> dict[tuple[int, int], int]:
        """(issue slot, cycle) -> iterations before 0 that a move has a value of."""
        found: dict[tuple[int, int], int] = {}
        for route in self.mapping.routes:
            for name, cycle in route.hops:
                resource = self.arch.resource_index[name]
                if self.arch.kind[resource] == Kind.FU:
                    before = found.get((resource, cycle), 0)
                    found[resource, cycle] = max(before, self.dfg.edges[route.edge].distance)
        return found

    def _firing(self, slot: Slot, early: dict[tuple[int, int], int]) -> KernelFiring:
        """What an issue slot of the configuration does."""
        cycle = slot.start * self.ii + slot.slot
        if slot.kind == "move":
            source = self._source(slot, slot.operands[0])
            instruction = PeInstruction("SADD", source, register=self._register(slot))
            before = early.get((slot.resource, cycle), 0)
            return KernelFiring(pe=slot.tile, cycle=cycle, instruction=instruction, node=-1, copy=0, early=before)
        if slot.kind != "op":
            raise MappingError(f"PE {self.arch.tiles[slot.tile].name} spills a value, which the machine cannot")
        node = self.dfg.nodes[slot.node]
        depth = max((-k for k in self.initials.get((node.id, slot.copy), {})), default=0)
        instruction = self._instruction(node, slot)
        return KernelFiring(
            pe=slot.tile, cycle=cycle, instruction=instruction, node=slot.node, copy=slot.copy, early=depth
        )

    def _instruction(self, node: Node, slot: Slot) -> PeInstruction:
        """The instruction of a node."""
        if node.op not in _OPCODES:
            raise MappingError(f"node {node.id!r}: the machine has no {node.op}")
        sources: list[str] = []
        immediate = 0
        for k, operand in enumerate(slot.operands):
            source = self._source(slot, operand)
            if source == "IMM":
                value = self.scaling.immediate(node.id, k, int(self.dfg.nodes[operand.node].value or 0))
                source = "IMM" if value else "ZERO"
                if value and immediate not in (0, value):
                    raise MappingError(f"node {node.id!r} has two immediates, {immediate} and {value}; one fits")
                immediate = value or immediate
            sources.append(source)
        if not LEAST <= immediate <= MOST:
            raise MappingError(f"node {node.id!r}: immediate {immediate}; 13 bits hold {LEAST} to {MOST}")
        # An access takes its address second; what a store writes comes first.
        sources = sources[::-1] if node.op == "store" else ["ZERO", *sources] if node.op == "load" else sources
        a, b, flag = [*sources, "ZERO", "ROUT"][:3]
        flag = flag if node.op.startswith("select") else "ROUT"
        if flag == "IMM" or (flag[0] == "R" and flag[1].isdigit()):
            raise MappingError(f"node {node.id!r} reads the flag of {flag}, which has none")
        register = self._register(slot) if self.dfg.ops[slot.node].result else None
        return PeInstruction(_OPCODES[node.op], a, b, register, flag.replace("ROUT", "SELF"), immediate)

    def _source(self, slot: Slot, operand: Operand) -> str:
        """Where an operand comes from, as the machine calls it."""
        if operand.kind == "const":
            return "IMM"
        resource = int(self.configuration.driver[operand.resource, slot.slot]) if operand.kind == "routed" else -1
        if resource < 0:
            raise MappingError(f"an operand on PE {self.arch.tiles[slot.tile].name} comes from nowhere")
        if self.arch.kind[resource] == Kind.REG:
            return f"R{int(self.arch.position[resource])}"
        return self.grid.direction(slot.tile, int(self.arch.tile[resource]))

    def _register(self, slot: Slot) -> int | None:
        """The register that takes the result of a slot."""
        ready = (slot.slot + slot.latency) % self.ii
        file = self.arch.register_files[slot.tile].registers
        found = [k for k, r in enumerate(file) if self.configuration.driver[r, ready] == slot.resource]
        if len(found) > 1:
            raise MappingError(f"a result on PE {self.arch.tiles[slot.tile].name} goes to {len(found)} registers")
        return found[0] if found else None

    # -- the window ---------------------------------------------------------------------------------------------------

    def _window(self) -> int:
        """The first cycle of the kernel: the branch is last, and nothing belongs to an iteration that is not there."""
        branch = next(f for f in self.firings if f.node == self.branch)
        least = max(f.cycle - self.ii + 1 - (f.early * self.ii if f.node < 0 else 0) for f in self.firings)
        return least + (branch.cycle + 1 - least) % self.ii

    def _passes(self, firing: KernelFiring) -> int:
        """The iteration that a firing belongs to in the first pass of the kernel."""
        return -((firing.cycle - self.start) // self.ii)

    def _line_of(self, firing: KernelFiring) -> int:
        """The line of the kernel in which a firing is."""
        return (firing.cycle - self.start) % self.ii

    def _liveouts(self) -> list[KernelFiring]:
        """The firings whose last results outlive the loop."""
        return [f for f in self.firings if f.node >= 0 and self.dfg.nodes[f.node].liveout and f.copy == 0]

    def _is_exact(self, firing: KernelFiring) -> bool:
        """Whether a firing must not belong to an iteration beyond the last.

        Stores are such, and loads whose address is no pointer that counts: what they read then may be anywhere.
        """
        node = self.dfg.nodes[firing.node]
        if firing.node < 0 or node.op not in ("load", "store"):
            return False
        address = self.dfg.edges[self.dfg.operand_edges(node.id)[0]].source
        itself = any(self.dfg.edges[e].source == address for e in self.dfg.operand_edges(address))
        return node.op == "store" or not itself

    def _is_overwritten(self, firing: KernelFiring) -> bool:
        """Whether the PE of a firing does something else later in the kernel."""
        mine = self._line_of(firing)
        return any(f.pe == firing.pe and self._line_of(f) > mine for f in self.firings)

    # -- the parts ----------------------------------------------------------------------------------------------------

    def program(self, beyond: int) -> PeProgram:
        """The program whose kernel goes on for some passes in place of an epilogue."""
        self.beyond, self.last = beyond, self.latest - beyond
        self.reads: list[list[Parameter]] = [[] for _ in range(self.grid.cols)]
        self.writes: list[list[str]] = [[] for _ in range(self.grid.cols)]
        #: Loads of the straight code: (line, PE) -> what is loaded.
        self.loads: dict[tuple[int, int], Parameter] = {}
        #: Stores of the epilogue: (identity of the line, PE) -> the live-out.
        self.stored: dict[tuple[int, int], str] = {}
        unplaced = [n for n in self.dfg.nodes if n.liveout and n.op in ("const", "livein")]
        if unplaced:
            raise MappingError(f"live-out {unplaced[0].liveout!r} is no result of the loop")
        before = self._with_registers(self._prologue())
        kernel = [empty_line(self.grid.pes) for _ in range(self.ii)]
        for firing in self.firings:
            kernel[self._line_of(firing)][firing.pe] = firing.instruction
            if firing.node == self.branch:
                kernel[-1][firing.pe] = replace(firing.instruction, immediate=len(before))
        after = self._epilogue()
        end = empty_line(self.grid.pes)
        end[0] = PeInstruction("EXIT")
        lines = [*before, *kernel, *after, end]
        for at, pe in sorted(self.loads):
            self.reads[pe % self.grid.cols].append(self.loads[at, pe])
        return PeProgram(
            name=self.dfg.name,
            rows=self.grid.rows,
            cols=self.grid.cols,
            lines=tuple(map(tuple, lines)),
            kernel=(len(before), len(before) + self.ii),
            least=self.last + 1,
            beyond=self.beyond,
            reads=tuple(map(tuple, self.reads)),
            writes=tuple(map(tuple, self.writes)),
        )

    def _prologue(self) -> list[Line]:
        """The lines before the kernel, without those in which nothing happens."""
        found: dict[int, Line] = {}
        loads: dict[tuple[int, int], Parameter] = {}
        for firing in self.firings:
            for iteration in range(-firing.early, self._passes(firing)):
                cycle = firing.cycle + iteration * self.ii
                line = found.setdefault(cycle, empty_line(self.grid.pes))
                if firing.node < 0 or iteration >= 0:
                    line[firing.pe] = firing.instruction if firing.node != self.branch else NOP
                    continue
                line[firing.pe], parameter = self._early_value(firing, iteration)
                if parameter is not None:
                    loads[cycle, firing.pe] = parameter
        cycles = [cycle for cycle in sorted(found) if not is_idle(found[cycle])]
        self.loads = {(cycles.index(cycle), pe): parameter for (cycle, pe), parameter in loads.items()}
        return [found[cycle] for cycle in cycles]

    def _early_value(self, firing: KernelFiring, iteration: int) -> tuple[PeInstruction, Parameter | None]:
        """The instruction that brings what a node is before the first iteration, and what it loads, if it does."""
        node = self.dfg.nodes[firing.node].id
        value = self.initials[node, firing.copy].get(iteration, 0)
        register, array = firing.instruction.register, self.scaling.array_of(node)
        if firing.node == self.counter:
            branch = next(f for f in self.firings if f.node == self.branch)
            left = self._passes(branch) - self.last
            return _load(register), Parameter(name=TRIPS, number=left)
        if isinstance(value, str):
            return _load(register), Parameter(array=array, name=value, factor=self.scaling.factor_of(node))
        number = int(value) * self.scaling.factor_of(node)
        if array is None and LEAST <= number <= MOST:
            return PeInstruction("SADD", "ZERO", "IMM" if number else "ZERO", register, immediate=number), None
        return _load(register), Parameter(array=array, number=number)

    def _with_registers(self, prologue: list[Line]) -> list[Line]:
        """The prologue with the loads of what registers keep before it, in as few lines as they take."""
        kept: dict[int, list[tuple[int, Parameter]]] = {}
        for resource, k in self.configuration.preset.items():
            node = self.dfg.nodes[k]
            factor = self.scaling.factor_of(node.id)
            value = Parameter(
                array=self.scaling.array_of(node.id),
                name=node.id if node.op == "livein" else None,
                factor=factor,
                number=int(node.value or 0) * factor,
            )
            kept.setdefault(int(self.arch.tile[resource]), []).append((int(self.arch.position[resource]), value))
        more = max(map(len, kept.values()), default=0)
        lines = [empty_line(self.grid.pes) for _ in range(more)] + prologue
        loads = {(at + more, pe): parameter for (at, pe), parameter in self.loads.items()}
        for pe, values in kept.items():
            for at, (register, parameter) in enumerate(values):
                lines[at][pe] = _load(register)
                loads[at, pe] = parameter
        lines, moved = compact(lines, self.grid)
        self.loads = {(moved[at, pe], pe): parameter for (at, pe), parameter in loads.items()}
        return lines

    def _epilogue(self) -> list[Line]:
        """The lines after the kernel: what is left of the last iterations, and the stores of live-outs."""
        count = self.ii * max(0, *(self.last - self._passes(f) for f in self.firings))
        lines = [empty_line(self.grid.pes) for _ in range(count)]
        final: dict[int, int] = {}
        for k, firing in enumerate(self.firings):
            final[k] = self._line_of(firing) - self.ii
            for later in range(1, self.last - self._passes(firing) + 1):
                final[k] = self._line_of(firing) + (later - 1) * self.ii
                if firing.node != self.branch:
                    lines[final[k]][firing.pe] = firing.instruction
        outs = [(k, f) for k, f in enumerate(self.firings) if f in self._liveouts()]
        drop_unread(lines, self.grid, {(final[k], f.pe) for k, f in outs})
        waiting = [f.pe for _, f in outs]
        for k, firing in sorted(outs, key=lambda entry: -final[entry[0]]):
            waiting.remove(firing.pe)
            self._store(lines, max(final[k], -1), firing, waiting)
        names = {(at, pe): self.stored[id(line), pe] for at, line in enumerate(lines) for pe, i in enumerate(line)
                 if i.op == "SWD"}  # fmt: skip
        lines, moved = compact(lines, self.grid)
        for at, pe in sorted(names, key=lambda place: (moved[place], place[1])):
            self.writes[pe % self.grid.cols].append(names[at, pe])
        return lines

    def _store(self, lines: list[Line], at: int, firing: KernelFiring, waiting: list[int]) -> None:
        """Store the result that a PE has after a line: there or on a neighbour, in a line before it is overwritten.

        A PE that stores loses what is in its output register: nothing may read that later, or be ``waiting`` there.
        """
        end = next((k for k in range(at + 1, len(lines)) if lines[k][firing.pe] != NOP), len(lines))
        # What is live before each line, and at the end.
        live = live_after([empty_line(self.grid.pes), *lines], self.grid)
        for line in range(at + 1, end + 1):
            for pe, source in self._readers(firing.pe):
                free = line < len(lines) and lines[line][pe] == NOP and (pe, None) not in live[line + 1]
                if free and pe not in waiting:
                    self._put_store(lines, line, pe, source, firing)
                    return
        for pe, source in self._readers(firing.pe):
            if (pe, None) not in live[end] and pe not in waiting:
                lines.insert(end, empty_line(self.grid.pes))
                self._put_store(lines, end, pe, source, firing)
                return
        raise MappingError(f"no PE is free to store live-out {self.dfg.nodes[firing.node].liveout!r}")

    def _readers(self, pe: int) -> Iterator[tuple[int, str]]:
        """The PEs that read an output register, the owner first, each with what it calls it."""
        yield pe, "ROUT"
        for name in ("RCL", "RCR", "RCT", "RCB"):
            other = self.grid.neighbour(pe, name)
            yield other, self.grid.direction(other, pe)

    def _put_store(self, lines: list[Line], at: int, pe: int, source: str, firing: KernelFiring) -> None:
        """Add the store of a live-out."""
        # Lines move when others are inserted before them, so that they are known by identity.
        self.stored[id(lines[at]), pe] = str(self.dfg.nodes[firing.node].liveout)
        lines[at][pe] = PeInstruction("SWD", source, immediate=4)


def _load(register: int | None) -> PeInstruction:
    """The instruction that takes the next word of its column's parameters."""
    return PeInstruction("LWD", register=register, immediate=4)
