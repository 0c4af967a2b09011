"""What a run on a system tells: a table of cycles by kind, and the same as plain data."""

from __future__ import annotations

from typing import Any

from gridloom.flow.system.run import SystemRun


def record(run: SystemRun) -> dict[str, Any]:
    """A run as plain JSON data."""
    return {
        "function": run.function, "arch": run.arch, "equal": not run.differences, "differences": list(run.differences),
        "cycles": run.cycles, "array": run.busy, "stalled": run.stalled, "transfer": run.transfer,
        "waiting": run.waiting,
        "configuration": run.configuration, "host": run.host, "core_alone": dict(run.alone),
        "speedup": round(run.speedup, 3), "speedup_without_transfers": round(run.speedup_without_transfers, 3),
        "launched": list(run.launched), "not_launched": list(run.reasons),
    }  # fmt: skip


def table(run: SystemRun) -> str:
    """A run as text."""
    lines = [f"{run.function} on a RISC-V core with {run.arch}: {len(run.launched)} loops on the array"]
    lines += [f"  {text}" for text in run.reasons]
    if run.differences:
        lines += ["differs from native code:", *(f"  {text}" for text in run.differences)]
    else:
        lines.append("the program printed what native code leaves")
    rows = [("array", run.busy), ("transfer", run.transfer), ("configuration", run.configuration), ("host", run.host),
            ("core and array", run.cycles)]  # fmt: skip
    rows += [(f"core alone, {name}", cycles) for name, cycles in run.alone.items()]
    width = max(len(name) for name, _ in rows)
    lines += [f"  {name:<{width}}  {cycles:>9}" for name, cycles in rows]
    lines.append(
        f"speed-up {run.speedup:.2f}, without transfers {run.speedup_without_transfers:.2f}, over the faster core alone"
    )
    return "\n".join(lines)
