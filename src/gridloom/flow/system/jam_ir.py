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
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gridloom.errors import GridloomError, SourceError
from gridloom.flow.system.ir_text import BlockText, IrFunctionText, parse
from gridloom.flow.system.jam_order import refuse_crossings
from gridloom.frontend.c.llvm.driver import optimise_ir
from gridloom.frontend.c.llvm.ir import Constant, Instruction, IrModule, IrParameter
from gridloom.frontend.c.llvm.reader import read_module
from gridloom.frontend.c.loops import NaturalLoop, find_loops
from gridloom.frontend.c.region import Trip, single, trip_parts

_PAIR: Final = re.compile(r"\[ ([^\],]+), %([-\w.$]+) \]")
_TOKEN: Final = re.compile(r"%[-\w.$]+")
_DEFINED: Final = re.compile(r"^\s+%([-\w.$]+) = ")
_BRANCH: Final = re.compile(r"^\s+br i1 (\S+), label %([-\w.$]+), label %([-\w.$]+)(.*)$")
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
    text = parse(ir, keep=True)
    left: list[str] = []
    turns: dict[str, int] = {}
    for loop in find_loops(module, module.functions[function]):
        if len(loop.children) == 1 and not loop.children[0].children:
            try:
                nest = _Jam(module, text.functions[function], loop, factor, len(left))
                nest.insert()
            except GridloomError:
                continue
            left.append(loop.children[0].header)
            turns[nest.names["fore"]] = nest.turns
    return Jammed(optimise_ir(text.text(), path), frozenset(left), turns) if left else None


@dataclass
class _Shape:
    """A nest as straight lines: instructions before the inner loop, of it, and behind it."""

    fore: list[str] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    aft: list[str] = field(default_factory=list)
    #: Phi of a join -> the value that comes from the one way that is taken.
    joins: dict[str, str] = field(default_factory=dict)
    #: Conditions from outside that have to hold (or not) for the inner loop to be entered.
    guards: list[tuple[str, bool]] = field(default_factory=list)
    #: The block that leads into the inner loop.
    entrance: str = ""


class _Jam:
    """Jams one nest; nothing is changed where it cannot be."""

    def __init__(self, module: IrModule, text: IrFunctionText, loop: NaturalLoop, factor: int, number: int) -> None:
        self.module, self.text, self.loop, self.factor = module, text, loop, factor
        self.child = loop.children[0]
        self.names = {part: f"gl.jam.{part}.{number}" for part in ("pre", "fore", "inner", "aft", "rest")}
        self.header, self.latch = loop.header, loop.latches[0]
        self.inside = set(loop.blocks)
        self.records = {item.name: item for item in loop.instructions if item.name}
        if any(name not in text.blocks for name in loop.blocks) or self.child.blocks != [self.child.header]:
            raise SourceError("the inner loop has more than one block")
        exits = loop.exits
        if len(exits) != 1 or exits[0][0] != self.latch:
            raise SourceError("the outer loop has more than one way out")
        self.target = exits[0][1]
        self.shape = _Shape()
        #: How often the inner loop runs at least, and what has to be asked for that: the lines, and their number.
        self.turns, self.length = 1, list[str]()
        self.phis: dict[str, tuple[str, str]] = {}
        self.counter, self.bound = self._counted()

    def _counted(self) -> tuple[str, str]:
        """The outer loop's counter and the bound that it stops at."""
        for line in self._lines(self.header):
            if " = phi " in line:
                pairs = [(v, s) for v, s in _PAIR.findall(line) if s == self.latch]
                if len(pairs) != 1:
                    raise SourceError("a value has several ways to the next iteration")
                self.phis[_name(line)] = (line.split(" = phi ")[1].split(" [")[0], pairs[0][0])
        found = _BRANCH.match(self.text.blocks[self.latch].lines[-1])
        if found is None or found[2] != self.target or found[3] != self.header:
            raise SourceError("the outer loop does not end at a bound")
        test = next((line for line in self._lines(self.latch) if _name(line) == found[1][1:]), "")
        match = re.match(r"^\s+%\S+ = icmp eq i32 (%[-\w.$]+), (\S+?)(?:, !.*)?$", test)
        step = next((phi for phi, (_, following) in self.phis.items() if match and following == match[1]), "")
        record = self.records.get(match[1][1:]) if match else None
        if not match or not step or record is None or not _adds_one(record, step) or self._is_inside(match[2]):
            raise SourceError("the outer loop does not count by ones to a bound")
        return step, match[2]

    def _lines(self, block: str) -> list[str]:
        return self.text.blocks[block].lines

    def _is_inside(self, value: str) -> bool:
        return value[:1] == "%" and value[1:] in self.records

    # -- the shape of the nest ----------------------------------------------------------------------------------------

    def insert(self) -> None:
        """Put the jammed nest before the old one. SourceError where it cannot be."""
        self._walk()
        self._hoist()
        parts = tuple(
            [self._record(line) for line in lines] for lines in (self.shape.fore, self._body(), self.shape.aft)
        )
        trip = trip_parts(single(self.child, ""))
        if trip is None or any(self.loop.contains(value) for value in (trip.start, trip.bound)):
            raise SourceError("the inner loop does not run equally often each time")
        if self.factor > 1:
            refuse_crossings(self.module, self.loop, (parts[0], parts[1], parts[2]))
            self._check_values()
        else:
            self.turns, self.length = _turns(trip)
        self._build()

    def _record(self, line: str) -> Instruction:
        """The front end's record of a line."""
        name = _name(line)
        if name:
            return self.records[name]
        for item in self.loop.instructions:
            if item.opcode == "store" and item.text.strip() == line.split(", !")[0].strip():
                return item
        raise SourceError("an instruction is not known")

    def _body(self) -> list[str]:
        return [line for line in self.shape.inner[:-1] if " = phi " not in line]

    def _walk(self) -> None:
        """Follow the one way through an outer iteration that enters the inner loop."""
        shape, at, came, part = self.shape, self.header, "", self.shape.fore
        for _ in range(len(self.inside) + 1):
            if at == self.child.header:
                shape.entrance, shape.inner = came, self._lines(at)
                leaves = [t for t in self.text.blocks[at].successors() if t != at]
                at, came, part = leaves[0], at, shape.aft
                continue
            for line in self._lines(at)[:-1]:
                if " = phi " not in line:
                    part.append(line)
                elif at != self.header:
                    shape.joins[_name(line)] = next(v for v, s in _PAIR.findall(line) if s == came)
            if at == self.latch:
                if not shape.inner:
                    raise SourceError("the inner loop is not on the way")
                return
            at, came = self._following(at, bool(shape.inner)), at
        raise SourceError("the way through the nest is not known")

    def _following(self, at: str, behind: bool) -> str:
        """Where control goes on; a branch on a value from outside is a guard of the inner loop."""
        successors = self.text.blocks[at].successors()
        if len(successors) == 1:
            return successors[0]
        found = _BRANCH.match(self._lines(at)[-1])
        if found is None or self._is_inside(found[1]) or behind:
            raise SourceError("what stands around the inner loop has branches")
        first = self._reaches(found[2])
        if first == self._reaches(found[3]):
            raise SourceError("a branch before the inner loop does not guard it")
        self.shape.guards.append((found[1], first))
        return found[2] if first else found[3]

    def _reaches(self, name: str) -> bool:
        """Whether a block leads to the inner loop within the iteration."""
        seen, work = set(), [name]
        while work:
            at = work.pop()
            if at == self.child.header:
                return True
            if at in seen or at not in self.inside or at == self.header:
                continue
            seen.add(at)
            work += self.text.blocks[at].successors()
        return False

    def _hoist(self) -> None:
        """Move to the front what stands behind the inner loop and depends on neither of memory and of it."""
        shape = self.shape
        early = {_name(line) for line in shape.fore} | set(self.phis)
        late: list[str] = []
        for line in shape.aft:
            rest = line.split(" = ", 1)[-1]
            known = all(v[1:] in early or not self._is_inside(v) for v in map(self._joined, _TOKEN.findall(rest)))
            if " = " in line and rest.split(" ", 1)[0] in _EARLY and known:
                shape.fore.append(line)
                early.add(_name(line))
            else:
                late.append(line)
        shape.aft = late

    def _joined(self, value: str) -> str:
        """A value, through joins."""
        while value[:1] == "%" and value[1:] in self.shape.joins:
            value = self.shape.joins[value[1:]]
        return value

    def _check_values(self) -> None:
        """SourceError where a copy needs what the copy before computes too late."""
        early = {_name(line) for line in self.shape.fore}
        late = {phi for phi, (_, following) in self.phis.items()
                if self._is_inside(v := self._joined(following)) and v[1:] not in early}  # fmt: skip
        lines = [*self.shape.fore, *self.shape.inner]
        if any(self._joined(v)[1:] in late for line in lines for v in _TOKEN.findall(line.split(" = ", 1)[-1])):
            raise SourceError("an outer iteration needs what the one before leaves")

    # -- the new blocks -----------------------------------------------------------------------------------------------

    def _copy(self, value: str, copy: int) -> str:
        """The name of a value in a copy."""
        value = self._joined(value)
        if not self._is_inside(value):
            return value
        if value[1:] in self.phis:
            return f"%gl.p.{value[1:]}" if copy == 0 else self._copy(self.phis[value[1:]][1], copy - 1)
        return f"%gl.c{copy}.{value[1:]}"

    def _copied(self, lines: list[str], copy: int) -> list[str]:
        """Instructions with the names of a copy."""
        return [_TOKEN.sub(lambda m: self._copy(m[0], copy), line) for line in lines]

    def _build(self) -> None:
        """Add the blocks and lead control through them."""
        names, copies, blocks = self.names, range(self.factor), self.text.blocks
        last = {phi: self._copy(following, self.factor - 1) for phi, (_, following) in self.phis.items()}
        made = {
            "pre": self._pre(),
            "fore": [*(f"  %gl.p.{phi} = phi {kind} [ %gl.s.{phi}, %{names['pre']} ], [ {last[phi]}, %{names['aft']} ]"
                       for phi, (kind, _) in self.phis.items()),
                     *(line for k in copies for line in self._copied(self.shape.fore, k)),
                     f"  br label %{names['inner']}"],
            "inner": self._inner(),
            "aft": [*(line for k in copies for line in self._copied(self.shape.aft, k)),
                    f"  %gl.left.{self.header} = sub i32 {self.bound}, {last[self.counter]}",
                    f"  %gl.more.{self.header} = icmp uge i32 %gl.left.{self.header}, {self.factor}",
                    f"  br i1 %gl.more.{self.header}, label %{names['fore']}, label %{names['rest']}"],
            "rest": [f"  %gl.none.{self.header} = icmp eq i32 %gl.left.{self.header}, 0",
                     f"  br i1 %gl.none.{self.header}, label %{self.target}, label %{self.header}"],
        }  # fmt: skip
        self._leave()
        header = blocks[self.header]
        for k in range(header.phis):
            phi = _name(header.lines[k])
            pairs = [(v, s) for v, s in _PAIR.findall(header.lines[k]) if s in self.inside]
            pairs += [(f"%gl.s.{phi}", names["pre"]), (last[phi], names["rest"])]
            header.lines[k] = f"  %{phi} = phi {self.phis[phi][0]} " + ", ".join(f"[ {v}, %{s} ]" for v, s in pairs)
        for other in blocks.values():
            if other.name not in self.inside and self.header in other.successors():
                other.lines[-1] = _relabelled(other.lines[-1], self.header, names["pre"])
        for part, lines in made.items():
            blocks[names[part]] = BlockText(names[part], lines)

    def _pre(self) -> list[str]:
        """The block before both nests: phis of all ways in, and whether there are enough iterations."""
        at, lines = self.header, []
        for line in self._lines(self.header)[: self.text.blocks[self.header].phis]:
            outside = [(v, s) for v, s in _PAIR.findall(line) if s not in self.inside]
            kind = self.phis[_name(line)][0]
            lines.append(f"  %gl.s.{_name(line)} = phi {kind} " + ", ".join(f"[ {v}, %{s} ]" for v, s in outside))
        lines += [f"  %gl.total.{at} = sub i32 {self.bound}, %gl.s.{self.counter}",
                  f"  %gl.go.{at}.0 = icmp uge i32 %gl.total.{at}, {self.factor}"]  # fmt: skip
        for k, (condition, wanted) in enumerate(self.shape.guards):
            lines.append(f"  %gl.guard.{at}.{k} = xor i1 {condition}, {'false' if wanted else 'true'}")
            lines.append(f"  %gl.go.{at}.{k + 1} = and i1 %gl.go.{at}.{k}, %gl.guard.{at}.{k}")
        go = f"%gl.go.{at}.{len(self.shape.guards)}"
        if self.length:
            lines += [line.replace("#", at) for line in self.length]
            lines.append(f"  %gl.go.{at}.long = and i1 {go}, %gl.long.{at}")
            go = f"%gl.go.{at}.long"
        return [*lines, f"  br i1 {go}, label %{self.names['fore']}, label %{at}"]

    def _inner(self) -> list[str]:
        """The inner loop: phis of all copies, then their bodies; the first one's test ends it."""
        own, name = self.child.header, self.names["inner"]
        phis: list[str] = []
        bodies: list[str] = []
        for k in range(self.factor):
            for line in (line for line in self.shape.inner if " = phi " in line):
                kind = line.split(" = phi ")[1].split(" [")[0]
                pairs = [(self._copy(v, k), name if s == own else self.names["fore"]) for v, s in _PAIR.findall(line)]
                phis.append(f"  {self._copy('%' + _name(line), k)} = phi {kind} "
                            + ", ".join(f"[ {v}, %{s} ]" for v, s in pairs))  # fmt: skip
            bodies += self._copied(self._body(), k)
        found = _BRANCH.match(self.shape.inner[-1])
        assert found is not None
        again, leave = f"label %{name}", f"label %{self.names['aft']}"
        ways = (again, leave) if found[2] == own else (leave, again)
        return [*phis, *bodies, f"  br i1 {self._copy(found[1], 0)}, {ways[0]}, {ways[1]}{found[4]}"]

    def _leave(self) -> None:
        """What is read behind the nest comes from either of the two."""
        block, rest, last = self.text.blocks[self.target], self.names["rest"], self.factor - 1
        for k in range(block.phis):
            value = next(v for v, s in _PAIR.findall(block.lines[k]) if s == self.latch)
            head, tail = re.match(r"^(.*\])(.*)$", block.lines[k]).groups()  # type: ignore[union-attr]
            block.lines[k] = f"{head}, [ {self._copy(value, last)}, %{rest} ]{tail}"
        for name in sorted(self._read_behind()):
            made = f"%gl.b.{name}"
            for other in self.text.blocks.values():
                if other.name not in self.inside:
                    other.lines = [_replaced(line, name, made, self.inside) for line in other.lines]
            kind = self.records[name].type
            block.lines.insert(0, f"  {made} = phi {kind} [ %{name}, %{self.latch} ], "
                                  f"[ {self._copy('%' + name, last)}, %{rest} ]")  # fmt: skip

    def _read_behind(self) -> set[str]:
        """Values of the nest that are read behind it without a phi at its end."""
        found: set[str] = set()
        for other in self.text.blocks.values():
            if other.name in self.inside:
                continue
            for line in other.lines:
                values = [v for v, s in _PAIR.findall(line) if s not in self.inside] if " = phi " in line else (
                    _TOKEN.findall(line.split(" = ", 1)[-1]))  # fmt: skip
                found |= {v[1:] for v in values if self._is_inside(v) and f"label {v}" not in line}
        entered = [b.name for b in self.text.blocks.values() if self.target in b.successors()]
        if found and entered != [self.latch]:
            raise SourceError("values of the nest are read behind it")
        return found


def _name(line: str) -> str:
    """The value that a line defines; "" where it defines none."""
    found = _DEFINED.match(line)
    return found[1] if found else ""


def _turns(trip: Trip) -> tuple[int, list[str]]:
    """How often an inner loop runs at least, and the lines that ask for it in ``%gl.long.#``; none if that is known."""
    start, bound = trip.start, trip.bound
    if trip.constant is not None:
        return max(1, min(TURNS, trip.constant)), []
    if not trip.exact or abs(trip.step) != 1 or not trip.is_word:
        return 1, []
    ends = [
        f"%{v.name}" if isinstance(v, IrParameter | Instruction) else str(v.value) if isinstance(v, Constant) else ""
        for v in (start, bound)
    ]
    if "" in ends:
        return 1, []
    low, high = ends if trip.step > 0 else reversed(ends)
    return TURNS, [f"  %gl.way.# = sub i32 {high}, {low}", f"  %gl.turns.# = add i32 %gl.way.#, {trip.extra}",
                   f"  %gl.long.# = icmp sge i32 %gl.turns.#, {TURNS}"]  # fmt: skip


def _adds_one(record: Instruction, counter: str) -> bool:
    """True for counter + 1."""
    return bool(re.search(rf"= add (?:nuw )?(?:nsw )?i32 %{re.escape(counter)}, 1$", record.text.strip()))


def _relabelled(line: str, old: str, new: str) -> str:
    return re.sub(rf"label %{re.escape(old)}(?![-\w.$])", f"label %{new}", line)


def _replaced(line: str, name: str, made: str, inside: set[str]) -> str:
    """A line outside of the nest that reads another value; a phi keeps what comes from inside."""
    if " = phi " in line:
        for value, source in _PAIR.findall(line):
            if value == f"%{name}" and source not in inside:
                line = line.replace(f"[ {value}, %{source} ]", f"[ {made}, %{source} ]")
        return line
    head, between, rest = line.rpartition(" = ") if _DEFINED.match(line) else ("", "", line)
    return head + between + re.sub(rf"%{re.escape(name)}(?![-\w.$])", made, rest)
