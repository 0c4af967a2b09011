"""Loops that end when a value says so, as loops that run a number of iterations which somebody else chooses.

An array without a dynamic exit runs as many iterations as it is told. A loop with ``break``, ``return`` or a condition
on data is therefore rewritten, in the IR: it carries a flag ``done``, which an exit sets; once it is set, stores are
suppressed and what the function reads after the loop stays latched. The host runs a piece of so many iterations, looks
at the flag, and starts the next piece from the carried values of the last one.

Everything else goes on after the exit: values that nobody reads any more, and loads, which may lead outside their
array then. So the flag is in no recurrence but its own. Pointers that the loop moves become a fixed pointer and a
count of elements, since a live-out is a word and not an address.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gridloom.compiler.analysis.loops import (
    NaturalLoop,
    dominates,
    find_loops,
    immediate_dominators,
    predecessors,
    reverse_postorder,
)
from gridloom.compiler.c.c_loop import CLoop
from gridloom.compiler.c.region import single
from gridloom.compiler.c.translate import translate
from gridloom.compiler.ir.ir import BasicBlock, Constant, Function, Instruction, IrModule, IrParameter, Value
from gridloom.compiler.ir.layout import DataLayout
from gridloom.errors import SourceError

_BEFORE, _LATCH, _AFTER = "piece.before", "piece.latch", "piece.after"


@dataclass(frozen=True, eq=False)
class CarriedExit:
    """A carried value of the loop: what a piece starts from and what it leaves.

    ``start`` is the header phi of the function's own loop, or a number of elements for a pointer: 0 at first.
    """

    start: Value
    following: Value
    #: Live-in and live-out of the graph; "" where the graph does not need it.
    livein: str = ""
    liveout: str = ""


@dataclass(frozen=True, eq=False)
class Left:
    """A value that the function reads after the loop.

    For a pointer, ``root`` is the header phi that it moves with, and the graph leaves elements of ``unit`` bytes.
    """

    item: Instruction
    latched: Instruction
    root: Instruction | None = None
    unit: int = 0
    #: The ways out on which the value is computed; on others nobody reads it.
    ways: frozenset[int] = frozenset()
    liveout: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class ExitLoop:
    """A loop in pieces: its graph, and which names of the graph mean what."""

    graph: CLoop = field(repr=False)
    carried: tuple[CarriedExit, ...]
    left: tuple[Left, ...]
    #: Live-out that is not 0 once the loop has ended.
    done: str
    #: Live-out with the number of the way out; "" where there is one way only.
    way: str


def exit_loop(module: IrModule, loop: NaturalLoop, name: str, file: str) -> ExitLoop:
    """The graph of a loop with early exits. SourceError for what no graph can do.

    The graph is made anew until it leaves just those carried values that its next piece starts from, which takes two
    or three translations.
    """
    wanted: set[str] = set()
    while True:
        made = _Rewriting(module, loop)
        made.rewrite(wanted)
        spans = {made.function.blocks[_LATCH].terminator: loop.span}
        changed = replace(module, spans=spans)
        (found,) = find_loops(changed, made.function)
        # A piece starts where the one before ended, so that nothing may be computed before the loop alone.
        graph = translate(changed, single(found, file), file, name, {}, reduced=False)
        needed = {item.name for item in made.headers if any(v is item.start for v in graph.liveins.values())}
        if needed <= wanted:
            return made.result(graph)
        wanted |= needed


@dataclass(eq=False)
class _Header:
    """A header phi on its way: what the pieces start from, the phi of the copy, what an iteration leaves."""

    name: str
    start: Value
    phi: Instruction
    following: Value | None = None


class _Rewriting:
    """One rewriting of a loop into a function of its own."""

    def __init__(self, module: IrModule, loop: NaturalLoop) -> None:
        self.loop = loop
        self.layout = DataLayout(module.structs)
        self.immediate = immediate_dominators(reverse_postorder(loop.function), predecessors(loop.function))
        self.blocks: dict[str, BasicBlock] = {}
        self.copies: dict[Value, Value] = {}
        #: Block of the loop -> the last block that its copy was cut into.
        self.last: dict[str, str] = {}
        self.headers: list[_Header] = []
        self.pointers: dict[Instruction, _Header] = {}
        self.units: dict[Instruction, int] = {}
        self.offsets: dict[Value, tuple[Instruction, Value]] = {}
        self.left: list[Left] = []
        self.way: Instruction | None = None
        self.done = self._make("done", "i1", "phi", self._copy_name(loop.header))

    # -- records ----------------------------------------------------------------------------------------------------

    def _copy_name(self, block: str) -> str:
        return f"piece.{block}"

    def _make(self, name: str, kind: str, opcode: str, block: str, operands: Sequence[Value] = ()) -> Instruction:
        made = Instruction(name, kind, opcode, f"  %{name} = {opcode} {kind}", block, self.loop.span.start)
        made.operands = list(operands)
        return made

    def _append(self, block: str, item: Instruction) -> Instruction:
        self.blocks.setdefault(block, BasicBlock(block, [])).instructions.append(item)
        return item

    def _jump(self, block: str, *targets: str, condition: Value | None = None) -> Instruction:
        jump = self._make(f"{block}.br", "void", "br", block, [condition] if condition is not None else [])
        jump.targets = list(targets)
        return self._append(block, jump)

    def value(self, value: Value) -> Value:
        """The copy of a value of the loop; any other value is itself."""
        return self.copies.get(value, value)

    # -- the steps --------------------------------------------------------------------------------------------------

    def rewrite(self, wanted: set[str]) -> None:
        """Build the function; carried values in ``wanted`` are live-outs."""
        header = self._copy_name(self.loop.header)
        self._jump(_BEFORE, header)
        self._header_phis(header)
        for name in self.loop.blocks:
            self._copy_block(name)
        self._fill_operands()
        self._next_block()
        self._latch(header, wanted)
        self.function = Function(self.loop.function.name, self.loop.function.line, [], self.blocks)

    def _header_phis(self, header: str) -> None:
        """Phis that start from what the function's own phis hold when the loop begins."""
        for phi in self.loop.phis:
            if phi.type == "ptr":
                self._pointer_phi(phi, header)
                continue
            made = self._make(phi.name, phi.type, "phi", header)
            self._append(header, made)
            self.copies[phi] = made
            self.headers.append(_Header(phi.name, phi, made))
        self._append(header, self.done)

    def _pointer_phi(self, phi: Instruction, header: str) -> None:
        """A pointer that moves: a count of elements, and an address computed from it."""
        unit = self._unit()
        start = IrParameter(f"{phi.name}_at", "i32")
        made = self._make(f"{phi.name}_at", "i32", "phi", header)
        self._append(header, made)
        entry = _Header(start.name, start, made)
        self.headers.append(entry)
        self.pointers[phi], self.units[phi] = entry, unit
        place = self._make(phi.name, "ptr", "getelementptr", header, [phi, made])
        place.source_type = f"[{unit} x i8]"
        self.copies[phi] = place
        self.offsets[phi] = (phi, made)

    def _unit(self) -> int:
        """Bytes that the steps of a pointer are multiples of."""
        steps = [0]
        for item in self.loop.instructions:
            if item.opcode == "getelementptr":
                size = self.layout.size(item.source_type)
                index = item.operands[1]
                steps.append(size * index.value if isinstance(index, Constant) and len(item.operands) == 2 else size)
        moving = [item for item in self.loop.instructions if item.opcode == "getelementptr" and len(item.operands) != 2]
        if moving:
            return 1
        return abs(math.gcd(*steps)) or 1

    def _copy_block(self, name: str) -> None:
        """The copy of a block, cut at each store, which gets a block that only runs while the loop is not done."""
        current = self._copy_name(name)
        self.blocks.setdefault(current, BasicBlock(current, []))
        if name == self.loop.header:
            # The addresses of moving pointers stand behind all phis.
            for phi in self.pointers:
                place = self.copies[phi]
                assert isinstance(place, Instruction)
                self._append(current, place)
        for item in self.loop.function.blocks[name].instructions:
            if item.opcode == "phi" and name == self.loop.header:
                continue
            if item is self.loop.function.blocks[name].terminator:
                break
            if item.opcode == "store":
                guarded, behind = f"{current}.store", f"{current}.on"
                self._jump(current, behind, guarded, condition=self.done)
                self._copy(item, guarded)
                self._jump(guarded, behind)
                current = behind
                self.blocks[current] = BasicBlock(current, [])
            else:
                self._copy(item, current)
        self.last[name] = current
        self._terminator(name, current)

    def _copy(self, item: Instruction, block: str) -> None:
        """The copy of an instruction; its operands are filled in when all copies exist."""
        made = replace(item, block=block, operands=list(item.operands), incoming=list(item.incoming))
        self.copies[item] = made
        self._append(block, made)

    def _terminator(self, name: str, current: str) -> None:
        """The branch of a block, with every exit led to a block of its own."""
        item = self.loop.function.blocks[name].terminator
        made = replace(item, block=current, operands=list(item.operands), targets=[])
        exits = self.loop.exits
        for target in item.targets:
            if (name, target) in exits:
                made.targets.append(f"piece.exit.{exits.index((name, target))}")
            elif target == self.loop.header:
                made.targets.append("piece.next")
            else:
                made.targets.append(self._copy_name(target))
        self._append(current, made)

    def _fill_operands(self) -> None:
        """Operands and the sources of phis become those of the copy."""
        for block in self.blocks.values():
            for item in block.instructions:
                if (
                    item in self.pointers
                    or item is self.done
                    or (item.opcode == "getelementptr" and self._is_place(item))
                ):
                    continue
                item.operands = [self.value(operand) for operand in item.operands]
                if item.opcode == "phi":
                    item.incoming = [self.last.get(source, source) for source in item.incoming]

    def _is_place(self, item: Instruction) -> bool:
        """True for the address of a moving pointer, whose operands are final."""
        return any(self.copies[phi] is item for phi in self.pointers)

    def _next_block(self) -> None:
        """Where the exits and the end of an iteration meet."""
        for k in range(len(self.loop.exits)):
            self._jump(f"piece.exit.{k}", _LATCH)
        self._jump("piece.next", _LATCH)

    # -- the latch --------------------------------------------------------------------------------------------------

    def _latch(self, header: str, wanted: set[str]) -> None:
        """Flag, latched values and carried values at the end of an iteration, and what leaves the loop."""
        exits = self.loop.exits
        leaves: list[Value] = []
        now = self._merge("leaves", "i1", [Constant("i1", 1)] * len(exits), Constant("i1", 0))
        left = [self._latched(item, header) for item in self._used_after()]
        way = self._latched_way(header) if len(exits) > 1 else None
        done = self._append(_LATCH, self._make("done", "i1", "or", _LATCH, [self.done, now]))
        leaves.append(done)
        self.done_next, self.way, self.left = done, way, left
        leaves += [way] if way is not None else []
        leaves += [item.latched for item in left]
        self._close(self.done, Constant("i1", 0), done)
        for entry in self.headers:
            phi = next(p for p in self.loop.phis if p is entry.start or self.pointers.get(p) is entry)
            following = self.loop.following(phi)
            entry.following = self._offset(following, phi) if phi.type == "ptr" else self.value(following)
            self._close(entry.phi, entry.start, entry.following)
            if entry.name in wanted and isinstance(entry.following, Instruction):
                leaves.append(entry.following)
        self._count(header, leaves)

    def _count(self, header: str, leaves: list[Value]) -> None:
        """The counter of iterations, the end of a piece, and the block that reads what is left."""
        counter = self._make("piece_count", "i32", "phi", header)
        self.blocks[header].instructions.insert(0, counter)
        after = self._append(_LATCH, self._make("piece_next", "i32", "add", _LATCH, [counter, Constant("i32", 1)]))
        self._close(counter, Constant("i32", 0), after)
        bound = IrParameter("piece_length", "i32")
        test = self._append(_LATCH, self._make("piece_ends", "i1", "icmp", _LATCH, [after, bound]))
        test.predicate = "eq"
        self._jump(_LATCH, _AFTER, header, condition=test)
        self._append(_AFTER, self._make("piece.ret", "void", "ret", _AFTER, leaves))

    def _close(self, phi: Instruction, first: Value, following: Value) -> None:
        phi.operands, phi.incoming = [first, following], [_BEFORE, _LATCH]

    def _merge(self, name: str, kind: str, at_exits: Sequence[Value | None], going_on: Value | None) -> Value:
        """A value at the latch by the way that led there; None where it does not matter."""
        known = [value for value in (*at_exits, going_on) if value is not None]
        if len(known) == 1 or all(value is known[0] for value in known):
            return known[0]
        undefined = Constant(kind, 0, undefined=True)
        merged = self._make(name, kind, "phi", _LATCH)
        merged.operands = [undefined if value is None else value for value in (*at_exits, going_on)]
        merged.incoming = [*(f"piece.exit.{k}" for k in range(len(self.loop.exits))), "piece.next"]
        place = sum(item.opcode == "phi" for item in self.blocks.get(_LATCH, BasicBlock(_LATCH, [])).instructions)
        self.blocks.setdefault(_LATCH, BasicBlock(_LATCH, [])).instructions.insert(place, merged)
        return merged

    def _used_after(self) -> list[Instruction]:
        """Values of the loop that the function reads outside of it."""
        inside = set(self.loop.blocks)
        used: dict[Instruction, None] = {}
        for name, block in self.loop.function.blocks.items():
            if name not in inside:
                for item in block.instructions:
                    used.update((o, None) for o in item.operands if isinstance(o, Instruction) and o.block in inside)
        return list(used)

    def _latched(self, item: Instruction, header: str) -> Left:
        """A value that stays as it was at the exit."""
        root: Instruction | None = None
        unit = 0
        kind = item.type
        value: Value = self.value(item)
        if kind == "ptr":
            root = self._root(item)
            value, kind, unit = self._offset(item, root), "i32", self.units[root]
        held = self._make(f"{item.name}_held", kind, "phi", header)
        self.blocks[header].instructions.insert(0, held)
        kept = self._append(_LATCH, self._make(f"{item.name}_left", kind, "select", _LATCH, [self.done, held, value]))
        self._close(held, Constant(kind, 0), kept)
        return Left(item, kept, root, unit, self._ways(item))

    def _ways(self, item: Instruction) -> frozenset[int]:
        """The exits whose block runs only after an instruction has."""
        immediate = self.immediate
        return frozenset(k for k, (source, _) in enumerate(self.loop.exits) if dominates(item.block, source, immediate))

    def _latched_way(self, header: str) -> Instruction:
        """The number of the exit that was taken."""
        exits = len(self.loop.exits)
        now = self._merge("way_now", "i32", [Constant("i32", k) for k in range(exits)], None)
        held = self._make("way_held", "i32", "phi", header)
        self.blocks[header].instructions.insert(0, held)
        kept = self._append(_LATCH, self._make("way", "i32", "select", _LATCH, [self.done, held, now]))
        self._close(held, Constant("i32", 0), kept)
        return kept

    # -- pointers ---------------------------------------------------------------------------------------------------

    def _root(self, value: Value, seen: frozenset[Value] = frozenset()) -> Instruction:
        """The header phi that a pointer moves with. SourceError for one that moves with none, or with several."""
        if isinstance(value, Instruction) and value in self.pointers:
            return value
        if isinstance(value, Instruction) and value.block in self.loop.blocks and value not in seen:
            deeper = seen | {value}
            if value.opcode == "getelementptr":
                return self._root(value.operands[0], deeper)
            if value.opcode in ("select", "phi"):
                choices = value.operands[1:] if value.opcode == "select" else value.operands
                roots = {self._root(choice, deeper) for choice in choices}
                if len(roots) == 1:
                    return roots.pop()
        raise SourceError("a pointer that leaves the loop does not move with it; use an index")

    def _offset(self, value: Value, root: Instruction) -> Value:
        """The elements between a pointer and where its root started, computed at the latch or where it is chosen."""
        if value in self.offsets:
            found, offset = self.offsets[value]
            if found is not root:
                raise SourceError("a pointer moves from one array to another in the loop; index one array")
            return offset
        if not (isinstance(value, Instruction) and value.block in self.loop.blocks):
            raise SourceError("a pointer is set to another place in the loop; index one array")
        offset = self._new_offset(value, root)
        self.offsets[value] = (root, offset)
        return offset

    def _new_offset(self, value: Instruction, root: Instruction) -> Value:
        copy = self.copies[value]
        assert isinstance(copy, Instruction)
        name = f"{value.name}_at"
        if value.opcode == "getelementptr" and len(value.operands) == 2:
            before = self._offset(value.operands[0], root)
            step = self.layout.size(value.source_type)
            index = value.operands[1]
            unit = self.units[root]
            if isinstance(index, Constant):
                added: Value = Constant("i32", index.value * step // unit)
            else:
                added = self.value(index)
                if step // unit != 1:
                    scaled = [added, Constant("i32", step // unit)]
                    added = self._behind(copy, self._make(name, "i32", "mul", copy.block, scaled))
            return self._behind(copy, self._make(name, "i32", "add", copy.block, [before, added]))
        if value.opcode == "select":
            yes, no = (self._offset(choice, root) for choice in value.operands[1:])
            return self._behind(copy, self._make(name, "i32", "select", copy.block, [copy.operands[0], yes, no]))
        if value.opcode == "phi":
            made = self._make(name, "i32", "phi", copy.block, [self._offset(o, root) for o in value.operands])
            made.incoming = list(copy.incoming)
            self.blocks[copy.block].instructions.insert(0, made)
            return made
        raise SourceError(f"the loop makes a pointer by {value.opcode!r}; index one array")

    def _behind(self, copy: Instruction, made: Instruction) -> Instruction:
        """Put an instruction right behind another one."""
        row = self.blocks[copy.block].instructions
        place = row.index(copy) + 1
        # Offsets made for one pointer stand in the order in which they are made.
        while place < len(row) and row[place].name == made.name:
            place += 1
        row.insert(place, made)
        return made

    # -- the result -------------------------------------------------------------------------------------------------

    def result(self, graph: CLoop) -> ExitLoop:
        """The names of the graph's live-ins and live-outs, by what they mean."""
        outs = {item: name for name, item in graph.liveouts.items()}
        ins = {value: name for name, value in graph.liveins.items()}
        carried = tuple(self._carried(entry, ins, outs) for entry in self.headers)
        left = tuple(replace(item, liveout=outs.get(item.latched, "")) for item in self.left)
        way = outs.get(self.way, "") if self.way is not None else ""
        if self.done_next not in outs:
            raise SourceError("it ends in its first iteration")
        return ExitLoop(graph=graph, carried=carried, left=left, done=outs[self.done_next], way=way)

    def _carried(self, entry: _Header, ins: dict[Value, str], outs: dict[Instruction, str]) -> CarriedExit:
        """A carried value by the names that the graph has for it."""
        following = entry.following
        assert following is not None
        livein = ins.get(entry.start, "")
        liveout = outs.get(following, "") if isinstance(following, Instruction) else ""
        if livein and not liveout and isinstance(following, Instruction) and following.block in self.blocks:
            raise SourceError(f"its next piece starts from {entry.name!r}, which the array does not compute")
        return CarriedExit(entry.start, following, livein, liveout)
