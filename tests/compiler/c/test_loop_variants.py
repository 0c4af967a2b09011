"""Every form in which a loop may run has a name of its own in generated code."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from gridloom.compiler.c.function.host_code import LoopVariant
from gridloom.compiler.c.function.program import read_program

pytestmark = pytest.mark.tools

SOURCE = """
void filter(int n, int m, int *restrict y, const int *restrict x, const int *restrict h) {
    for (int i = 0; i < n; i++) {
        int s = 0;
        for (int j = 0; j < m; j++) s += x[i + j] * h[j];
        y[i] = s;
    }
}
"""


def test_variants_of_a_program_tell_loop_kind_and_factor(tmp_path: Path):
    path = tmp_path / "filter.c"
    path.write_text(SOURCE, encoding="utf-8")
    plans = [plan for loop in read_program(path, "filter").loops for plan in loop.variants]
    assert [(plan.variant, plan.jam) for plan in plans] == [
        (LoopVariant(0), 1), (LoopVariant(1), 1), (LoopVariant(1, "jam", 2), 2), (LoopVariant(1, "jam", 4), 4),
    ]  # fmt: skip
    assert plans[2].outer_variant == LoopVariant(1, "jam_outer", 2)
    assert [mark.variant for mark in plans[2].marks] == [plans[2].outer_variant, plans[2].variant]


def test_labels_are_unique():
    kinds = ("plain", "interchange", "controller", "inner")
    forms = [*product(kinds, [1]), *product(("jam", "jam_outer"), [2, 4, 12])]
    labels = [LoopVariant(loop, *form).label for loop in (*range(25), 2_000_000) for form in forms]
    assert len(set(labels)) == len(labels)
    assert all(f"ENTER_{label}".isidentifier() for label in labels)
