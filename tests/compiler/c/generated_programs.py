"""Random C functions of wider kinds: narrow and unsigned types, structs, two dimensions, pointers that move, tables,
values carried over several iterations, switches, loops that count down, in steps, or not at all."""

from __future__ import annotations

import random

import numpy as np

ROWS, COLUMNS, LENGTH = 16, 8, 128

STRUCT = np.dtype([("w", "i4"), ("h", "i2"), ("b", "u1"), ("c", "i1")])
PAIR = np.dtype([("x", "i4"), ("y", "i4")])

HEADER = """\
#include <stdint.h>
#include <stdlib.h>
struct mixed { int32_t w; int16_t h; uint8_t b; int8_t c; };
struct pair { int32_t x, y; };
static const int16_t table[16] = {3, -7, 11, 32767, -32768, 0, 9, 100, -2, 5, 60, -61, 7, 8, 1, -1};
static const uint8_t bytes[8] = {0, 255, 128, 127, 1, 2, 64, 200};
static inline int clip(int x, int low, int high) { return x < low ? low : x > high ? high : x; }
static inline uint32_t turn(uint32_t x, int k) { return x << (k & 31) | x >> (-k & 31); }
"""

_PARAMETERS = {
    "a": "int32_t *{r}a", "u": "uint32_t *{r}u", "h": "int16_t *{r}h", "k": "uint16_t *{r}k", "c": "int8_t *{r}c",
    "b": "uint8_t *{r}b", "d": "float *{r}d", "m": "int32_t (*{r}m)[8]", "g": "int16_t (*{r}g)[8]",
    "st": "struct mixed *{r}st", "pr": "struct pair *{r}pr",
}  # fmt: skip
_SCALARS = "int p, unsigned q, int16_t sh, uint8_t by, float fl, int n"

#: Name -> what an element may be read as; all are integers but d.
_ELEMENTS = ("a", "u", "h", "k", "c", "b")


def arguments(seed: int) -> dict[str, object]:
    """Data for any generated function; a count of 0, 1 or 2 every fourth time."""
    rng = np.random.default_rng(seed)

    def words(kind: str, shape=LENGTH) -> np.ndarray:
        return np.frombuffer(rng.bytes(int(np.prod(shape)) * np.dtype(kind).itemsize), kind).reshape(shape).copy()

    return {
        "a": words("i4"), "u": words("u4"), "h": words("i2"), "k": words("u2"), "c": words("i1"), "b": words("u1"),
        "d": rng.normal(0, 10, LENGTH).astype("f4"), "m": words("i4", (ROWS, COLUMNS)),
        "g": words("i2", (ROWS, COLUMNS)), "st": words(STRUCT, LENGTH), "pr": words(PAIR, LENGTH),
        "p": int(rng.integers(-100, 100)), "q": int(rng.integers(-(1 << 31), 1 << 31)),
        "sh": int(rng.integers(-(1 << 15), 1 << 15)), "by": int(rng.integers(0, 256)),
        "fl": float(np.float32(rng.normal())), "n": int(rng.integers(0, 3) if seed % 4 == 0 else rng.integers(3, 40)),
    }  # fmt: skip


class ProgramWriter:
    """Writes one function from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.variables = ["s", "t", "p", "(int)q", "sh", "by", "i", "y", "z", "o1", "o2", "o3"]
        self.lines: list[str] = []
        self.depth = 0

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    # -- expressions ------------------------------------------------------------------------------------------------

    def index(self) -> str:
        number = self.random.randrange
        return self.pick(
            "i", "i", f"i + {number(1, 20)}", f"{LENGTH - 1} - i", f"2 * i + {number(3)}", str(number(LENGTH)),
            f"({self.integer(1)}) & {LENGTH - 1}", f"(i * {number(2, 9)}) & {LENGTH - 1}", f"(p + i) & {LENGTH - 1}",
        )  # fmt: skip

    def row(self) -> str:
        row = self.pick("i & 15", "(i + 3) & 15", f"({self.integer(1)}) & 15", "2")
        return f"[{row}][{self.pick('i & 7', '5', '(p & 7)')}]"

    def element(self) -> str:
        kind = self.random.randrange(10)
        if kind < 5:
            return f"{self.pick(*_ELEMENTS)}[{self.index()}]"
        if kind == 5:
            return f"{self.pick('m', 'g')}{self.row()}"
        if kind == 6:
            return f"st[{self.index()}].{self.pick('w', 'h', 'b', 'c')}"
        if kind == 7:
            return f"pr[{self.index()}].{self.pick('x', 'y')}"
        return f"table[({self.integer(1)}) & 15]" if kind == 8 else f"bytes[({self.integer(1)}) & 7]"

    def place(self) -> str:
        """An element that can be written."""
        while True:
            found = self.element()
            if not found.startswith(("table", "bytes")):
                return found

    def integer(self, depth: int) -> str:
        number = self.random.randrange
        if depth <= 0 or number(6) == 0:
            return self.pick(*self.variables, str(number(-9, 100)), str(number(-(1 << 31) + 1, 1 << 31)), "255", "-1")
        a, b = self.integer(depth - 1), self.integer(depth - 1)
        forms = [
            lambda: f"({a} {self.pick('+', '-', '*')} {b})",
            lambda: f"({a} {self.pick('&', '|', '^')} {b})",
            lambda: f"(int)((uint32_t)({a}) {self.pick('<<', '>>')} ({b} & 31))",
            lambda: f"({a} >> {number(31)})",
            lambda: f"((uint32_t)({a}) {self.pick('/', '%')} {number(1, 70)}u)",
            lambda: f"({a} {self.pick('/', '%')} (({b} & 15) + 1))",
            lambda: f"({self.condition(depth - 1)} ? {a} : {b})",
            lambda: f"(({self.pick('int8_t', 'uint8_t', 'int16_t', 'uint16_t')})({a}))",
            lambda: f"(({self.pick('uint8_t', 'uint16_t')})({a}) >> {number(1, 7)})",
            lambda: f"clip({a}, -{number(1, 300)}, {number(1, 300)})",
            lambda: f"(int)turn({a}, {self.pick('7', b)})",
            lambda: f"__builtin_popcount({a})",
            lambda: f"abs({a})",
            lambda: f"(int)__builtin_bswap32({a})",
            lambda: f"(int)(((long long)({a}) * ({b})) >> {number(1, 60)})",
            lambda: f"({self.condition(depth - 1)})",
            lambda: f"({self.pick('-', '~', '!')}({a}))",
            self.element, self.element, self.element,
        ]  # fmt: skip
        return self.random.choice(forms)()

    def single(self, depth: int) -> str:
        number = self.random.randrange
        if depth <= 0 or number(4) == 0:
            return self.pick("f", "fl", f"{number(1, 99) / 8}f", f"d[{self.index()}]", f"(float)({self.integer(1)})")
        if number(5) == 0:
            return f"({self.condition(1)} ? {self.single(depth - 1)} : {self.single(depth - 1)})"
        return f"({self.single(depth - 1)} {self.pick('+', '-', '*')} {self.single(depth - 1)})"

    def condition(self, depth: int) -> str:
        compare = self.pick("<", "<=", ">", ">=", "==", "!=")
        kind = self.random.randrange(8)
        if kind == 0:
            return f"({self.single(depth)} {compare} {self.single(depth)})"
        if kind == 1 and depth > 0:
            return f"({self.condition(depth - 1)} {self.pick('&&', '||')} {self.condition(depth - 1)})"
        if kind == 2:
            return f"((uint32_t)({self.integer(depth)}) {compare} (uint32_t)({self.integer(depth)}))"
        if kind == 3:
            narrow = f"({self.pick('int8_t', 'uint16_t')})({self.integer(depth)})"
            return f"({narrow} {compare} {self.pick('sh', 'by', 'y', '7')})"
        return f"({self.integer(depth)} {compare} {self.integer(depth)})"

    # -- statements -------------------------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        self.lines.append("  " * (self.depth + 1) + text)

    def statement(self, room: int) -> None:
        kind = self.random.randrange(16)
        if kind < 3:
            self.say(f"{self.pick('s', 't')} {self.pick('=', '+=', '^=', '-=')} {self.integer(3)};")
        elif kind == 3:
            self.say(f"{self.pick('y', 'z')} {self.pick('=', '+=', '-=', '*=')} {self.integer(2)};")
        elif kind == 4:
            self.say(f"f = f * 0.5f + {self.single(2)} * 0.001f;")
        elif kind < 8:
            self.say(f"{self.place()} {self.pick('=', '+=', '^=')} {self.integer(3)};")
        elif kind == 8:
            self.say(f"d[{self.index()}] = {self.single(2)} * 0.01f;")
        elif kind == 9:
            ahead = f"{self.pick('a', 'h', 'b')}[i + {self.random.randrange(2, 5)}]"
            self.say(f"{ahead} = {self.pick('a', 'h', 'b')}[i] + {self.integer(1)};")
        elif kind == 10:
            self.say(f"o3 = o2; o2 = o1; o1 = {self.integer(2)};")
        elif room > 0 and kind == 11:
            self.switch(room)
        elif room > 0 and kind < 15:
            self.branches(room)
        else:
            self.say(f"s = s * 5 + ({self.integer(2)});")

    def block(self, room: int) -> None:
        self.depth += 1
        for _ in range(self.random.randrange(1, 4)):
            self.statement(room)
        self.depth -= 1

    def branches(self, room: int) -> None:
        self.say(f"if ({self.condition(2)}) {{")
        self.block(room - 1)
        for _ in range(self.random.choice([0, 0, 1])):
            self.say(f"}} else if ({self.condition(1)}) {{")
            self.block(room - 1)
        if self.random.randrange(2):
            self.say("} else {")
            self.block(room - 1)
        self.say("}")

    def switch(self, room: int) -> None:
        self.say(f"switch (({self.integer(2)}) & 3) {{")
        for case in self.random.sample(["case 0:", "case 1:", "case 2:", "default:"], self.random.randrange(1, 5)):
            self.say(case)
            self.block(room - 1)
            if self.random.randrange(3):
                self.say("  break;")
        self.say("}")

    # -- functions --------------------------------------------------------------------------------------------------

    def head(self) -> str:
        return self.pick(
            "for (int i = 0; i < n; i++) {", "for (int i = 0; i < n; i++) {", "for (int i = n - 1; i >= 0; i--) {",
            "for (int i = 1; i < n; i += 3) {", "for (unsigned i = 0; i < (unsigned)n; i++) {",
            "for (int i = 0; i != n; ++i) {", "for (int16_t i = 0; i < n; i++) {", "for (int i = 3; i <= n; i += 2) {",
            "int i = n; while (i-- > 0) {", "int i = 0; do {", "for (uint8_t i = 0; i < (uint8_t)n; i++) {",
        )  # fmt: skip

    def function(self, number: int, *, nest: bool = False) -> str:
        restrict = self.pick("restrict ", "restrict ", "")
        parameters = ", ".join(text.format(r=restrict) for text in _PARAMETERS.values())
        starts = [self.pick("0", "p", "7", "sh") for _ in range(4)]
        self.lines = [
            f"int f{number}({parameters}, {_SCALARS}) {{",
            f"  int s = {starts[0]}, t = {starts[1]}, o1 = 1, o2 = {starts[2]}, o3 = 5;",
            f"  {self.pick('int8_t', 'uint8_t', 'int16_t')} y = {starts[3]};",
            f"  {self.pick('uint16_t', 'int16_t', 'uint8_t')} z = 9;",
            "  float f = 1.0f;",
        ]
        head = self.head()
        walks = self.random.randrange(4) == 0 and type(self) is ProgramWriter
        if walks:
            self.say(f"{self.pick('const uint16_t *from = k', 'const int8_t *from = c')}; int32_t *to = a;")
        self.say(head)
        if nest:
            self.nest()
        else:
            self.block(3)
            if self.random.randrange(5) == 0 and "do" not in head:
                self.lines.insert(-1, f"    if ({self.condition(1)}) continue;")
        if walks:
            self.say(f"  {self.pick('', f'if ({self.condition(1)}) ')}*to++ = *from++ + {self.integer(1)};")
        self.lines += [
            "  i++; } while (i < n);" if "do" in head else "  }",
            "  d[0] = f;",
            "  return s ^ t ^ o3 ^ y ^ z;",
            "}",
        ]
        return "\n".join(self.lines) + "\n"

    def nest(self) -> None:
        self.depth += 1
        if self.random.randrange(2):
            self.statement(1)
        bound = self.pick("3", "1", "p & 3", "(i & 3)", "(b[i] & 3)", "by & 1")
        self.variables.append("j")
        self.say(f"for (int j = 0; j < ({bound}); j++) {{")
        self.block(1)
        self.say("}")
        self.variables.remove("j")
        if self.random.randrange(2):
            self.statement(1)
        self.depth -= 1


class StreamWriter(ProgramWriter):
    """Writes functions whose accesses move by a fixed step: most of them are streams."""

    def index(self) -> str:
        number = self.random.randrange
        return self.pick("i", f"i + {number(1, 20)}", f"{LENGTH - 1} - i", f"2 * i + {number(3)}", str(number(LENGTH)))

    def element(self) -> str:
        kind = self.random.randrange(8)
        if kind < 6:
            return f"{self.pick('a', 'h', 'c')}[{self.index()}]"
        return f"st[{self.index()}].{self.pick('h', 'c')}" if kind == 6 else f"pr[{self.index()}].x"

    def place(self) -> str:
        return self.pick("u[i]", "k[2 * i + 1]", f"b[{LENGTH - 1} - i]", "st[i].w", "st[i + 2].b", "pr[i].y")

    def head(self) -> str:
        return self.pick("for (int i = 0; i < n; i++) {", "for (int i = n - 1; i >= 0; i--) {")

    def statement(self, room: int) -> None:
        kind = self.random.randrange(8)
        if kind < 3:
            self.say(f"{self.place()} = {self.integer(3)};")
        elif kind == 3:
            self.say(f"{self.pick('s', 't', 'y')} {self.pick('=', '+=', '^=')} {self.integer(2)};")
        elif kind == 4:
            self.say(f"f = f * 0.5f + {self.single(2)} * 0.001f;")
        elif room > 0 and kind < 7:
            self.branches(room)
        else:
            self.say(f"o3 = o2; o2 = o1; o1 = {self.integer(2)};")


def source(seeds: range, *, nest: bool = False, writer: type[ProgramWriter] = ProgramWriter) -> str:
    """A C file with one function a seed, called ``f`` and the seed."""
    return HEADER + "".join(writer(seed).function(seed, nest=nest) for seed in seeds)
