"""Launches in the IR of a function: before a loop, a call that runs it on the array; the loop itself stays behind it.

Where control enters the loop, the live-ins and the pointers of the arrays go to ``gl_loop_K``. If that returns 0, the
core runs the loop as ever. Otherwise control goes on where the loop would have ended, with what the array left. Values
of the loop that are read afterwards live in memory, from which LLVM takes them back into registers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gridloom.errors import SourceError
from gridloom.flow.system.ir_text import BlockText, IrFunctionText, token
from gridloom.flow.system.streams import fixed_stride
from gridloom.flow.system.trip_counts import TripCount
from gridloom.frontend.c.function.program import LoopPlan
from gridloom.frontend.c.llvm.ir import Constant, Function, Global, GlobalAddress, Instruction, IrParameter, Value

_PAIR = re.compile(r"\[ ([^\],]+), %([-\w.$]+) \]")


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


def value_types(function: Function) -> dict[str, str]:
    """The types of a function's values by name."""
    types = {argument.name: argument.type for argument in function.arguments}
    for block in function.blocks.values():
        types |= {item.name: item.type for item in block.instructions if item.type != "void"}
    return types


def insert_launches(text: IrFunctionText, sites: Sequence[LaunchSite], types: dict[str, str]) -> None:
    """Put the launches of some loops into a function. SourceError for a loop whose control or values do not fit."""
    for site in sites:
        _Insertion(text, site).insert()
    for site in sites:
        _demote(text, site, types)
    for block in text.blocks.values():
        if block.lines[-1].lstrip().startswith("ret "):
            drops = [f"  call void @gl_drop(ptr {_name(root)})" for site in sites for root, _ in site.local]
            block.lines[-1:-1] = ["  call void @gl_end()", *dict.fromkeys(drops)]


def lead_through_end(text: IrFunctionText, plan: LoopPlan, number: int) -> None:
    """Let all that launches left be in memory, and nothing elsewhere, when control enters a loop of the core."""
    entry = _Insertion(text, LaunchSite(number, plan, None), f"gl.rest.{number}")
    lines = [*entry.entry(), "  call void @gl_end()", f"  br label %{entry.header}"]
    text.blocks[entry.pre] = BlockText(entry.pre, lines)


def _kinds(value: Value) -> list[str]:
    """The types of the words that a value becomes."""
    if value.type == "ptr":
        return ["ptr"]
    return ["i32", "i32"] if value.type == "i64" else ["i32"]


def _name(value: Value) -> str:
    """A value as IR names it."""
    if isinstance(value, IrParameter | Instruction):
        return f"%{value.name}"
    if isinstance(value, Global):
        return f"@{value.name}"
    if isinstance(value, GlobalAddress):
        return f"getelementptr (i8, ptr @{value.base.name}, i32 {value.offset})"
    if isinstance(value, Constant):
        return "null" if value.type == "ptr" else str(value.value)
    raise SourceError("a live-in is a constant that is not read here")


class _Insertion:
    """Puts one launch into the text."""

    def __init__(self, text: IrFunctionText, site: LaunchSite, name: str = "") -> None:
        self.text, self.site, self.plan = text, site, site.plan
        self.k = name or str(site.number)
        self.header = site.plan.loop.header
        self.inside = {name for name in site.plan.loop.blocks if name in text.blocks}
        self.pre = f"gl.pre.{self.k}"
        #: Header phi -> what it starts from, behind the new block; and what an iteration leaves in it.
        self.starts: dict[str, str] = {}
        self.following: dict[str, str] = {}
        #: Instructions of the loop, and copies of them that are computed before it.
        self.lines = {m[1]: line for name in self.inside for line in text.blocks[name].lines
                      if (m := re.match(r"^\s+%([-\w.$]+) = ", line))}  # fmt: skip
        self.copies: dict[tuple[str, int], str] = {}
        self.early: list[str] = []

    def insert(self) -> None:
        """The block before the loop, and the blocks behind a launch."""
        exits = [(a, b) for a, b in self.plan.loop.exits]
        if not exits or any(source not in self.text.blocks for source, _ in exits):
            raise SourceError("the loop leaves from a block that only the front end knows")
        before = BlockText(self.pre, self.entry())
        before.lines += self._call()
        done = f"gl.done.{self.k}"
        before.lines.append(f"  br i1 %gl.ok.{self.k}, label %{done}, label %{self.header}")
        self.text.blocks[before.name] = before
        self.text.blocks[done] = BlockText(done, self._results(exits))
        for way, (source, target) in enumerate(exits):
            self._way(way, source, target)

    def entry(self) -> list[str]:
        """Lead all ways into the loop through one block; returns the phis of that block."""
        lines = []
        block = self.text.blocks[self.header]
        for k in range(block.phis):
            line = block.lines[k]
            name = line.split(" = ")[0].strip()
            kind = line.split(" = phi ")[1].split(" [")[0]
            pairs = _PAIR.findall(line)
            outside = [(v, s) for v, s in pairs if s not in self.inside]
            kept = [(v, s) for v, s in pairs if s in self.inside]
            start = f"%gl.{name[1:]}.{self.k}"
            self.starts[name[1:]] = start
            self.following[name[1:]] = kept[0][0] if len(kept) == 1 else ""
            lines.append(f"  {start} = phi {kind} " + ", ".join(f"[ {v}, %{s} ]" for v, s in outside))
            kept.append((start, self.pre))
            block.lines[k] = f"  {name} = phi {kind} " + ", ".join(f"[ {v}, %{s} ]" for v, s in kept)
        for other in self.text.blocks.values():
            if other.name not in self.inside and self.header in other.successors():
                other.lines[-1] = re.sub(rf"label %{re.escape(self.header)}(?![-\w.$])", f"label %{self.pre}",
                                         other.lines[-1])  # fmt: skip
        return lines

    def _at_entry(self, value: Value) -> str:
        """A value when the loop begins."""
        if isinstance(value, Instruction) and value.block in self.inside:
            return self._evaluated(f"%{value.name}", 0)
        return _name(value)

    def _evaluated(self, value: str, iteration: int) -> str:
        """A value of the first or second iteration (0 or 1) before the loop: its instructions are copied.

        SourceError where it depends on what an iteration loads or on the way through the loop.
        """
        name = value[1:]
        if not value.startswith("%") or name not in self.lines:
            return value
        if (name, iteration) in self.copies:
            return self.copies[name, iteration]
        if name in self.starts:
            if iteration and not self.following[name]:
                raise SourceError(f"value {name!r} has several ways to the next iteration")
            return self._evaluated(self.following[name], 0) if iteration else self.starts[name]
        rest = self.lines[name].split(" = ", 1)[1]
        if rest.startswith("phi ") or "call " in rest or (iteration and rest.startswith("load ")):
            raise SourceError(f"value {name!r} is not known when the loop begins")
        rest = re.sub(r"%[-\w.$]+", lambda m: self._evaluated(m[0], iteration), rest)
        copy = f"%gl.e{len(self.copies)}.{self.k}"
        self.copies[name, iteration] = copy
        self.early.append(f"  {copy} = {rest}")
        return copy

    def _call(self) -> list[str]:
        """The iterations, the live-ins as words, the call."""
        k, lines, words = self.k, [], []
        for root, size in self.site.local:
            lines.append(f"  call void @gl_buffer(ptr {_name(root)}, i32 {size})")
        if self.site.trip is not None:
            known = {value.name: value.type for value in self.plan.loop.function.arguments}
            for block in self.plan.loop.function.blocks.values():
                known |= {item.name: item.type for item in block.instructions}
            given = [f"{known[name]} %{name}" for name in self.site.trip.arguments] + ["i1 false"]
            lines.append(f"  %gl.n.{k} = call i32 @gl_trip_{k}({', '.join(given)})")
            words.append(f"i32 %gl.n.{k}")
        for number, value in enumerate(self.site.values):
            word, more = self._words(number, value)
            lines += [*self.early, *more]
            self.early = []
            words += word
        for item in self.site.streams:
            pointer = item.operands[1 if item.opcode == "store" else 0]
            text = f"%{pointer.name}" if isinstance(pointer, Instruction) else _name(pointer)
            wanted = (0, 1) if fixed_stride(self.plan, item) is None else (0,)
            words += [f"ptr {self._evaluated(text, iteration)}" for iteration in wanted]
            lines += self.early
            self.early = []
        if any(" = load " in line for line in lines):
            # What an earlier launch left may be what is loaded here.
            lines.insert(0, "  call void @gl_sync()")
        lines += [f"  %gl.r.{k} = call i32 @gl_loop_{k}({', '.join(words)})",
                  f"  %gl.ok.{k} = icmp ne i32 %gl.r.{k}, 0"]  # fmt: skip
        return lines

    def _words(self, number: int, value: Value) -> tuple[list[str], list[str]]:
        """A value as words of the array, and the lines that make them."""
        text, kind, at = self._at_entry(value), value.type, f"%gl.w{number}.{self.k}"
        if kind == "ptr":
            return [f"ptr {text}"], []
        if kind == "i32":
            return [f"i32 {text}"], []
        if kind == "i64":
            lines = [f"  {at} = trunc i64 {text} to i32", f"  {at}.s = lshr i64 {text}, 32",
                     f"  {at}.h = trunc i64 {at}.s to i32"]  # fmt: skip
            return [f"i32 {at}", f"i32 {at}.h"], lines
        if not re.fullmatch(r"i\d+", kind) or int(kind[1:]) > 32:
            raise SourceError(f"a live-in is of type {kind}")
        unsigned = kind == "i1" or (isinstance(value, IrParameter) and value.unsigned)
        return [f"i32 {at}"], [f"  {at} = {'zext' if unsigned else 'sext'} {kind} {text} to i32"]

    def _results(self, exits: list[tuple[str, str]]) -> list[str]:
        """Put what the array left into the slots of the loop's values, and go on by the way that it took."""
        lines: list[str] = []
        left = self.plan.left
        for i, item in enumerate(left):
            lines += self._left(i, item)
        if len(exits) == 1:
            return [*lines, f"  br label %gl.way.{self.k}.0"]
        lines.append(f"  %gl.way.{self.k} = load i32, ptr getelementptr (i32, ptr @gl_out, i32 {2 * len(left)})")
        cases = " ".join(f"i32 {w}, label %gl.way.{self.k}.{w}" for w in range(1, len(exits)))
        return [*lines, f"  switch i32 %gl.way.{self.k}, label %gl.way.{self.k}.0 [ {cases} ]"]

    def _left(self, i: int, item: Instruction) -> list[str]:
        """The lines that put one value into its slot."""
        at, slot = f"%gl.l{i}.{self.k}", f"%gl.slot.{self.k}.{i}"
        lines = [f"  {at} = load i32, ptr getelementptr (i32, ptr @gl_out, i32 {2 * i})"]
        if item.type == "i32":
            return [*lines, f"  store i32 {at}, ptr {slot}"]
        if item.type == "i64":
            return [*lines, f"  {at}.h = load i32, ptr getelementptr (i32, ptr @gl_out, i32 {2 * i + 1})",
                    f"  {at}.a = zext i32 {at} to i64", f"  {at}.b = zext i32 {at}.h to i64",
                    f"  {at}.c = shl i64 {at}.b, 32", f"  {at}.d = or i64 {at}.a, {at}.c",
                    f"  store i64 {at}.d, ptr {slot}"]  # fmt: skip
        if item.type == "ptr":
            pieces = self.plan.pieces
            assert pieces is not None
            record = pieces.left[i]
            assert record.root is not None
            return [*lines, f"  {at}.b = mul i32 {at}, {record.unit}",
                    f"  {at}.p = getelementptr i8, ptr {self._at_entry(record.root)}, i32 {at}.b",
                    f"  store ptr {at}.p, ptr {slot}"]  # fmt: skip
        if not re.fullmatch(r"i\d+", item.type):
            raise SourceError(f"a live-out is of type {item.type}")
        return [*lines, f"  {at}.t = trunc i32 {at} to {item.type}", f"  store {item.type} {at}.t, ptr {slot}"]

    def _way(self, way: int, source: str, target: str) -> None:
        """The block behind a launch that left by one way, and what it brings to the phis of its target."""
        name = f"gl.way.{self.k}.{way}"
        lines: list[str] = []
        left = {item.name: i for i, item in enumerate(self.plan.left)}
        block = self.text.blocks[target]
        for p in range(block.phis):
            line = block.lines[p]
            pairs = {s: v for v, s in _PAIR.findall(line)}
            value = pairs[source]
            if value.startswith("%") and value[1:] in left:
                kind = line.split(" = phi ")[1].split(" [")[0]
                lines.append(f"  %gl.v{p}.{self.k}.{way} = load {kind}, ptr %gl.slot.{self.k}.{left[value[1:]]}")
                value = f"%gl.v{p}.{self.k}.{way}"
            elif value.startswith("%") and self.text.definitions().get(value[1:]) in self.inside:
                raise SourceError(f"value {value[1:]!r} of the loop is read behind it, and the array does not give it")
            block.lines[p] = f"{line}, [ {value}, %{name} ]"
        self.text.blocks[name] = BlockText(name, [*lines, f"  br label %{target}"])


def _demote(text: IrFunctionText, site: LaunchSite, types: dict[str, str]) -> None:
    """Keep what a loop leaves in slots of memory, for all who read it outside of the loop."""
    inside = {name for name in site.plan.loop.blocks if name in text.blocks}
    used = _used_outside(text, inside)
    left = {item.name: i for i, item in enumerate(site.plan.left)}
    if lost := used - left.keys():
        raise SourceError(f"value {min(lost)!r} of the loop is read behind it, and the array does not give it")
    entry = next(iter(text.blocks.values()))
    for name, i in left.items():
        slot, kind = f"%gl.slot.{site.number}.{i}", types[name]
        entry.lines.insert(0, f"  {slot} = alloca {kind}")
        _store_behind(text, name, slot, kind)
        _load_before(text, name, slot, kind, inside, f"gl.use.{site.number}.{i}")


def _used_outside(text: IrFunctionText, inside: set[str]) -> set[str]:
    """Values of a loop that blocks outside of it read, but for what a phi takes from inside."""
    defined = {name for name, block in text.definitions().items() if block in inside}
    found: set[str] = set()
    for block in text.blocks.values():
        if block.name in inside:
            continue
        for line in block.lines:
            if " = phi " in line:
                values = [v for v, s in _PAIR.findall(line) if s not in inside]
            else:
                values = re.findall(r"%[-\w.$]+", line.split(" = ", 1)[-1])
            found |= {v[1:] for v in values if v[0] == "%" and v[1:] in defined and f"label {v}" not in line}
    return found


def _store_behind(text: IrFunctionText, name: str, slot: str, kind: str) -> None:
    """Store a value where it is defined; behind all phis where it is one."""
    block = text.blocks[text.definitions()[name]]
    at = next(k for k, line in enumerate(block.lines) if re.match(rf"^\s+%{re.escape(name)} = ", line))
    place = max(at + 1, block.phis) if " = phi " in block.lines[at] else at + 1
    block.lines.insert(place, f"  store {kind} %{name}, ptr {slot}")


def _load_before(text: IrFunctionText, name: str, slot: str, kind: str, inside: set[str], prefix: str) -> None:
    """Load a value from its slot wherever a block outside of the loop reads it."""
    find, count = token(name), 0
    for block in text.blocks.values():
        if block.name in inside:
            continue
        lines: list[str] = []
        for line in block.lines:
            if " = phi " in line:
                line, count = _phi_loads(text, line, name, slot, kind, inside, prefix, count)
            elif find.search(line.split(" = ", 1)[-1]):
                count += 1
                lines.append(f"  %{prefix}.{count} = load {kind}, ptr {slot}")
                line = find.sub(f"%{prefix}.{count}", line)
            lines.append(line)
        block.lines = lines


def _phi_loads(
    text: IrFunctionText, line: str, name: str, slot: str, kind: str, inside: set[str], prefix: str, count: int
) -> tuple[str, int]:
    """A phi with loads at the end of those sources outside of the loop that bring the value."""
    for value, source in _PAIR.findall(line):
        if value == f"%{name}" and source not in inside:
            count += 1
            text.blocks[source].lines.insert(-1, f"  %{prefix}.{count} = load {kind}, ptr {slot}")
            line = line.replace(f"[ {value}, %{source} ]", f"[ %{prefix}.{count}, %{source} ]")
    return line, count
