"""Unroll and jam in the IR of a function: an innermost loop that does several iterations of the loop around it.

A launch then does the work of several, loads what they share once, and keeps between them what each would have stored
and the next one loaded. The jammed nest stands before the old one, which runs the iterations that are left over:

    gl.jam.pre    enough outer iterations?  no: the old nest
    gl.jam.fore   what stands before the inner loop, for each copy
    gl.jam.inner  the inner loop with the copies one after the other
    gl.jam.aft    what stands behind it, for each copy; once more, or on to
    gl.jam.rest   none left: behind the old nest; else the old nest

It is done for nests whose outer loop counts by ones to a bound, around an inner loop of one block that each outer
iteration enters, with straight code around it, and where no order of memory accesses changes that matters.

With one copy nothing is jammed, and no order changes. What is gained is a nest that enters its inner loop in every
outer iteration, and whose inner loop runs at least :data:`TURNS` times: both are asked once, before the nest.

LLVM's own unroll-and-jam needs an inner loop that every outer iteration enters; clang guards inner loops whose bound is
no constant.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gridloom.compiler.analysis.evolution import Evolution
from gridloom.compiler.analysis.loops import NaturalLoop, find_loops, reach
from gridloom.compiler.c.region import Trip, single, trip_parts
from gridloom.compiler.ir.driver import optimise_ir
from gridloom.compiler.ir.ir import BasicBlock, Constant, Function, Instruction, IrModule, Value
from gridloom.compiler.ir.reader import read_module
from gridloom.compiler.ir.writer import (
    Builder,
    add_way,
    gather_entry,
    phis_of,
    readers_behind,
    way_from,
    write_module,
)
from gridloom.compiler.passes.jam_order import refuse_crossings
from gridloom.errors import GridloomError, SourceError

#: Instructions that may be computed earlier than the source says.
_EARLY: Final = ("add", "sub", "mul", "shl", "and", "or", "xor", "getelementptr", "sext", "zext", "trunc", "icmp")


#: How the blocks begin that are the inner loops of jammed nests, and the outer ones.
INNER: Final = "gl.jam.inner."
OUTER: Final = "gl.jam.fore."
#: Iterations of an inner loop below which the core runs the old nest.
TURNS: Final = 8


@dataclass(frozen=True)
class Jammed:
    """A module with jammed nests, and the headers of the inner loops that run what is left over.

    ``turns`` says, by the header of the outer loop, how often the inner loop of a jammed nest runs at least.
    """

    ir: str
    left_over: frozenset[str]
    turns: dict[str, int]


def jam_nests(ir: str, path: Path, function: str, factor: int) -> Jammed | None:
    """The module with every nest of a function jammed that can be; None where there is none.

    With a ``factor`` of 1 the nests are only told apart from those whose inner loop is short or not entered. ``path``
    is the file that messages name. Costs an optimisation by clang, 0.1 to 0.3 s.
    """
    module = read_module(ir, str(path))
    left: list[str] = []
    turns: dict[str, int] = {}
    for loop in find_loops(module, module.functions[function]):
        if len(loop.children) == 1 and not loop.children[0].children:
            try:
                nest = _Jam(module, loop, factor, len(left))
                nest.insert()
            except GridloomError:
                continue
            left.append(loop.children[0].header)
            turns[nest.names["fore"]] = nest.turns
    return Jammed(optimise_ir(write_module(module, {}), path), frozenset(left), turns) if left else None


@dataclass
class _Shape:
    """A nest as straight lines: instructions before the inner loop, of it, and behind it."""

    fore: list[Instruction] = field(default_factory=list)
    inner: list[Instruction] = field(default_factory=list)
    aft: list[Instruction] = field(default_factory=list)
    #: Phi of a join -> the value that comes from the one way that is taken.
    joins: dict[Value, Value] = field(default_factory=dict)
    #: Conditions from outside that have to hold (or not) for the inner loop to be entered.
    guards: list[tuple[Value, bool]] = field(default_factory=list)


class _Jam:
    """Jams one nest; nothing is changed where it cannot be."""

    def __init__(self, module: IrModule, loop: NaturalLoop, factor: int, number: int) -> None:
        self.module, self.loop, self.factor = module, loop, factor
        self.function: Function = loop.function
        self.blocks = loop.function.blocks
        self.child = loop.children[0]
        self.names = {part: f"gl.jam.{part}.{number}" for part in ("pre", "fore", "inner", "aft", "rest")}
        self.header, self.latch = loop.header, loop.latches[0]
        if self.child.blocks != [self.child.header]:
            raise SourceError("the inner loop has more than one block")
        exits = loop.exits
        if len(exits) != 1 or exits[0][0] != self.latch:
            raise SourceError("the outer loop has more than one way out")
        self.target = exits[0][1]
        self.shape = _Shape()
        #: How often the inner loop runs at least, and the ends that have to be asked for that.
        self.turns, self.ends = 1, list[Value]()
        self.counter, self.bound = self._counted()
        #: For each copy: value of the nest -> its copy.
        self.copies: list[dict[Value, Value]] = [{} for _ in range(factor)]

    def _counted(self) -> tuple[Instruction, Value]:
        """The outer loop's counter and the bound that it stops at."""
        end = self.blocks[self.latch].terminator
        if end.targets != [self.target, self.header]:
            raise SourceError("the outer loop does not end at a bound")
        return counts_to(self.loop, end.operands[0])

    # -- the shape of the nest ----------------------------------------------------------------------------------------

    def insert(self) -> None:
        """Put the jammed nest before the old one. SourceError where it cannot be."""
        self._walk()
        self._hoist()
        trip = trip_parts(single(self.child, ""))
        if trip is None or any(self.loop.contains(value) for value in (trip.start, trip.bound)):
            raise SourceError("the inner loop does not run equally often each time")
        if self.factor > 1:
            refuse_crossings(self.module, self.loop, (self.shape.fore, self._body(), self.shape.aft))
            self._check_values()
        else:
            self.turns, self.ends = _turns(trip)
        self.trip = trip
        readers = readers_behind(self.function, set(self.loop.blocks))
        entered = [b.name for b in self.blocks.values() if self.target in b.successors]
        if readers and entered != [self.latch]:
            raise SourceError("values of the nest are read behind it")
        self._build(readers)

    def _body(self) -> list[Instruction]:
        return [item for item in self.shape.inner[:-1] if item.opcode != "phi"]

    def _walk(self) -> None:
        """Follow the one way through an outer iteration that enters the inner loop."""
        shape, at, came, part = self.shape, self.header, "", self.shape.fore
        for _ in range(len(self.loop.blocks) + 1):
            block = self.blocks[at]
            if at == self.child.header:
                shape.inner = block.instructions
                leaves = [target for target in block.successors if target != at]
                at, came, part = leaves[0], at, shape.aft
                continue
            for item in block.instructions[:-1]:
                if item.opcode != "phi":
                    part.append(item)
                elif at != self.header:
                    shape.joins[item] = way_from(item, came)
            if at == self.latch:
                if not shape.inner:
                    raise SourceError("the inner loop is not on the way")
                return
            at, came = self._following(block, bool(shape.inner)), at
        raise SourceError("the way through the nest is not known")

    def _following(self, block: BasicBlock, behind: bool) -> str:
        """Where control goes on; a branch on a value from outside is a guard of the inner loop."""
        end = block.terminator
        if len(block.successors) == 1:
            return block.successors[0]
        if end.opcode != "br" or self.loop.contains(end.operands[0]) or behind:
            raise SourceError("what stands around the inner loop has branches")
        first, second = (self._reaches(target) for target in end.targets)
        if first == second:
            raise SourceError("a branch before the inner loop does not guard it")
        self.shape.guards.append((end.operands[0], first))
        return end.targets[0] if first else end.targets[1]

    def _reaches(self, name: str) -> bool:
        """Whether a block leads to the inner loop within the iteration."""
        inside = {at: self.blocks[at].successors if at in self.loop.blocks else [] for at in self.blocks}
        return self.child.header in reach(inside, [name], {self.header})

    def _hoist(self) -> None:
        """Move to the front what stands behind the inner loop and depends on neither of memory and of it."""
        shape = self.shape
        early: set[Value] = {*shape.fore, *self.loop.phis}
        late: list[Instruction] = []
        for item in shape.aft:
            known = all(value in early or not self.loop.contains(value) for value in map(self._joined, item.operands))
            if item.opcode in _EARLY and known:
                shape.fore.append(item)
                early.add(item)
            else:
                late.append(item)
        shape.aft = late

    def _joined(self, value: Value) -> Value:
        """A value, through joins."""
        while value in self.shape.joins:
            value = self.shape.joins[value]
        return value

    def _check_values(self) -> None:
        """SourceError where a copy needs what the copy before computes too late."""
        early = {*self.shape.fore}
        late = {phi for phi in self.loop.phis
                if self.loop.contains(v := self._joined(self.loop.following(phi))) and v not in early}  # fmt: skip
        if any(self._joined(v) in late for item in (*self.shape.fore, *self.shape.inner) for v in item.operands):
            raise SourceError("an outer iteration needs what the one before leaves")

    # -- the new blocks -----------------------------------------------------------------------------------------------

    def _copy(self, value: Value, copy: int) -> Value:
        """A value in a copy."""
        value = self._joined(value)
        if not self.loop.contains(value):
            return value
        if value in self.loop.phis and copy:
            return self._copy(self.loop.following(value), copy - 1)
        return self.copies[copy][value]

    def _copied(self, made: Builder, items: list[Instruction]) -> None:
        """Instructions once for each copy."""
        for k in range(self.factor):
            for item in items:
                self.copies[k][item] = made.copy(item, lambda value, k=k: self._copy(value, k))  # type: ignore[misc]

    def _build(self, readers: list[tuple[Instruction, int, Instruction]]) -> None:
        """Add the blocks and lead control through them."""
        names, last = self.names, self.factor - 1
        pre, fore, inner, aft, rest = (Builder(self.function, name, f"{name}.v") for name in names.values())
        starts = gather_entry(self.function, set(self.loop.blocks), self.header, pre)
        self._ask(pre, starts[self.counter])
        for phi in self.loop.phis:
            self.copies[0][phi] = fore.phi(phi.type, (starts[phi], names["pre"]))
        self._copied(fore, self.shape.fore)
        fore.go(names["inner"])
        self._inner(inner)
        self._copied(aft, self.shape.aft)
        left = aft.add("sub", "i32", self.bound, self._last(self.counter))
        more = aft.add("icmp uge", "i1", left, Constant("i32", self.factor))
        aft.go(names["fore"], names["rest"], on=more)
        rest.go(self.target, self.header, on=rest.add("icmp eq", "i1", left, Constant("i32", 0)))
        for phi in self.loop.phis:
            carried = self.copies[0][phi]
            assert isinstance(carried, Instruction)
            add_way(carried, self._last(phi), names["aft"])
            add_way(phi, starts[phi], names["pre"])
            add_way(phi, self._last(phi), names["rest"])
        # What is read behind the nest comes from either of the two.
        for phi in phis_of(self.blocks[self.target]):
            add_way(phi, self._copy(way_from(phi, self.latch), last), names["rest"])
        behind = Builder(self.function, self.target, f"{names['rest']}.b")
        merged = {value: behind.phi(value.type, (value, self.latch), (self._copy(value, last), names["rest"]))
                  for value in dict.fromkeys(value for _, _, value in readers)}  # fmt: skip
        phis = [self.blocks[self.target].instructions.pop() for _ in merged]
        self.blocks[self.target].instructions[:0] = phis
        for reader, k, value in readers:
            reader.operands[k] = merged[value]

    def _last(self, phi: Instruction) -> Value:
        """What the last copy leaves in a phi of the outer loop."""
        return self._copy(self.loop.following(phi), self.factor - 1)

    def _ask(self, pre: Builder, start: Value) -> None:
        """Whether there are enough iterations, and the inner loop is entered and long enough."""
        total = pre.add("sub", "i32", self.bound, start)
        go = pre.add("icmp uge", "i1", total, Constant("i32", self.factor))
        for condition, wanted in self.shape.guards:
            holds = condition if wanted else pre.add("xor", "i1", condition, Constant("i1", 1))
            go = pre.add("and", "i1", go, holds)
        if self.ends:
            way = pre.add("sub", "i32", *self.ends)
            turns = pre.add("add", "i32", way, Constant("i32", self.trip.extra))
            go = pre.add("and", "i1", go, pre.add("icmp sge", "i1", turns, Constant("i32", TURNS)))
        pre.go(self.names["fore"], self.header, on=go)

    def _inner(self, made: Builder) -> None:
        """The inner loop: phis of all copies, then their bodies; the first one's test ends it."""
        for k in range(self.factor):
            for phi in self.child.phis:
                first = way_from(phi, next(source for source in phi.incoming if source != self.child.header))
                self.copies[k][phi] = made.phi(phi.type, (self._copy(first, k), self.names["fore"]))
        self._copied(made, self._body())
        for k in range(self.factor):
            for phi in self.child.phis:
                copy = self.copies[k][phi]
                assert isinstance(copy, Instruction)
                add_way(copy, self._copy(self.child.following(phi), k), self.names["inner"])
        end = self.shape.inner[-1]
        ways = [self.names["inner"] if target == self.child.header else self.names["aft"] for target in end.targets]
        made.go(*ways, on=self._copy(end.operands[0], 0), metadata=end.metadata)


def counts_to(loop: NaturalLoop, test: Value) -> tuple[Instruction, Value]:
    """The counter that a test compares with a bound, and the bound. SourceError unless it counts by ones up to it."""
    if isinstance(test, Instruction) and test.opcode == "icmp" and test.predicate == "eq":
        value, bound = test.operands
        for phi in loop.phis:
            one = loop.following(phi) is value and phi.type == "i32" and Evolution(loop).step_of(phi) == 1
            if one and not loop.contains(bound):
                return phi, bound
    raise SourceError("the loop does not count by ones to a bound")


def _turns(trip: Trip) -> tuple[int, list[Value]]:
    """How often an inner loop runs at least, and the ends, high and low, that say so; none if that is known."""
    if trip.constant is not None:
        return max(1, min(TURNS, trip.constant)), []
    if not trip.exact or abs(trip.step) != 1 or not trip.is_word:
        return 1, []
    return TURNS, [trip.bound, trip.start] if trip.step > 0 else [trip.start, trip.bound]
