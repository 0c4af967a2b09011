"""Random whole C functions: nests, imperfect nests, several loops in a row, while loops, breaks, early returns,
conditions around loops, helpers that are called, and values of many widths.

Every function ends: loops are counted, or carry a counter that stops them, or shrink what they test. Indices are masked
to the arrays, and nothing that C leaves undefined is done.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

LENGTH = 64
ARRAYS = {"a": "int32_t", "u": "uint32_t", "h": "int16_t", "k": "uint16_t", "c": "int8_t", "b": "uint8_t", "d": "float",
          "w": "int64_t"}  # fmt: skip
DTYPES = {"a": "i4", "u": "u4", "h": "i2", "k": "u2", "c": "i1", "b": "u1", "d": "f4", "w": "i8"}
SCALARS = {"n": "int", "p": "int", "q": "unsigned", "sh": "int16_t", "by": "uint8_t"}
HEADER = """\
#include <stdint.h>
static inline int clip(int x, int low, int high) { return x < low ? low : x > high ? high : x; }
static inline uint32_t turn(uint32_t x, int k) { return x << (k & 31) | x >> (-k & 31); }
"""
_VARIABLES = {"s": "int", "t": "int", "v": "unsigned", "x": "int16_t", "y": "uint8_t", "z": "int64_t"}


def arguments(seed: int) -> dict[str, object]:
    """Data for any generated function."""
    rng = np.random.default_rng(seed)
    found: dict[str, object] = {}
    for name, kind in DTYPES.items():
        if kind == "f4":
            found[name] = (rng.integers(-4096, 4096, LENGTH) / 16).astype("f4")
        elif seed % 2:
            found[name] = rng.integers(0, 24, LENGTH).astype(kind)
        else:
            found[name] = np.frombuffer(rng.bytes(LENGTH * np.dtype(kind).itemsize), kind).copy()
    return found | {
        "n": int(rng.integers(0, 12)), "p": int(rng.integers(-50, 50)), "q": int(rng.integers(0, 1 << 32)),
        "sh": int(rng.integers(-(1 << 15), 1 << 15)), "by": int(rng.integers(0, 256)),
    }  # fmt: skip


class FunctionWriter:
    """Writes one function from a seed."""

    def __init__(self, seed: int, name: str) -> None:
        self.random = random.Random(seed)
        self.name = name
        self.counters: list[str] = []
        self.fresh = 0
        self.loops = 0
        self.in_loop = 0
        self.helper = ""

    def text(self) -> str:
        """The function, and the helper that it calls, if it does."""
        restrict = "restrict " if self.random.random() < 0.8 else ""
        parameters = [f"{kind} *{restrict}{name}" for name, kind in ARRAYS.items()]
        parameters += [f"{kind} {name}" for name, kind in SCALARS.items()]
        body = [f"  {kind} {name} = {self._start(name)};" for name, kind in _VARIABLES.items()]
        for _ in range(self.random.randint(1, 3)):
            body += self._indent(self._statement(0))
        if not self.loops:
            body += self._indent(self._counted(0))
        body.append("  return (int)(s ^ t ^ (int)v ^ x ^ y ^ (int)(z >> 7));")
        head = f"int {self.name}({', '.join(parameters)})"
        return "\n".join([*([self.helper] if self.helper else []), head, "{", *body, "}", ""])

    def _start(self, name: str) -> str:
        return self.random.choice(["0", "1", "p", "n", "(int)q", "sh", "by"])

    def _indent(self, lines: list[str]) -> list[str]:
        return [f"  {line}" for line in lines]

    # -- statements -------------------------------------------------------------------------------------------------

    def _statement(self, depth: int) -> list[str]:
        simple = [self._assign, self._store, self._assign, self._store]
        if self.in_loop:
            simple += [self._leave, self._condition]
        around = [self._counted, self._counted, self._counted, self._down, self._while, self._shrink, self._do,
                  self._triangle, self._search, self._conditional_loop, self._condition, self._switch, self._nest,
                  self._nest, self._nest]  # fmt: skip
        if depth >= 3 or self.loops >= 6:
            return self.random.choice(simple)(depth)
        if depth == 0:
            return self.random.choice(around if self.random.random() < 0.85 else [self._assign, self._early])(depth)
        return self.random.choice(simple + around if self.random.random() < 0.4 else simple)(depth)

    def _block(self, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            lines += self._statement(depth)
        return self._indent(lines)

    def _body(self, depth: int, *counters: str) -> list[str]:
        self.loops += 1
        self.in_loop += 1
        self.counters += counters
        lines = self._block(depth + 1)
        del self.counters[len(self.counters) - len(counters) :]
        self.in_loop -= 1
        return lines

    def _name(self, stem: str) -> str:
        self.fresh += 1
        return f"{stem}{self.fresh}"

    def _bound(self) -> str:
        return self.random.choice(["n", "n", "7", "5", "12", "n / 2", "n + 3", "(by & 7)", "3", "1"])

    def _counted(self, depth: int) -> list[str]:
        i, step = self._name("i"), self.random.choice(["++", "++", "++", " += 2", " += 3"])
        start = self.random.choice(["0", "0", "1", "n / 3"])
        return [f"for (int {i} = {start}; {i} < {self._bound()}; {i}{step}) {{", *self._body(depth, i), "}"]

    def _down(self, depth: int) -> list[str]:
        i = self._name("i")
        return [f"for (int {i} = {self._bound()}; {i} > 0; {i}--) {{", *self._body(depth, i), "}"]

    def _nest(self, depth: int) -> list[str]:
        """Two counted loops around a statement on matrices of 8 columns, or on rows that the loops have in common."""
        i, j = self._name("i"), self._name("i")
        self.loops += 2
        few = ["8", "7", "5", "3", "(by & 7)", "(n & 7)", "(n / 2)"]
        low = self.random.choice(["0", "0", "1"])
        heads = [f"for (int {i} = {low}; {i} < {self.random.choice(few)}; {i}++)",
                 f"for (int {j} = {low}; {j} < {self.random.choice(few)}; {j}++)"]  # fmt: skip
        work = self.random.choice([self._matrix, self._matrix, self._kept, self._kept, self._sum])(i, j, low == "1")
        if len(work) == 1:
            return [heads[0], f"  {heads[1]}", f"    {work[0]}"]
        return [f"{heads[0]} {{", f"  {work[0]}", f"  {heads[1]}", f"    {work[1]}", f"  {work[2]}", "}"]

    def _matrix(self, i: str, j: str, above: bool) -> list[str]:
        """A store to an element of a matrix, by others around it."""
        to, of = self.random.choices(["a", "u", "h", "b", "w"], k=2)
        place = self.random.choice([f"8 * {i} + {j}", f"8 * {j} + {i}"])
        there = [f"8 * {i} + {j}", f"8 * {j} + {i}", i, j]
        if above:
            there += [f"8 * {i} + {j} - 8", f"8 * {i} + {j} - 1", f"8 * {i} + {j} - 9", f"8 * {j} + {i} - 7"]
        read = f"{of}[{self.random.choice(there)}]"
        return [f"{to}[{place}] {self.random.choice(['=', '+=', '^='])} {read} + {self.random.choice([i, j, 'p'])};"]

    def _kept(self, i: str, j: str, above: bool) -> list[str]:
        """An element that every iteration of one of the loops changes."""
        to, of = self.random.choices(["a", "u", "h", "w"], k=2)
        place, other = self.random.choice([(i, j), (j, i)])
        read = f"{of}[{self.random.choice([f'8 * {i} + {j}', f'8 * {j} + {i}', other])}]"
        if self.random.random() < 0.4:
            return [f"int r{i} = {self.random.choice(['0', 'p', f'a[{i}]'])};", f"r{i} = r{i} * 3 + (int){read};",
                    f"a[{i}] = r{i};"]  # fmt: skip
        return [f"{to}[{place}] = {to}[{place}] * 3 + {read};"]

    def _sum(self, i: str, j: str, above: bool) -> list[str]:
        """A product of rows, summed up and stored."""
        to, of, by = self.random.choices(["a", "u", "h", "b"], k=3)
        read = f"{of}[8 * {i} + {j}] * {by}[{self.random.choice([j, f'8 * {j} + {i}', f'{i} + {j}'])}]"
        return [f"int r{i} = 0;", f"r{i} += (int)({read});", f"{to}[{i}] = r{i};"]

    def _triangle(self, depth: int) -> list[str]:
        if not self.counters:
            return self._counted(depth)
        i, outer = self._name("i"), self.random.choice(self.counters)
        limits = self.random.choice([("0", outer), (f"{outer} + 1", "10"), (outer, "n"), ("0", f"{outer} + 2")])
        return [f"for (int {i} = {limits[0]}; {i} < {limits[1]}; {i}++) {{", *self._body(depth, i), "}"]

    def _while(self, depth: int) -> list[str]:
        f = self._name("f")
        condition = self._comparison()
        lines = [f"int {f} = 0;", f"while ({f} < {self.random.randint(2, 14)} && ({condition})) {{"]
        # The counter goes first, so that a continue in the body cannot skip it.
        return [*lines, f"  {f}++;", *self._body(depth, f), "}"]

    def _shrink(self, depth: int) -> list[str]:
        w = self._name("w")
        start = f"unsigned {w} = {self._integer(1)};"
        shrinking = self.random.choice(
            [f"{w} >>= 1; s++;", f"{w} &= {w} - 1; t++;", f"{w} /= 3; s += (int){w};", f"{w} >>= 4; v = v * 5 + {w};"]
        )
        self.loops += 1
        return ["{", f"  {start}", f"  while ({w}) {{ {shrinking} }}", "}"]

    def _do(self, depth: int) -> list[str]:
        f = self._name("f")
        body = self._body(depth, f)
        return [f"int {f} = {self.random.randint(1, 9)};", "do {", f"  {f}--;", *body, f"}} while ({f} > 0);"]

    def _search(self, depth: int) -> list[str]:
        i, name = self._name("i"), self.random.choice(["a", "h", "b", "u"])
        self.loops += 1
        wanted = self.random.choice(["p", "sh", "by", "s", "7"])
        leaving = self.random.choice(["break;", "break;", f"{{ s += {i}; break; }}", f"return {i} * 3 + s;"])
        work = self.random.choice([f"s += {name}[{i}];", f"t ^= {name}[{i}] << 1;", f"a[({i} + 9) & 63] = s;", ";"])
        operator = self.random.choice(["==", ">", "<="])
        head = f"for (int {i} = 0; {i} < {self._bound()}; {i}++) {{"
        return [head, f"  if ({name}[{i}] {operator} {wanted}) {leaving}", f"  {work}", "}"]

    def _conditional_loop(self, depth: int) -> list[str]:
        lines = [f"if ({self._comparison()}) {{", *self._indent(self._counted(depth)), "}"]
        if self.random.random() < 0.5:
            lines[-1] = "} else {"
            lines += [*self._indent(self._statement(depth + 1)), "}"]
        return lines

    def _condition(self, depth: int) -> list[str]:
        lines = [f"if ({self._comparison()}) {{", *self._block(depth + 1), "}"]
        if self.random.random() < 0.4:
            lines = [*lines[:-1], "} else {", *self._block(depth + 1), "}"]
        return lines

    def _switch(self, depth: int) -> list[str]:
        cases = [f"  case {k}: {self._assign(depth)[0]} break;" for k in range(self.random.randint(2, 4))]
        return [f"switch (({self._integer(1)}) & 3) {{", *cases, f"  default: {self._assign(depth)[0]}", "}"]

    def _leave(self, depth: int) -> list[str]:
        word = self.random.choice(["break;", "continue;", "break;", f"return {self._integer(1)};"])
        return [f"if ({self._comparison()}) {word}"]

    def _early(self, depth: int) -> list[str]:
        return [f"if ({self._comparison()}) return {self._integer(1)};"]

    def _assign(self, depth: int) -> list[str]:
        if self.random.random() < 0.06 and not self.helper:
            return [f"s += {self._helper_call()};"]
        name = self.random.choice(list(_VARIABLES))
        operator = self.random.choice(["=", "+=", "^=", "-="])
        if name == "z":
            return [f"z += (int64_t)({self._integer(1)}) * ({self._integer(1)});"]
        return [f"{name} {operator} {self._integer(2)};"]

    def _store(self, depth: int) -> list[str]:
        name = self.random.choice(list(ARRAYS))
        if name == "d":
            return [f"d[{self._index()}] = {self._single(2)};"]
        operator = self.random.choice(["=", "=", "+=", "^="])
        return [f"{name}[{self._index()}] {operator} {self._integer(2)};"]

    def _helper_call(self) -> str:
        """A function that is not inlined, with a loop and an early way out."""
        name = f"{self.name}_part"
        self.helper = (
            f"__attribute__((noinline)) static int {name}(const int16_t *w, int m)\n{{\n  int r = 0;\n"
            f"  for (int i = 0; i < m; i++) {{\n    if (w[i] > {self.random.randint(0, 30000)})\n      return r;\n"
            f"    r = r * 3 + w[i];\n  }}\n  return r;\n}}\n"
        )
        return f"{name}(h, n)"

    # -- expressions ------------------------------------------------------------------------------------------------

    def _comparison(self) -> str:
        operator = self.random.choice(["<", ">", "==", "!=", "<=", ">="])
        first = f"{self._integer(1)} {operator} {self._integer(1)}"
        if self.random.random() < 0.2:
            return f"({first}) {self.random.choice(['&&', '||'])} {self._integer(1)}"
        return first

    def _index(self) -> str:
        if self.counters and self.random.random() < 0.75:
            i = self.random.choice(self.counters)
            return self.random.choice(
                [i, i, f"{i} + {self.random.randint(1, 8)}", f"(2 * {i} + 1) & 63", f"({i} + n) & 63"]
            )
        return f"({self._integer(1)}) & 63"

    def _load(self) -> str:
        name = self.random.choice([name for name in ARRAYS if name != "d"])
        return f"{name}[{self._index()}]"

    def _leaf(self) -> str:
        names = [*_VARIABLES, *SCALARS, *self.counters, *self.counters]
        names.remove("z")
        return self.random.choice(
            [self.random.choice(names), str(self.random.randint(-40, 300)), self.random.choice(names)]
        )

    def _integer(self, depth: int) -> str:
        if depth == 0:
            return self._leaf() if self.random.random() < 0.7 or not self.in_loop else self._load()
        a, b = self._integer(depth - 1), self._integer(depth - 1)
        rules: list[Callable[[], str]] = [
            lambda: f"({a} + {b})", lambda: f"({a} - {b})", lambda: f"({a} * {b})", lambda: f"({a} & {b})",
            lambda: f"({a} ^ {b})", lambda: f"({a} | {b})", lambda: f"({a} << ({b} & 7))",
            lambda: f"({a} >> ({b} & 15))", lambda: f"(int16_t)({a})", lambda: f"(uint8_t)({a} + {b})",
            lambda: f"(int8_t)({a})",
            lambda: f"({a} < {b} ? {a} : {b})", lambda: f"({a} ? {b} : p)", lambda: f"clip({a}, -100, {b} & 255)",
            lambda: f"(int)turn((unsigned)({a}), {b})", lambda: f"((unsigned)({a}) / ((unsigned)({b}) | 1u))",
            lambda: f"({a} % 13)", lambda: f"({a} / 7)", lambda: f"(int)((int64_t)({a}) * ({b}) >> 9)",
            lambda: a, lambda: b,
        ]  # fmt: skip
        return self.random.choice(rules)()

    def _single(self, depth: int) -> str:
        if depth == 0:
            return self.random.choice([f"d[{self._index()}]", f"(float)(({self._leaf()}) & 1023)", "0.5f", "-3.25f"])
        a, b = self._single(depth - 1), self._single(depth - 1)
        return self.random.choice([f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} < {b} ? {a} : {b})", a])


def file_of(first: int, count: int) -> str:
    """A C file with the functions ``f<seed>`` of some seeds."""
    return HEADER + "\n".join(FunctionWriter(seed, f"f{seed}").text() for seed in range(first, first + count))
