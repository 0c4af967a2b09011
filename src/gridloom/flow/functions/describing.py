"""Compiled functions and their runs in words and tables, and as plain data for JSON."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from gridloom.flow.functions.compile import Compiled
from gridloom.flow.functions.launching.cycles import LoopCycles
from gridloom.flow.functions.run import NOTHING, FunctionRun
from gridloom.flow.loops.alternatives import Alternative, rates_by_size

#: Longer arrays are not printed.
_SHOWN = 16


def compiled_text(compiled: Compiled) -> str:
    """A compiled function in a few lines: each loop with its II, or why it stays on the host."""
    innermost = [loop for loop in compiled.loops if not loop.plan.loop.children and loop.plan.jam == 1]
    mapped = sum(loop.mapping is not None for loop in innermost)
    count = f"{mapped} of {len(innermost)} innermost loop{'s' if len(innermost) != 1 else ''} on the array"
    lines = [f"compiled: {compiled.name} onto {compiled.arch.name}: {count}"]
    warnings = [f"warning: {text}" for text in compiled.program.warnings]
    return "\n".join([*lines, *(f"  {loop.text}" for loop in compiled.loops), *warnings])


def compiled_html(compiled: Compiled) -> str:
    """A compiled function as HTML for notebooks: a table of its loops, and the pictures of their mappings, folded."""
    from gridloom.emit.picture.notebook import MOST_BYTES, draw_box, table

    rows = [(loop.plan.name, loop.plan.line or None, loop.ii, loop.bound, loop.reason) for loop in compiled.loops]
    shown = table(rows, ("loop", "line", "II", "MII", "stays on the host because"))
    for loop in compiled.loops:
        if loop.mapping is not None:
            picture = f"<details><summary>{escape(loop.plan.name)}</summary>{draw_box(loop.mapping)}</details>"
            # A notebook keeps what it shows.
            shown += picture if len(shown) + len(picture) < MOST_BYTES else ""
    return f"<div><strong>{escape(repr(compiled)[1:-1])}</strong>{shown}</div>"


def run_html(run: FunctionRun) -> str:
    """A run as HTML for notebooks: where the cycles went, and what it returned."""
    from gridloom.emit.picture.notebook import table

    rows = [(name, cycles) for name, cycles in run.breakdown.items() if cycles or name == "total"]
    compared = run.native.missing or ("equal to " if run.native.equal else "DIFFERENT from ") + run.native.label
    return (
        f"<div><strong>{escape(repr(run)[1:-1])}</strong><p>{escape(compared)}</p>{table(rows, ('cycles', ''))}</div>"
    )


def sizes_text(compiled: Compiled) -> str:
    """For each innermost loop, the iterations per cycle that the bounds allow on arrays of other sizes.

    Loops whose iterations may run side by side with those of the loop around count with the best number of them. Costs
    the bounds of each loop for each size.
    """
    lines = ["iterations per cycle by array size, as the bounds allow"]
    for loop in compiled.loops:
        plan = loop.plan
        if plan.graph is None or plan.loop.children or plan.jam > 1:
            continue
        graphs = [(item.graph, item.jam) for item in (plan, *plan.jams) if item.graph is not None]
        rows = [Alternative(label="", dfg=graph.dfg, copies=jam) for graph, jam in graphs]
        rates = ", ".join(f"{size}: {rate:.3g}" for size, rate in rates_by_size(rows, compiled.arch).items())
        lines.append(f"  {plan.name}: {rates or 'the array has no other sizes'}")
    return "\n".join(lines)


def run_text(run: FunctionRun) -> str:
    """A run in lines of text: what it returned, whether native code agrees, and where the cycles went."""
    lines = [] if run.value is None else [f"returned {value_text(run.value)}"]
    if not run.native.executed:
        lines.append(NOTHING)
    elif run.native.missing:
        lines.append(f"not compared with {run.native.label}: {run.native.missing}")
    elif run.native.equal:
        lines.append(f"equal to {run.native.label} on the same data")
    else:
        lines += [f"DIFFERENT from {run.native.label}:", *(f"  {line}" for line in run.native.differences)]
    if run.native.note:
        lines.append(f"not compared with compiled code: {run.native.note}")
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
    rows = [(name, row) for name, row in run.loops.items() if row.launches or row.kept_on_host or row.moved]
    if not rows:
        return []
    width = max(len("loop"), *(len(name) for name, _ in rows))
    lines = [f"  {'loop':<{width}}  launches  simulated  iterations  cycles  on the host"]
    for name, row in rows:
        lines.append(
            f"  {name:<{width}}  {row.launches:>8}  {row.simulated:>9}  {row.iterations:>10}  {row.total:>6}"
            f"  {row.on_host:>11}"
        )
        lines += [f"  {'':<{width}}  {text}" for text in host_texts(row)]
    return lines


def host_texts(row: LoopCycles) -> list[str]:
    """What became of launches that the array did not do, one line for each reason."""
    lines = []
    if row.kept_on_host:
        lines.append(f"{_launches(row.kept_on_host)} on the host: {row.kept_reason}")
    if row.moved:
        why = "" if row.threshold is None else f" with fewer than {row.threshold} iterations"
        spent = f"{row.moved_host} cycles there, {row.moved_array} on the array before configurations and data movement"
        lines.append(f"{_launches(row.moved)}{why} moved to the host: {spent}")
    if row.in_nest:
        lines.append(f"{_launches(row.in_nest)} as a part of others: of the nest around, or side by side")
    return lines


def _launches(count: int) -> str:
    return f"{count} launch{'es' if count != 1 else ''}"


def value_text(value: Any) -> str:
    """A returned value; of a pointer the array that it leads into."""
    if isinstance(value, tuple):
        return f"{value[0]} + {value[1]} bytes"
    return str(value)


def run_record(run: FunctionRun) -> dict[str, Any]:
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
                "kept_on_host": row.kept_on_host, "moved_to_host": row.moved, "threshold": row.threshold,
            }
            for name, row in run.loops.items()
        ],
        "arrays": {name: array.tolist() for name, array in run.arrays.items()},
        "variables": {name: array.tolist() for name, array in run.variables.items()},
    }  # fmt: skip


def _native_record(run: FunctionRun) -> dict[str, Any]:
    native = run.native
    return {"equal": native.equal, "differences": list(native.differences), "missing": native.missing,
            "compared_with": native.label, "note": native.note}  # fmt: skip


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
                "pieces": loop.plan.pieces is not None, "jam": loop.plan.jam,
                "exchanged": loop.plan.interchange is not None, "reason": loop.reason,
            }
            for loop in compiled.loops
            if not loop.plan.controls
        ],
        "controlled": [loop.plan.name for loop in compiled.loops if loop.plan.controls],
    }  # fmt: skip
