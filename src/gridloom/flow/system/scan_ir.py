"""Search loops in the IR of a function: how far one may run before its data end it is found by counted loops.

A loop that ends early where the data say (``if (x[i] > t) return i;``) is not counted, so that an array with streams
cannot have it. But a loop that stores nothing may be looked ahead of, up to its bound: the first iteration that would
leave is the least number of those whose test says so, which a counted loop finds. The old loop then goes on there, for
one iteration.

    gl.scan.pre     long enough?  no: the old loop
    gl.scan.try     the first iterations on the core, since most searches end soon; gl.scan.more is its latch
    gl.scan.chunk   the next iterations, some times as many as before
    gl.scan.inner   the counted loop over them
    gl.scan.next    found, or none left?  no: the next chunk
    gl.scan.out     the old loop, from the iteration that was found

It is done for loops of two blocks, whose values are all counters and which call nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gridloom.errors import GridloomError, SourceError
from gridloom.flow.system.ir_text import BlockText, IrFunctionText, parse
from gridloom.frontend.c.llvm.driver import optimise_ir
from gridloom.frontend.c.llvm.ir import Instruction
from gridloom.frontend.c.llvm.reader import read_module
from gridloom.frontend.c.loops import NaturalLoop, find_loops, next_value
from gridloom.frontend.c.nest.values import constant_addition

#: How the blocks begin that are counted loops of a search, and those that the core runs.
SCAN: Final = "gl.scan.inner."
TRY: Final = "gl.scan.try."
#: Iterations that the core tries first, and the least number that is looked through at all. A chunk has eight times as
#: many as went before: what is looked through in vain stays in proportion, and long searches take few launches.
TRIED: Final = 64
LEAST: Final = 256
_GROWTH: Final = 8

_PAIR: Final = re.compile(r"\[ ([^\],]+), %([-\w.$]+) \]")
_TOKEN: Final = re.compile(r"%[-\w.$]+")
_BRANCH: Final = re.compile(r"^\s+br i1 (\S+), label %([-\w.$]+), label %([-\w.$]+)(.*)$")
_UMIN: Final = "declare i32 @llvm.umin.i32(i32, i32)"


@dataclass(frozen=True)
class Scanned:
    """A module with searches, and the headers of the old loops."""

    ir: str
    old: frozenset[str]


def insert_scans(ir: str, path: Path, function: str) -> Scanned | None:
    """The module with every search loop of a function looked ahead of; None where there is none.

    ``path`` is the file that messages name. Costs an optimisation by clang, 0.1 to 0.3 s.
    """
    module = read_module(ir, str(path))
    text = parse(ir, keep=True)
    old: list[str] = []
    for loop in find_loops(module, module.functions[function]):
        try:
            _Scan(text.functions[function], loop, len(old)).insert()
        except GridloomError:
            continue
        old.append(loop.header)
    if not old:
        return None
    if not any("@llvm.umin.i32(" in line for line in text.before):
        text.before.append(_UMIN)
    return Scanned(optimise_ir(text.text(), path), frozenset(old))


class _Scan:
    """Puts a search before one loop; nothing is changed where it cannot be."""

    def __init__(self, text: IrFunctionText, loop: NaturalLoop, number: int) -> None:
        self.text, self.loop, self.header, self.latch = text, loop, loop.header, loop.latches[0]
        if loop.children or sorted(loop.blocks) != sorted({self.header, self.latch}) or self.header == self.latch:
            raise SourceError("the loop has not two blocks")
        if any(name not in text.blocks for name in loop.blocks):
            raise SourceError("the loop has a block that only the front end knows")
        parts = ("pre", "try", "more", "chunk", "inner", "next", "out")
        self.names = {part: f"gl.scan.{part}.{number}" for part in parts}
        self.number = number
        self.records = {item.name: item for item in loop.instructions if item.name}
        self.body = [line for line in text.blocks[self.header].lines[:-1] if " = phi " not in line]
        self.exit, self.exits_if = self._data_exit()
        self.steps = self._counters()
        self.counter, self.bound = self._bound()

    def _data_exit(self) -> tuple[str, bool]:
        """Where the data end the loop, and the value of the test that does."""
        found = _BRANCH.match(self.text.blocks[self.header].lines[-1])
        if found is None or self.latch not in found.groups()[1:3]:
            raise SourceError("the loop does not end at a test")
        target = found[3] if found[2] == self.latch else found[2]
        if target in self.loop.blocks:
            raise SourceError("the loop does not end where the data say")
        self.test = found[1]
        return target, found[2] == target

    def _counters(self) -> dict[str, int]:
        """The phis, each with what an iteration adds to it."""
        for item in self.loop.instructions:
            if item.opcode == "store" or (item.opcode == "call" and not item.callee.startswith(("llvm.s", "llvm.u"))):
                raise SourceError("the loop does more than look")
        steps = {}
        for phi in self.loop.phis:
            following = next_value(self.loop, phi)
            step = constant_addition(following, phi) if phi.type == "i32" else None
            if step is None:
                raise SourceError("the loop carries more than counters")
            steps[phi.name] = step
        return steps

    def _bound(self) -> tuple[str, str]:
        """The counter that reaches a bound, and the bound."""
        block = self.text.blocks[self.latch]
        found = _BRANCH.match(block.lines[-1])
        if found is None or found[3] != self.header:
            raise SourceError("the loop has no bound")
        test = next((line for line in block.lines if line.lstrip().startswith(f"{found[1]} = ")), "")
        match = re.match(r"^\s+%\S+ = icmp eq i32 (%[-\w.$]+), (\S+?)(?:, !.*)?$", test)
        if not match or match[2][1:] in self.records:
            raise SourceError("the loop has no bound")
        for phi in self.loop.phis:
            following = next_value(self.loop, phi)
            if isinstance(following, Instruction) and f"%{following.name}" == match[1] and self.steps[phi.name] == 1:
                return phi.name, match[2]
        raise SourceError("the loop does not count by ones")

    # -- the new blocks -----------------------------------------------------------------------------------------------

    def insert(self) -> None:
        """Put the search before the loop. SourceError where values of the loop are read in other ways than by phis."""
        self._refuse_uses()
        names, blocks, n = self.names, self.text.blocks, self.number
        pre = self._pre()
        made = {
            "pre": pre, "try": self._try(), "more": self._more(), "chunk": self._chunk(), "inner": self._inner(),
            "next": [f"  %gl.n.step.{n} = call i32 @llvm.umin.i32(i32 %gl.i.first1.{n}, i32 %gl.k.size.{n})",
                     f"  %gl.n.done.{n} = add i32 %gl.k.done.{n}, %gl.n.step.{n}",
                     f"  %gl.n.found.{n} = icmp ne i32 %gl.i.first1.{n}, -1",
                     f"  %gl.n.all.{n} = icmp eq i32 %gl.n.done.{n}, %gl.total.{n}",
                     f"  %gl.n.stop.{n} = or i1 %gl.n.found.{n}, %gl.n.all.{n}",
                     f"  br i1 %gl.n.stop.{n}, label %{names['out']}, label %{names['chunk']}"],
            "out": [f"  %gl.o.last.{n} = add i32 %gl.total.{n}, -1",
                    f"  %gl.o.skip.{n} = call i32 @llvm.umin.i32(i32 %gl.n.done.{n}, i32 %gl.o.last.{n})",
                    *self._moved("o", f"%gl.o.skip.{n}"), f"  br label %{self.header}"],
        }  # fmt: skip
        header = blocks[self.header]
        for k in range(header.phis):
            phi = _name(header.lines[k])
            pairs = [(v, s) for v, s in _PAIR.findall(header.lines[k]) if s in self.loop.blocks]
            pairs += [(f"%gl.s.{phi}.{n}", names["pre"]), (f"%gl.o.{phi}.{n}", names["out"])]
            header.lines[k] = f"  %{phi} = phi i32 " + ", ".join(f"[ {v}, %{s} ]" for v, s in pairs)
        target = blocks[self.exit]
        for k in range(target.phis):
            value = next(v for v, s in _PAIR.findall(target.lines[k]) if s == self.header)
            head, tail = re.match(r"^(.*\])(.*)$", target.lines[k]).groups()  # type: ignore[union-attr]
            target.lines[k] = f"{head}, [ {self._copy(value, 't')}, %{names['try']} ]{tail}"
        for other in blocks.values():
            if other.name not in self.loop.blocks and self.header in other.successors():
                other.lines[-1] = re.sub(rf"label %{re.escape(self.header)}(?![-\w.$])", f"label %{names['pre']}",
                                         other.lines[-1])  # fmt: skip
        for part, lines in made.items():
            blocks[names[part]] = BlockText(names[part], lines)

    def _refuse_uses(self) -> None:
        for block in self.text.blocks.values():
            if block.name in self.loop.blocks:
                continue
            for line in block.lines:
                values = [v for v, s in _PAIR.findall(line) if s not in self.loop.blocks] if " = phi " in line else (
                    _TOKEN.findall(line.split(" = ", 1)[-1]))  # fmt: skip
                if any(v[1:] in self.records and f"label {v}" not in line for v in values):
                    raise SourceError("values of the loop are read behind it")

    def _copy(self, value: str, part: str) -> str:
        """The name of a value of the loop in a copy of it."""
        known = value[:1] == "%" and value[1:] in self.records
        return f"%gl.{part}.{value[1:]}.{self.number}" if known else value

    def _copied(self, part: str) -> list[str]:
        return [_TOKEN.sub(lambda m: self._copy(m[0], part), line) for line in self.body]

    def _moved(self, part: str, skipped: str) -> list[str]:
        """The counters after some iterations."""
        n, lines = self.number, []
        for phi, step in self.steps.items():
            lines.append(f"  %gl.{part}.by.{phi}.{n} = mul i32 {skipped}, {step}")
            lines.append(f"  %gl.{part}.{phi}.{n} = add i32 %gl.s.{phi}.{n}, %gl.{part}.by.{phi}.{n}")
        return lines

    def _pre(self) -> list[str]:
        n, lines = self.number, []
        for line in self.text.blocks[self.header].lines[: self.text.blocks[self.header].phis]:
            outside = [(v, s) for v, s in _PAIR.findall(line) if s not in self.loop.blocks]
            lines.append(f"  %gl.s.{_name(line)}.{n} = phi i32 " + ", ".join(f"[ {v}, %{s} ]" for v, s in outside))
        return [*lines, f"  %gl.total.{n} = sub i32 {self.bound}, %gl.s.{self.counter}.{n}",
                f"  %gl.long.{n} = icmp uge i32 %gl.total.{n}, {LEAST}",
                f"  br i1 %gl.long.{n}, label %{self.names['try']}, label %{self.header}"]  # fmt: skip

    def _try(self) -> list[str]:
        n, names = self.number, self.names
        ways = f"%{names['pre']} ], [ {{}}, %{names['more']} ]"
        phis = [f"  %gl.t.{phi}.{n} = phi i32 [ %gl.s.{phi}.{n}, " + ways.format(f"%gl.u.{phi}.{n}")
                for phi in self.steps]  # fmt: skip
        count = f"  %gl.t.count.{n} = phi i32 [ 0, " + ways.format(f"%gl.u.count.{n}")
        first, second = (self.exit, names["more"]) if self.exits_if else (names["more"], self.exit)
        return [*phis, count, *self._copied("t"),
                f"  br i1 {self._copy(self.test, 't')}, label %{first}, label %{second}"]  # fmt: skip

    def _more(self) -> list[str]:
        n = self.number
        steps = [f"  %gl.u.{phi}.{n} = add i32 %gl.t.{phi}.{n}, {step}" for phi, step in self.steps.items()]
        return [*steps, f"  %gl.u.count.{n} = add i32 %gl.t.count.{n}, 1",
                f"  %gl.u.enough.{n} = icmp eq i32 %gl.u.count.{n}, {TRIED}",
                f"  br i1 %gl.u.enough.{n}, label %{self.names['chunk']}, label %{self.names['try']}"]  # fmt: skip

    def _chunk(self) -> list[str]:
        n, names = self.number, self.names
        return [f"  %gl.k.done.{n} = phi i32 [ {TRIED}, %{names['more']} ], [ %gl.n.done.{n}, %{names['next']} ]",
                f"  %gl.k.left.{n} = sub i32 %gl.total.{n}, %gl.k.done.{n}",
                f"  %gl.k.next.{n} = mul i32 %gl.k.done.{n}, {_GROWTH}",
                f"  %gl.k.size.{n} = call i32 @llvm.umin.i32(i32 %gl.k.left.{n}, i32 %gl.k.next.{n})",
                *self._moved("k", f"%gl.k.done.{n}"), f"  br label %{names['inner']}"]  # fmt: skip

    def _inner(self) -> list[str]:
        """The counted loop: the least number of an iteration that would leave."""
        n, names = self.number, self.names
        ways = f"%{names['chunk']} ], [ {{}}, %{names['inner']} ]"
        phis = [f"  %gl.i.{phi}.{n} = phi i32 [ %gl.k.{phi}.{n}, " + ways.format(f"%gl.j.{phi}.{n}")
                for phi in self.steps]  # fmt: skip
        found = ("{0}, i32 -1" if self.exits_if else "-1, i32 {0}").format(f"%gl.i.at.{n}")
        return [*phis, f"  %gl.i.at.{n} = phi i32 [ 0, " + ways.format(f"%gl.i.at1.{n}"),
                f"  %gl.i.first.{n} = phi i32 [ -1, " + ways.format(f"%gl.i.first1.{n}"), *self._copied("i"),
                *(f"  %gl.j.{phi}.{n} = add i32 %gl.i.{phi}.{n}, {step}" for phi, step in self.steps.items()),
                f"  %gl.i.here.{n} = select i1 {self._copy(self.test, 'i')}, i32 {found}",
                f"  %gl.i.first1.{n} = call i32 @llvm.umin.i32(i32 %gl.i.first.{n}, i32 %gl.i.here.{n})",
                f"  %gl.i.at1.{n} = add nuw nsw i32 %gl.i.at.{n}, 1",
                f"  %gl.i.end.{n} = icmp eq i32 %gl.i.at1.{n}, %gl.k.size.{n}",
                f"  br i1 %gl.i.end.{n}, label %{names['next']}, label %{names['inner']}"]  # fmt: skip


def _name(line: str) -> str:
    """The value that a line defines."""
    return line.split(" = ", 1)[0].strip()[1:]
