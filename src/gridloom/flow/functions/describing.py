"""Compiled functions and their runs in words and tables, and as plain data for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridloom.flow.functions.compile import Compiled
from gridloom.flow.functions.run import FunctionRun

#: Longer arrays are not printed.
_SHOWN = 16


def compiled_text(compiled: Compiled) -> str:
    """A compiled function in a few lines: each loop with its II, or why it stays on the host."""
    innermost = [loop for loop in compiled.loops if not loop.plan.loop.children]
    mapped = sum(loop.mapping is not None for loop in innermost)
    count = f"{mapped} of {len(innermost)} innermost loop{'s' if len(innermost) != 1 else ''} on the array"
    lines = [f"compiled: {compiled.name} onto {compiled.arch.name}: {count}"]
    return "\n".join([*lines, *(f"  {loop.text}" for loop in compiled.loops)])


def run_text(compiled: Compiled, run: FunctionRun) -> str:
    """A run in lines of text: what it returned, whether native code agrees, and where the cycles went."""
    lines = [] if run.value is None else [f"returned {value_text(run.value)}"]
    if run.native.missing:
        lines.append(f"not compared with {run.native.label}: {run.native.missing}")
    elif run.native.equal:
        lines.append(f"equal to {run.native.label} on the same data")
    else:
        lines += [f"DIFFERENT from {run.native.label}:", *(f"  {line}" for line in run.native.differences)]
    lines.append(f"{run.cycles} cycles; the host alone takes {run.single_issue}")
    width = max(len(name) for name in run.breakdown)
    lines += [f"  {name:<{width}}  {cycles:>9}" for name, cycles in run.breakdown.items() if cycles or name == "total"]
    lines += loop_table(run)
    for name, array in run.arrays.items():
        if array.size <= _SHOWN:
            lines.append(f"{name} = {array.reshape(-1).tolist()}")
    return "\n".join(lines)


def loop_table(run: FunctionRun) -> list[str]:
    """One line for each loop that ran on the array."""
    rows = [(name, row) for name, row in run.loops.items() if row.launches or row.kept_on_host]
    if not rows:
        return []
    width = max(len("loop"), *(len(name) for name, _ in rows))
    lines = [f"  {'loop':<{width}}  launches  simulated  iterations  cycles  on the host"]
    for name, row in rows:
        lines.append(
            f"  {name:<{width}}  {row.launches:>8}  {row.simulated:>9}  {row.iterations:>10}  {row.total:>6}"
            f"  {row.on_host:>11}"
        )
        if row.kept_on_host:
            lines.append(f"  {'':<{width}}  {row.kept_on_host} more on the host: {row.kept_reason}")
    return lines


def value_text(value: Any) -> str:
    """A returned value; of a pointer the array that it leads into."""
    if isinstance(value, tuple):
        return f"{value[0]} + {value[1]} bytes"
    return str(value)


def run_record(compiled: Compiled, run: FunctionRun) -> dict[str, Any]:
    """A run as plain JSON data."""
    value = run.value.item() if isinstance(run.value, np.generic) else run.value
    return {
        "value": list(value) if isinstance(value, tuple) else value,
        "native": _native_record(run),
        "cycles": run.cycles,
        "single_issue": run.single_issue,
        "ideal": run.ideal,
        "breakdown": run.breakdown,
        "loops": [
            {
                "name": name, "launches": row.launches, "pieces": row.pieces, "iterations": row.iterations,
                "simulated": row.simulated, "cycles": row.total, "on_host": row.on_host,
                "kept_on_host": row.kept_on_host,
            }
            for name, row in run.loops.items()
        ],
        "arrays": {name: array.tolist() for name, array in run.arrays.items()},
        "variables": {name: array.tolist() for name, array in run.variables.items()},
    }  # fmt: skip


def _native_record(run: FunctionRun) -> dict[str, Any]:
    native = run.native
    return {"equal": native.equal, "differences": list(native.differences), "missing": native.missing}


def compiled_record(compiled: Compiled) -> dict[str, Any]:
    """A compiled function as plain JSON data."""
    return {
        "function": compiled.name,
        "arch": compiled.arch.name,
        "loops": [
            {
                "name": loop.plan.name, "line": loop.plan.line, "depth": loop.plan.depth,
                "innermost": not loop.plan.loop.children, "ii": loop.ii, "mii": loop.bound,
                "nodes": None if loop.mapping is None else len(loop.mapping.dfg.nodes),
                "pieces": loop.plan.pieces is not None, "reason": loop.reason,
            }
            for loop in compiled.loops
        ],
    }  # fmt: skip
