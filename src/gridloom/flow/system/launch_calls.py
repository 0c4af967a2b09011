"""Launches in the IR of a function: before a loop, a call that runs it on the array; the loop itself stays behind it.

Where control enters the loop, the live-ins and the pointers of the arrays go to ``gl_loop_K``. If that returns 0, the
core runs the loop as ever. Otherwise control goes on where the loop would have ended, with what the array left. Values
of the loop that are read afterwards live in memory, from which LLVM takes them back into registers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gridloom.compiler.analysis.evolution import bits_of
from gridloom.compiler.c.function.program import LoopPlan
from gridloom.compiler.ir.ir import Constant, Function, Global, Instruction, IrParameter, Value
from gridloom.compiler.ir.writer import Builder, add_way, gather_entry, make, phis_of, readers_behind, way_from
from gridloom.errors import SourceError
from gridloom.flow.system.streams import fixed_stride
from gridloom.flow.system.trip_counts import TripCount

#: The words that the driver reads of the last launch.
_OUT: Final = Global("gl_out", "[0 x i32]", "", False)


@dataclass(frozen=True)
class LaunchSite:
    """A loop that gets a launch: its number, its plan, and the function that counts its iterations."""

    number: int
    plan: LoopPlan
    trip: TripCount | None
    #: Local arrays that the loop works on, with their bytes.
    local: tuple[tuple[Instruction, int], ...] = ()

    @property
    def values(self) -> list[Value]:
        """The values that the loop's function gets; without arrays where the loop reads and writes streams."""
        graph = self.plan.graph
        assert graph is not None
        return self.plan.given[: len(graph.liveins)] if graph.streams else self.plan.given

    @property
    def streams(self) -> list[Instruction]:
        """The loads and stores that are streams; the function gets the first address of each.

        Of those whose stride is not a number it gets the second one, too.
        """
        graph = self.plan.graph
        assert graph is not None
        return list(graph.streams.values())

    @property
    def declared(self) -> str:
        """The declaration of the loop's function."""
        kinds = ["i32"] * (self.trip is not None) + [kind for value in self.values for kind in _kinds(value)]
        kinds += [kind for item in self.streams for kind in ["ptr"] * (1 + (fixed_stride(self.plan, item) is None))]
        return f"declare i32 @gl_loop_{self.number}({', '.join(kinds)})"


def insert_launches(function: Function, sites: Sequence[LaunchSite], copies: Mapping[Value, Value]) -> None:
    """Put the launches of some loops into a function. SourceError for a loop whose control or values do not fit.

    ``copies`` gives the instructions of the function that stand for those which the sites name.
    """
    for site in sites:
        _Insertion(function, site, copies).insert()
    for site in sites:
        _demote(function, site, copies)
    local = dict.fromkeys(copies.get(root, root) for site in sites for root, _ in site.local)
    for block in function.blocks.values():
        if block.terminator.opcode == "ret":
            drops = [make("", block.name, "call", "void", root, callee="gl_drop") for root in local]
            block.instructions[-1:-1] = [make("", block.name, "call", "void", callee="gl_end"), *drops]


def lead_through_end(function: Function, plan: LoopPlan, number: int) -> None:
    """Let all that launches left be in memory, and nothing elsewhere, when control enters a loop of the core."""
    made = Builder(function, f"gl.rest.{number}", f"gl.rest.{number}")
    starts = gather_entry(function, set(plan.loop.blocks), plan.loop.header, made)
    made.add("call", "void", callee="gl_end")
    made.go(plan.loop.header)
    for phi, start in starts.items():
        add_way(phi, start, made.block.name)


def _kinds(value: Value) -> list[str]:
    """The types of the words that a value becomes."""
    if value.type == "ptr":
        return ["ptr"]
    return ["i32", "i32"] if value.type == "i64" else ["i32"]


def _word(number: int) -> Constant:
    return Constant("i32", number)


def _slot(site: LaunchSite, number: int) -> Instruction:
    """The place in memory of a value that a loop leaves."""
    return Instruction(f"gl.slot.{site.number}.{number}", "ptr", "alloca", "", "")


class _Insertion:
    """Puts one launch into a function."""

    def __init__(self, function: Function, site: LaunchSite, copies: Mapping[Value, Value]) -> None:
        self.function, self.site, self.plan, self.copies = function, site, site.plan, copies
        self.inside = set(site.plan.loop.blocks)
        self.header = site.plan.loop.header
        self.pre = Builder(function, f"gl.pre.{site.number}", f"gl.pre.{site.number}")
        #: (Value of the loop, iteration) -> what it is then, computed before the loop.
        self.early: dict[tuple[Value, int], Value] = {}

    def insert(self) -> None:
        """The block before the loop, and the blocks behind a launch."""
        # A way out may lead to the launch of another loop by now.
        exits = [(name, target) for name in self.plan.loop.blocks
                 for target in self.function.blocks[name].successors if target not in self.inside]  # fmt: skip
        if not exits:
            raise SourceError("the loop never ends")
        self.starts = gather_entry(self.function, self.inside, self.header, self.pre)
        launched = self.pre.add("icmp ne", "i1", self._call(), _word(0))
        done = Builder(self.function, f"gl.done.{self.site.number}", f"gl.done.{self.site.number}")
        self.pre.go(done.block.name, self.header, on=launched)
        for phi, start in self.starts.items():
            add_way(phi, start, self.pre.block.name)
        for i, item in enumerate(self.plan.left):
            done.add("store", "void", self._left(done, i, item), _slot(self.site, i))
        ways = [f"gl.way.{self.site.number}.{way}" for way in range(len(exits))]
        if len(ways) == 1:
            done.go(ways[0])
        else:
            taken = self._out(done, 2 * len(self.plan.left))
            end = make("", done.block.name, "switch", "void", taken, *map(_word, range(1, len(ways))))
            end.targets = ways
            done.block.instructions.append(end)
        for name, (source, target) in zip(ways, exits):
            self._way(name, source, target)

    def _evaluated(self, value: Value, iteration: int) -> Value:
        """A value of the first or second iteration (0 or 1) before the loop: its instructions are copied.

        SourceError where it depends on what an iteration loads or on the way through the loop.
        """
        value = self.copies.get(value, value)
        if not isinstance(value, Instruction) or value.block not in self.inside:
            return value
        if value in self.starts:
            # Ways from outside were taken out of the header's phis.
            if iteration and len(value.operands) != 1:
                raise SourceError(f"value {value.name!r} has several ways to the next iteration")
            return self._evaluated(value.operands[0], 0) if iteration else self.starts[value]
        if (value, iteration) not in self.early:
            if value.opcode in ("phi", "call") or (iteration and value.opcode == "load"):
                raise SourceError(f"value {value.name!r} is not known when the loop begins")
            known = {operand: self._evaluated(operand, iteration) for operand in value.operands}
            self.early[value, iteration] = self.pre.copy(value, known.__getitem__)
        return self.early[value, iteration]

    def _call(self) -> Instruction:
        """The iterations, the live-ins as words, the call."""
        made, phis = self.pre, len(self.starts)
        for root, size in self.site.local:
            made.add("call", "void", self.copies.get(root, root), _word(size), callee="gl_buffer")
        words: list[Value] = []
        if self.site.trip is not None:
            given = [self.copies.get(value, value) for value in self.site.trip.arguments]
            count = made.add("call", "i32", *given, Constant("i1", 0), callee=f"gl_trip_{self.site.number}")
            words.append(count)
        for value in self.site.values:
            words += self._words(value)
        for item in self.site.streams:
            wanted = (0, 1) if fixed_stride(self.plan, item) is None else (0,)
            words += [self._evaluated(item.operands[-1], iteration) for iteration in wanted]
        if any(item.opcode == "load" for item in made.block.instructions):
            # What an earlier launch left may be what is loaded here.
            sync = make("", made.block.name, "call", "void", callee="gl_sync")
            made.block.instructions.insert(phis, sync)
        return made.add("call", "i32", *words, callee=f"gl_loop_{self.site.number}")

    def _words(self, value: Value) -> list[Value]:
        """A value as words of the array."""
        found, kind = self._evaluated(value, 0), value.type
        if kind in ("ptr", "i32"):
            return [found]
        if kind == "i64":
            high = self.pre.add("lshr", "i64", found, Constant("i64", 32))
            return [self.pre.add("trunc", "i32", part) for part in (found, high)]
        if not 0 < bits_of(kind) < 32:
            raise SourceError(f"a live-in is of type {kind}")
        unsigned = kind == "i1" or (isinstance(value, IrParameter) and value.unsigned)
        return [self.pre.add("zext" if unsigned else "sext", "i32", found)]

    def _out(self, made: Builder, number: int) -> Instruction:
        """A word that the launch left."""
        place = made.add("getelementptr", "ptr", _OUT, _word(number), source_type="i32")
        return made.add("load", "i32", place)

    def _left(self, made: Builder, i: int, item: Instruction) -> Value:
        """What the launch left of one value, in its type."""
        low = self._out(made, 2 * i)
        if item.type == "i32":
            return low
        if item.type == "i64":
            words = [made.add("zext", "i64", word) for word in (low, self._out(made, 2 * i + 1))]
            return made.add("or", "i64", words[0], made.add("shl", "i64", words[1], Constant("i64", 32)))
        if item.type == "ptr":
            pieces = self.plan.pieces
            assert pieces is not None
            record = pieces.left[i]
            assert record.root is not None
            offset = made.add("mul", "i32", low, _word(record.unit))
            return made.add("getelementptr", "ptr", self._evaluated(record.root, 0), offset, source_type="i8")
        if not bits_of(item.type):
            raise SourceError(f"a live-out is of type {item.type}")
        return made.add("trunc", item.type, low)

    def _way(self, name: str, source: str, target: str) -> None:
        """The block behind a launch that left by one way, and what it brings to the phis of its target."""
        made = Builder(self.function, name, f"{name}.v")
        left = {self.copies[item]: i for i, item in enumerate(self.plan.left)}
        for phi in phis_of(self.function.blocks[target]):
            value = way_from(phi, source)
            if value in left:
                value = made.add("load", phi.type, _slot(self.site, left[value]))
            elif isinstance(value, Instruction) and value.block in self.inside:
                raise _lost(value)
            add_way(phi, value, name)
        made.go(target)


def _lost(value: Instruction) -> SourceError:
    return SourceError(f"value {value.name!r} of the loop is read behind it, and the array does not give it")


def _demote(function: Function, site: LaunchSite, copies: Mapping[Value, Value]) -> None:
    """Keep what a loop leaves in slots of memory, for all who read it outside of the loop."""
    left = {copies[item]: i for i, item in enumerate(site.plan.left)}
    readers = readers_behind(function, set(site.plan.loop.blocks))
    lost = [value for _, _, value in readers if value not in left]
    if lost:
        raise _lost(min(lost, key=lambda value: value.name))
    for number, (reader, k, value) in enumerate(readers):
        at_edge = reader.opcode == "phi"
        row = function.blocks[reader.incoming[k] if at_edge else reader.block].instructions
        load = make(f"gl.use.{site.number}.{number}", reader.block, "load", value.type, _slot(site, left[value]))
        row.insert(len(row) - 1 if at_edge else row.index(reader), load)
        reader.operands[k] = load
    entry = function.blocks[function.entry].instructions
    for item, i in left.items():
        assert isinstance(item, Instruction)
        row = function.blocks[item.block].instructions
        place = row.index(item) + 1 if item.opcode != "phi" else len(phis_of(function.blocks[item.block]))
        row.insert(place, make("", item.block, "store", "void", item, _slot(site, i)))
        entry.insert(0, replace(_slot(site, i), source_type=item.type))
