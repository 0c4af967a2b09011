"""The C of each loop on the array: what ``gl_loop_K`` does with the calls of the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gridloom.compiler.c.arrays import CArray
from gridloom.compiler.c.c_loop import CLoop
from gridloom.compiler.c.function.program import LoopPlan
from gridloom.compiler.loops.operations import Const, LiveIn, LoopOperation
from gridloom.compiler.passes.scan import SCAN
from gridloom.errors import SourceError
from gridloom.flow.functions.launching.launches import FIRST_PIECE, LAST_PIECE
from gridloom.flow.system.host_access import HostAccess
from gridloom.flow.system.streams import fixed_stride
from gridloom.hardware.system.image import Image

#: Operations of a prologue as C on 32-bit words.
_EXPRESSIONS: Final = {
    "add": "(int32_t)((uint32_t){0} + (uint32_t){1})", "sub": "(int32_t)((uint32_t){0} - (uint32_t){1})",
    "mul": "(int32_t)((uint32_t){0} * (uint32_t){1})", "and": "{0} & {1}", "or": "{0} | {1}", "xor": "{0} ^ {1}",
    "div": "{1} ? {0} / {1} : 0", "rem": "{1} ? {0} % {1} : 0",
    "udiv": "{1} ? (int32_t)((uint32_t){0} / (uint32_t){1}) : 0",
    "urem": "{1} ? (int32_t)((uint32_t){0} % (uint32_t){1}) : 0",
    "shl": "(int32_t)((uint32_t){0} << ({1} & 31))", "shr": "{0} >> ({1} & 31)",
    "lshr": "(int32_t)((uint32_t){0} >> ({1} & 31))", "move": "{0}", "neg": "(int32_t)(0u - (uint32_t){0})",
    "not": "~{0}", "abs": "{0} < 0 ? (int32_t)(0u - (uint32_t){0}) : {0}", "min": "{0} < {1} ? {0} : {1}",
    "max": "{0} > {1} ? {0} : {1}", "umin": "(uint32_t){0} < (uint32_t){1} ? {0} : {1}",
    "umax": "(uint32_t){0} > (uint32_t){1} ? {0} : {1}", "eq": "{0} == {1}", "ne": "{0} != {1}", "lt": "{0} < {1}",
    "le": "{0} <= {1}", "gt": "{0} > {1}", "ge": "{0} >= {1}", "ult": "(uint32_t){0} < (uint32_t){1}",
    "ule": "(uint32_t){0} <= (uint32_t){1}", "select": "{0} ? {1} : {2}", "sext8": "(int8_t){0}",
    "sext16": "(int16_t){0}", "zext8": "(uint8_t){0}", "zext16": "(uint16_t){0}",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class LaunchedLoop:
    """A loop with its image: what the C of a launch is made from."""

    number: int
    plan: LoopPlan
    image: Image
    access: HostAccess
    #: The least number of iterations that is launched.
    threshold: int = 0


def loops_c(loops: Sequence[LaunchedLoop], name: str) -> str:
    """The C file with the images and the functions of all loops of a function."""
    lines = [f"/* Loops of {name} on the array. Generated. */", '#include "gridloom.h"', ""]
    for loop in reversed(loops):
        words = loop.image.words()
        table = ",\n  ".join(", ".join(f"0x{w:08x}" for w in words[k : k + 8]) for k in range(0, len(words), 8))
        following = "0" if loop is loops[-1] else f"&image_{loops[loops.index(loop) + 1].number}"
        lines += [
            f"static const uint32_t words_{loop.number}[{len(words)}] = {{\n  {table}\n}};",
            f"static gl_image image_{loop.number} = {{words_{loop.number}, {len(words)}, 0, 0, 0, {following}}};",
            "",
        ]
    for loop in loops:
        lines += [*_LoopC(loop).lines(), ""]
    return "\n".join(lines)


def _format(array: CArray) -> int:
    """The format of an array's elements in a descriptor. SourceError for elements that are longer than a word."""
    if array.size not in (1, 2, 4):
        raise SourceError(f"array {array.name!r} has elements of {array.size} bytes")
    return {1: 0, 2: 1, 4: 2}[array.size] | (4 if array.signed and array.size < 4 else 0)


class _LoopC:
    """Writes the function of one loop."""

    def __init__(self, loop: LaunchedLoop) -> None:
        self.loop, self.plan, self.image = loop, loop.plan, loop.image
        graph = loop.plan.graph
        assert graph is not None
        self.graph: CLoop = graph
        #: Live-in -> the C variable that holds it.
        self.variables: dict[str, str] = {}
        self.parameters: list[str] = [] if self.plan.pieces is not None else ["uint32_t n"]
        self._parameters()

    def _parameters(self) -> None:
        """The parameters in the order of the call: live-ins, pointers, what later pieces need."""
        for k, (name, value) in enumerate(self.graph.liveins.items()):
            self._add(name, f"i{k}")
            if value.type == "i64":
                self._add(self.graph.high_liveins[name], f"h{k}")
        if self.graph.streams:
            for k, item in enumerate(self.graph.streams.values()):
                given = "ab" if fixed_stride(self.plan, item) is None else "a"
                self.parameters += [f"uint32_t {part}{k}" for part in given]
            return
        self.parameters += [f"uint32_t p{k}" for k in range(len(self.graph.arrays))]
        for k, value in enumerate(self.plan.needed):
            self.parameters.append(f"uint32_t m{k}")
            if value.type == "i64":
                self.parameters.append(f"uint32_t mh{k}")

    def _add(self, livein: str, variable: str) -> None:
        self.parameters.append(f"int32_t {variable}")
        self.variables[livein] = variable

    def lines(self) -> list[str]:
        """The lines of the function."""
        number, count = self.loop.number, 0 if self.graph.streams else len(self.graph.arrays)
        lines = [f"int gl_loop_{number}({', '.join(self.parameters) or 'void'}) {{"]
        lines.append("  int error;")
        if self.plan.pieces is None:
            least = max(1, self.loop.threshold)
            lines.append(f"  if (GL_RARELY(n < {least}u)) return gl_decline();")
        if count:
            # An image is loaded while the driver finds places and brings data.
            asks = f"!image_{number}.loading && (error = gl_request(&image_{number}))"
            lines.append(f"  if (GL_RARELY({asks})) return gl_fail(error);")
        lines.append("  if (GL_RARELY(error = gl_ready())) return gl_fail(error);")
        if count:
            lines += self._arrays()
        lines += self._prologue()
        lines += self._brought(count) if count else []
        lines += self._pieces() if self.plan.pieces is not None else self._counted()
        if count:
            lines.append(f"  if (fresh && (error = gl_settle(arrays, bound, {count}))) return gl_fail(error);")
        return [*lines, "  return 1;", "}"]

    @property
    def _used(self) -> set[str]:
        """The arrays that the loop, or what is computed before it, works on."""
        used = {node.array for node in self.graph.dfg.nodes if node.array}
        return used | {made.array for made in self.graph.prologue.values() if made.array}

    def _arrays(self) -> list[str]:
        """The table of the loop's arrays, and their places: as at the launch before, or else the driver looks."""
        rows = []
        for array in self.graph.arrays:
            base = self.graph.bases[array.name]
            flags = [array.name in self._used, array.name in self._written, self.loop.access.reads_of(base),
                     self.loop.access.writes_of(base)]  # fmt: skip
            register = self.image.bases.get(array.name, 31)
            rows.append(f"{{{array.offset}, {array.stride}, {_format(array)}, {register}, "
                        f"{', '.join(str(int(flag)) for flag in flags)}}}")  # fmt: skip
        pointers = ", ".join(f"p{k}" for k in range(len(rows)))
        return [f"  static const gl_array arrays[] = {{{', '.join(rows)}}};",
                f"  uint32_t pointers[] = {{{pointers}}};", f"  static gl_bound bound[{len(rows)}];",
                f"  static gl_window windows[{len(rows)}];", "  static uint32_t epoch;", *self._windows(),
                f"  if (GL_RARELY(fresh) && !gl_bind(arrays, pointers, bound, {len(rows)})) return gl_decline();",
                ]  # fmt: skip

    def _windows(self) -> list[str]:
        """Whether every array lies where it did, with nothing moved since; ``w`` is where it begins, in bytes."""
        if not self._relies():
            return ["  int fresh = 1;"]
        lines, moved = [], ["epoch != gl_epoch"]
        for k, array in enumerate(self.graph.arrays):
            if array.name not in self._used:
                continue
            lines.append(f"  uint32_t w{k} = p{k} + {array.offset} - windows[{k}].start;")
            moved.append(f"w{k} >= windows[{k}].bytes" if array.stride == array.size else "1")
            if array.size > 1:
                moved.append(f"(w{k} & {array.size - 1}) != 0")
        return [*lines, f"  int fresh = {' | '.join(f'({term})' for term in moved)};"]

    @property
    def _written(self) -> set[str]:
        """The arrays that the loop stores to."""
        if not self.graph.streams:
            return {node.array for node in self.graph.dfg.nodes if node.op in ("store", "store_if") and node.array}
        records = [self.graph.dfg.nodes[self.graph.dfg.index[node]] for node in self.graph.streams]
        return {(record.variable or "").split("[")[0] for record in records if record.op == "output"}

    def _relies(self) -> int:
        """1 where the core leaves the loop's arrays alone between launches, so that they may stay as they are."""
        access, bases = self.loop.access, self.graph.bases
        touched = any(access.writes_of(base) for base in bases.values())
        return int(not touched and not any(access.reads_of(bases[name]) for name in self._written))

    def _is_awaited(self) -> bool:
        """Whether the core needs the end of a launch: for what it leaves, or for memory that both touch.

        Otherwise the core goes on, and prepares the next launch while this one runs.
        """
        access, bases = self.loop.access, self.graph.bases
        if self.graph.liveouts or any(access.reads_of(bases[name]) for name in self._written):
            return True
        # A stream reads memory while the core runs; data memory was filled before.
        shared = bases if self.graph.streams else self._written
        return any(access.writes_of(bases[name]) for name in shared)

    def _brought(self, count: int) -> list[str]:
        """Bring what is not there, and remember where everything lies."""
        lines = ["  if (GL_RARELY(fresh)) {",
                 f"    if ((error = gl_bring(arrays, bound, {count}))) return gl_fail(error);",
                 f"    gl_remember(arrays, bound, windows, {count});", "    epoch = gl_epoch;"]  # fmt: skip
        if not self._relies():
            return [*lines, "  }"]
        lines.append("  } else {")
        for k, array in enumerate(self.graph.arrays):
            if array.name in self._used:
                first = f"w{k} >> {array.size.bit_length() - 1}"
                register = self.image.bases.get(array.name, 31)
                lines.append(f"    bound[{k}].first = {first};")
                lines.append(f"    gl_set_livein({register}, windows[{k}].place + ({first}));")
        return [*lines, "  }"]

    def _prologue(self) -> list[str]:
        """Live-ins that are computed from others and from memory."""
        lines = []
        numbers = {array.name: k for k, array in enumerate(self.graph.arrays)}
        for k, (name, made) in enumerate(self.graph.prologue.items()):
            words = [self._operand(made, o) for o in made.operands]
            if made.op == "load":
                at = numbers[made.array or ""]
                text = f"gl_element(&arrays[{at}], &bound[{at}], pointers[{at}], {words[0]})"
            elif made.op in _EXPRESSIONS:
                text = _EXPRESSIONS[made.op].format(*words)
            else:
                raise SourceError(f"a live-in is computed by {made.op!r} before the loop")
            self.variables[name] = f"c{k}"
            lines.append(f"  int32_t c{k} = {text};")
        return lines

    def _operand(self, made: LoopOperation, operand: object) -> str:
        if isinstance(operand, Const):
            return f"({operand.value})" if operand.value != -(1 << 31) else "(-2147483647 - 1)"
        if isinstance(operand, LiveIn):
            return self.variables[operand.name]
        raise SourceError(f"a live-in is computed by {made.op!r} from the loop itself")

    def _set_liveins(self, indent: str) -> list[str]:
        return [f"{indent}gl_set_livein({number}, (uint32_t){self.variables[name]});"
                for name, number in self.image.liveins.items()]  # fmt: skip

    def _counted(self) -> list[str]:
        """One launch, and what it leaves. What the launch before was told already is not told again."""
        number, (strides, described, addresses, started) = self.loop.number, self._streams()
        image, own = f"&image_{number}", number + 1
        free = [k for k, stride in strides.items() if not stride.isdecimal()]
        changed = [f"(gl_loop ^ {own})", "(gl_iterations ^ n)", *(f"(s{k} ^ t{k})" for k in free)]
        lines = [f"  static uint32_t {', '.join(f's{k}' for k in free)};"] if free else []
        lines += [f"  {'' if k in free else 'const '}uint32_t t{k} = {stride};" for k, stride in strides.items()]
        if self.plan.loop.header.startswith(SCAN):
            # The source might have left the loop before it came there.
            lines += [f"  if (GL_RARELY(!gl_known(a{k}, a{k} + (n - 1) * t{k}))) return gl_decline();" for k in strides]
        lines += [f"  int taken = ({' | '.join(changed)}) != 0;", "  if (GL_RARELY(taken)) {",
                  *self._describing(free, described),
                  f"    if ((error = gl_take({image}, {own}, n, {started:#x}))) return gl_fail(error);", "  }",
                  *self._set_liveins("  "), *addresses, "  gl_go();",
                  f"  if (GL_RARELY(taken) && (error = gl_prefetch({image}))) return gl_fail(error);"]  # fmt: skip
        if self._is_awaited():
            lines.append("  if (GL_RARELY(error = gl_idle())) return gl_fail(error);")
        lines += self._refreshed() if self.graph.streams else []
        for i, name in enumerate(self.graph.liveouts):
            lines += self._out(i, name)
        return lines

    def _describing(self, free: Sequence[int], described: Sequence[str]) -> list[str]:
        """Describe the channels, unless they are as this loop left them."""
        if not described:
            return []
        changed = ["(length ^ n)", "(seen ^ gl_described)", *(f"(s{k} ^ t{k})" for k in free)]
        return ["    static uint32_t length, seen;", f"    if ({' | '.join(changed)}) {{",
                *(f"      s{k} = t{k};" for k in free), *(f"  {line}" for line in described),
                "      length = n;", "      seen = gl_described;", "    }"]  # fmt: skip

    def _refreshed(self) -> list[str]:
        """Empty the core's cache where it may read what the streams wrote; otherwise when the function ends."""
        if not self._written:
            return []
        reads = any(self.loop.access.reads_of(self.graph.bases[name]) for name in self._written)
        return ["  GL_REFRESH_CACHE;"] if reads else ["  gl_stale = 1;"]

    def _streams(self) -> tuple[dict[int, str], list[str], list[str], int]:
        """The channels of the streams, each with as many elements as the loop has iterations.

        Stream -> its stride; what describes the channels; what gives them their addresses; their bits.
        """
        strides: dict[int, str] = {}
        described: list[str] = []
        addresses: list[str] = []
        started = 0
        arrays = {array.name: array for array in self.graph.arrays}
        for k, node in enumerate(self.graph.streams):
            record = self.graph.dfg.nodes[self.graph.dfg.index[node]]
            array = arrays[(record.variable or "").split("[")[0]]
            side = int(record.op == "output")
            channels = (self.image.drains[node],) if side else self.image.feeds.get(node, ())
            for channel in channels:
                fixed = fixed_stride(self.plan, self.graph.streams[node])
                strides[k] = f"n > 1 ? b{k} - a{k} : {array.size}" if fixed is None else str(fixed & 0xFFFFFFFF)
                described.append(f"    gl_stream({side}, {channel}, {_format(array)}, n, t{k});")
                place = f"{'GL_WRITE' if side else 'GL_READ'} + {channel} * GL_CHANNEL_BYTES + GL_ADDRESS"
                addresses.append(f"  GL_REGISTER({place}) = a{k};")
                started |= 1 << channel + 16 * side
        return strides, described, addresses, started

    def _out(self, i: int, name: str) -> list[str]:
        """What goes back to the IR: one word or two."""
        registers: Mapping[str, int] = self.image.liveouts
        lines = [f"  gl_out[{2 * i}] = gl_liveout({registers[name]});"]
        if name in self.graph.high_words:
            lines.append(f"  gl_out[{2 * i + 1}] = gl_liveout({registers[self.graph.high_words[name]]});")
        return lines

    def _pieces(self) -> list[str]:
        """Piece after piece, until the loop has ended."""
        loop = self.plan.pieces
        assert loop is not None
        registers = self.image.liveouts
        run = f"gl_run(&image_{self.loop.number}, {self.loop.number + 1}, length)"
        lines = [f"  for (uint32_t length = {FIRST_PIECE};;) {{", *self._set_liveins("    "),
                 f"    if ((error = {run})) return gl_fail(error);",
                 f"    if (gl_liveout({registers[loop.done]})) break;"]  # fmt: skip
        later = 0
        for item in loop.carried:
            if item.livein and item.liveout:
                lines.append(f"    {self.variables[item.livein]} = (int32_t)gl_liveout({registers[item.liveout]});")
                if item.livein in self.graph.high_liveins:
                    high = self.variables[self.graph.high_liveins[item.livein]]
                    lines.append(f"    {high} = (int32_t)gl_liveout({registers[self.graph.high_words[item.liveout]]});")
            elif item.livein:
                lines.append(f"    {self.variables[item.livein]} = (int32_t)m{later};")
                if item.livein in self.graph.high_liveins:
                    lines.append(f"    {self.variables[self.graph.high_liveins[item.livein]]} = (int32_t)mh{later};")
                later += 1
        lines += [f"    if (length < {LAST_PIECE}) length *= 2;", "  }"]
        for i, left in enumerate(loop.left):
            if not left.liveout:
                raise SourceError(f"value {left.item.name!r} is read behind the loop, and the array does not give it")
            lines += self._out(i, left.liveout)
        if loop.way:
            lines.append(f"  gl_out[{2 * len(loop.left)}] = gl_liveout({registers[loop.way]});")
        return lines
