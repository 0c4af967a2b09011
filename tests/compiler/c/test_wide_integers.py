"""Loops with 64-bit integers: generated ones and those of fixed-point code equal native code, word for word."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
from tests.compiler.c.native import native_library, run_both

from gridloom.compiler.c import COptions, load
from gridloom.dfg.recurrence import recurrence_mii
from gridloom.errors import SourceError

pytestmark = pytest.mark.tools

HEAD = "#include <stdint.h>\n"


def expression(rng: random.Random, depth: int) -> str:
    """A 64-bit expression over the sums s and t, elements, the parameter k and the counter."""
    if depth == 0:
        return rng.choice(
            [
                "s",
                "t",
                "(int64_t)x[i]",
                "(int64_t)y[i]",
                "(uint64_t)(unsigned)x[i]",
                "i",
                "7",
                "-3LL",
                "p[i]",
                "k",
                "q[i + 1]",
            ]
        )
    a, b = expression(rng, depth - 1), expression(rng, depth - 1)
    c, d = expression(rng, 0), expression(rng, 0)
    shift = rng.randrange(64)
    return rng.choice(
        [f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} & {b})", f"({a} ^ {b})", f"({a} | {b})",
         f"((int64_t){a} >> {shift})", f"((uint64_t){a} >> {shift})", f"((uint64_t){a} << {shift})",
         f"((int64_t){c} < (int64_t){d} ? {a} : {b})", f"((uint64_t){c} <= (uint64_t){d} ? {a} : {b})",
         f"({c} == {d} ? {a} : {b})"]
    )  # fmt: skip


def function(seed: int) -> str:
    """A function whose loop carries two 64-bit integers, reads and writes 64-bit elements, and stores words of them."""
    rng = random.Random(seed)
    lines = [f"    s = {expression(rng, 2)};", f"    if ((int64_t){expression(rng, 1)} > {expression(rng, 0)})"]
    lines += [f"      t = {expression(rng, 2)};", f"    z[i] = (int){expression(rng, 1)};"]
    lines += [f"    q[{rng.choice(['i', 'i + 3', '39 - i', 'x[i] & 31'])}] = {expression(rng, 1)};"]
    body = "\n".join(lines)
    return (
        f"int64_t f{seed}(const int *restrict x, const int *restrict y, int *restrict z, const int64_t *restrict p,\n"
        f"                int64_t *restrict q, int64_t k, int n) {{\n"
        f"  int64_t s = {rng.choice(['k', str(rng.randrange(-9, 9))])};\n  uint64_t t = 5;\n"
        f"  for (int i = 0; i < n; i++) {{\n{body}\n  }}\n"
        "  return s ^ (int64_t)t;\n}\n"
    )


def arguments(seed: int) -> dict[str, object]:
    """Random words, half of them small; every third run is short."""
    rng = np.random.default_rng(seed)
    words = [rng.integers(-(1 << 31), 1 << 31, 40) >> (rng.integers(0, 2, 40) * 24) for _ in range(2)]
    n = int(rng.integers(1, 4) if seed % 3 == 0 else rng.integers(4, 33))
    wide = [rng.integers(-(1 << 63), (1 << 63) - 1, 40) >> (rng.integers(0, 3, 40) * 24) for _ in range(2)]
    return {
        "x": words[0].astype("i4"), "y": words[1].astype("i4"), "z": np.zeros(40, "i4"), "p": wide[0], "q": wide[1],
        "k": np.int64(rng.integers(-(1 << 63), (1 << 63) - 1)), "n": n,
    }  # fmt: skip


def compare(folder: Path, seeds: range) -> int:
    """Run every function of a generated file; returns how many could be compared."""
    path = folder / f"wide_{seeds.start}.c"
    path.write_text(HEAD + "".join(function(seed) for seed in seeds))
    library = native_library(path)
    compared = 0
    for seed in seeds:
        try:
            run_both(path, COptions(function=f"f{seed}", reduced=seed % 4 != 0), arguments(seed), library)
        except SourceError as error:
            # clang chooses between addresses where the source chooses between elements, or computes in 63 bits.
            assert re.search("one of several arrays|it computes with i63", str(error)), f"seed {seed}: {error}"
            continue
        compared += 1
    assert compared >= 0.9 * len(seeds)
    return compared


def test_12_generated_loops_with_64_bit_integers(tmp_path: Path):
    compare(tmp_path, range(12))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 300, 50))
def test_200_generated_loops_with_64_bit_integers(tmp_path: Path, start: int):
    compare(tmp_path, range(start, start + 50))


def test_a_wide_dot_product_comes_round_in_one_operation(tmp_path: Path):
    path = tmp_path / "dot.c"
    path.write_text(
        HEAD + "int64_t dot(const int *x, const int *y, int n) {\n  int64_t s = 0;\n"
        "  for (int i = 0; i < n; i++)\n    s += (int64_t)x[i] * y[i];\n  return s;\n}\n"
    )
    loop = load(path)
    assert recurrence_mii(loop.dfg) == 1
    assert loop.high_words == {"add": "add_high"} or len(loop.high_words) == 1
