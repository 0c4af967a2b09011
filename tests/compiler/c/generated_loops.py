"""Random C functions with a loop: expressions, carried values, conditionals, array accesses, nests."""

from __future__ import annotations

import random

import numpy as np

LENGTH = 64
COUNT = 40

HEADER = "#include <stdint.h>\n#include <stdlib.h>\n"
_SIGNATURE = (
    "int f{k}(int32_t *{r}a, int16_t *{r}b, uint8_t *{r}c, float *{r}d, int32_t *{r}out, int p, int q, float g, int n)"
)


def arguments(seed: int) -> dict[str, object]:
    """Data for any generated function."""
    rng = np.random.default_rng(seed)
    return {
        "a": rng.integers(-(1 << 31), 1 << 31, LENGTH, dtype=np.int64).astype("i4"),
        "b": rng.integers(-(1 << 15), 1 << 15, LENGTH, dtype=np.int64).astype("i2"),
        "c": rng.integers(0, 256, LENGTH).astype("u1"),
        "d": rng.normal(0, 10, LENGTH).astype("f4"),
        "out": np.zeros(LENGTH, "i4"),
        "p": int(rng.integers(-100, 100)),
        "q": int(rng.integers(-(1 << 31), 1 << 31)),
        "g": float(np.float32(rng.normal())),
        "n": int(rng.integers(1, COUNT)),
    }


class Writer:
    """Writes one function from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.ints = ["s", "t", "p", "q", "i"]
        self.floats = ["f", "g"]
        self.lines: list[str] = []
        self.locals = 0

    def index(self) -> str:
        kind = self.random.randrange(6)
        if kind < 3:
            return f"i + {self.random.randrange(8)}" if kind else "i"
        if kind == 3:
            return f"{LENGTH - 1} - i"
        if kind == 4:
            return f"({self.integer(1)}) & {LENGTH - 1}"
        return str(self.random.randrange(LENGTH))

    def integer(self, depth: int) -> str:
        choose = self.random.randrange
        if depth <= 0 or choose(5) == 0:
            leaves = [self.random.choice(self.ints), str(choose(-9, 100)), str(choose(-(1 << 31) + 1, 1 << 31))]
            return self.random.choice(leaves)
        kind = choose(14)
        a = self.integer(depth - 1)
        if kind < 6:
            return f"({a} {self.random.choice(['+', '-', '*', '&', '|', '^'])} {self.integer(depth - 1)})"
        if kind == 6:
            return f"({a} {self.random.choice(['<<', '>>'])} {choose(31)})"
        if kind == 7:
            return f"((int)((uint32_t)({a}) >> {choose(1, 31)}))"
        if kind == 8:
            return f"({self.condition(depth - 1)} ? {a} : {self.integer(depth - 1)})"
        if kind == 9:
            return f"(({self.random.choice(['int8_t', 'uint8_t', 'int16_t', 'uint16_t'])})({a}))"
        if kind == 10:
            return f"({a} {self.random.choice(['/', '%'])} {choose(2, 50)})"
        if kind == 11:
            return f"{self.random.choice('abc')}[{self.index()}]"
        if kind == 12:
            return f"({self.random.choice(['-', '~'])}({a}))"
        return f"abs({a})"

    def single(self, depth: int) -> str:
        choose = self.random.randrange
        if depth <= 0 or choose(4) == 0:
            return self.random.choice([*self.floats, f"{choose(1, 99) / 8}f", f"d[{self.index()}]"])
        if choose(6) == 0:
            return f"((float)({self.integer(depth - 1)}))"
        if choose(6) == 0:
            return f"({self.condition(depth - 1)} ? {self.single(depth - 1)} : {self.single(depth - 1)})"
        return f"({self.single(depth - 1)} {self.random.choice('+-*')} {self.single(depth - 1)})"

    def condition(self, depth: int) -> str:
        compare = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
        if self.random.randrange(4) == 0:
            return f"({self.single(depth)} {compare} {self.single(depth)})"
        if self.random.randrange(4) == 0:
            joined = self.random.choice(["&&", "||"])
            return f"({self.condition(depth - 1)} {joined} {self.condition(depth - 1)})" if depth > 0 else "(p > q)"
        if self.random.randrange(4) == 0:
            return f"((uint32_t)({self.integer(depth)}) {compare} (uint32_t)({self.integer(depth)}))"
        return f"({self.integer(depth)} {compare} {self.integer(depth)})"

    def statement(self, depth: int, indent: str) -> None:
        kind = self.random.randrange(10)
        if kind < 3:
            self.lines.append(f"{indent}{self.random.choice('st')} = {self.integer(3)};")
        elif kind == 3:
            self.lines.append(f"{indent}f = f * 0.5f + {self.single(2)} * 0.001f;")
        elif kind in (4, 5):
            target = self.random.choice(["a", "b", "c", "out"])
            self.lines.append(f"{indent}{target}[{self.index()}] = {self.integer(3)};")
        elif kind == 6:
            self.lines.append(f"{indent}d[{self.index()}] = {self.single(2)} * 0.01f;")
        elif kind == 7 and depth > 0:
            self.locals += 1
            name = f"v{self.locals}"
            self.lines.append(f"{indent}int {name} = {self.integer(2)};")
            self.statement(depth - 1, indent)
            self.lines.append(f"{indent}s += {name};")
        elif depth > 0:
            self.block(f"if ({self.condition(2)})", depth - 1, indent)
            if self.random.randrange(2):
                self.block("else", depth - 1, indent)
        else:
            self.lines.append(f"{indent}s ^= {self.integer(2)};")

    def block(self, head: str, depth: int, indent: str) -> None:
        self.lines.append(f"{indent}{head} {{")
        for _ in range(self.random.randrange(1, 4)):
            self.statement(depth, indent + "  ")
        self.lines.append(f"{indent}}}")

    def function(self, number: int, nest: bool) -> str:
        restrict = self.random.choice(["restrict ", ""])
        starts = [self.random.choice(["0", "p", "7"]) for _ in range(2)]
        self.lines = [
            f"{_SIGNATURE.format(k=number, r=restrict)} {{",
            f"  int s = {starts[0]}, t = {starts[1]};",
            "  float f = 1.0f;",
        ]
        if nest:
            bound = self.random.choice(["3", "(p & 3)", "(i & 3) + 1"])
            self.lines.append("  for (int i = 0; i < (n >> 1) + 1; i++) {")
            if self.random.randrange(2):
                self.statement(1, "    ")
            self.ints.append("j")
            self.block(f"for (int j = 0; j < {bound}; j++)", 1, "    ")
            self.ints.remove("j")
            self.statement(1, "    ")
            self.lines.append("  }")
        else:
            self.block("for (int i = 0; i < n; i++)", 2, "  ")
        self.lines += ["  out[0] = f > 0;", "  return s ^ t;", "}"]
        return "\n".join(self.lines) + "\n"


def source(seeds: range, *, nest: bool = False) -> str:
    """A C file with one function a seed, called ``f`` and the seed."""
    return HEADER + "".join(Writer(seed).function(seed, nest) for seed in seeds)
