"""What a suite says about loops on modulo-scheduled arrays: II against MII, speed-ups, one mapper against another.

The processor that speed-ups are measured against issues one instruction at a time, in order, and waits for its result:
loads take 3 cycles (address and cache), multiplications 3, divisions 12, floating point 4, all else 1 (predicted
branches and stores included), and an iteration ends with a comparison and a branch. Address and data halves of one
access are one instruction; constants and live-ins are in registers.

The speed-up of a loop is its cycles on that processor over the II: long trip counts are assumed, and the prologue is
left out. Means are geometric, since ratios of different loops multiply.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from gridloom.dfg.model import Dfg

#: Cycles of an instruction by op class; loads are ``mem`` with a result.
CYCLES: Final[Mapping[str, int]] = {"mul": 3, "div": 12, "fp": 4, "mem_data": 0}
LOAD_CYCLES: Final = 3
#: The comparison and the branch that end an iteration.
LOOP_CYCLES: Final = 2

Row = Mapping[str, Any]


def sequential_cycles(dfg: Dfg) -> int:
    """Return the cycles of an iteration on the processor.

    >>> from gridloom.frontend.source import load_source
    >>> sequential_cycles(load_source("kernel:dot_product"))
    9
    """
    total = LOOP_CYCLES
    for node, op in zip(dfg.nodes, dfg.ops, strict=True):
        if op.timeless:
            continue
        name = dfg.op_class(node.id)
        loads = name == "mem" and (op.result or node.op == "load_address")
        total += LOAD_CYCLES if loads else CYCLES.get(name, 1)
    return total


def loop_summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Return for each mapper and array the loops mapped and the geometric means of MII / II and of the speed-up.

    ``ratios`` compare the first mapper with the others: how much faster its loops run, over cells that both map. Rows
    are those of modulo arrays, with ``sequential`` set.
    """
    mappers = list(dict.fromkeys(str(row["mapper"]) for row in rows))
    mine = {name: [row for row in rows if row["mapper"] == name] for name in mappers}
    return {
        "mappers": {name: _by_array(found) for name, found in mine.items()},
        "ratios": {name: ratio(mine[mappers[0]], mine[name]) for name in mappers[1:]},
    }


def _by_array(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the figures of all rows, and those of each array."""
    archs = list(dict.fromkeys(row["cell"]["arch"] for row in rows))
    parts = {arch: _figures([row for row in rows if row["cell"]["arch"] == arch]) for arch in archs}
    return {"all": _figures(rows), **parts}


def _figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the counts and geometric means of some rows."""
    mapped = [row for row in rows if row["status"] == "mapped"]
    return {
        "cells": len(rows),
        "mapped": len(mapped),
        "mii_over_ii": geometric_mean(row["mii"] / row["ii"] for row in mapped),
        "speedup": geometric_mean(row["sequential"] / row["ii"] for row in mapped),
    }


def ratio(first: Sequence[Row], second: Sequence[Row]) -> dict[str, Any]:
    """Return how many times faster loops run as the first maps them than as the second does, where both do."""

    def intervals(rows: Iterable[Row]) -> dict[tuple[str, str, int], int]:
        """Return the II of each mapped cell."""
        return {tuple(row["cell"].values()): row["ii"] for row in rows if row["status"] == "mapped"}

    a, b = intervals(first), intervals(second)
    both = sorted(a.keys() & b.keys())
    return {"cells": len(both), "speedup": geometric_mean(b[cell] / a[cell] for cell in both)}


def geometric_mean(values: Iterable[float]) -> float | None:
    """Return the geometric mean to three digits; None of nothing.

    >>> geometric_mean([1, 4])
    2.0
    """
    found = list(values)
    return round(math.exp(math.fsum(math.log(value) for value in found) / len(found)), 3) if found else None
