"""Whether it pays off, on one screen: cycles alone and together, speed-ups, shares, time, one sentence."""

from __future__ import annotations

from typing import Any, Final

from gridloom.flow.system.run import SystemRun

#: Lines of a program's output that are shown.
_MOST_SHOWN: Final = 20
#: A speed-up below is none.
_GAIN: Final = 1.05


def verdict(run: SystemRun) -> str:
    """One sentence: it pays off, or why not."""
    saved = run.core_alone - run.cycles
    if run.speedup >= _GAIN:
        return f"pays off: the array saves {saved} of {run.core_alone} cycles"
    rows = {"data that moves": run.transfer, "configuration": run.configuration, "the core's own work": run.host,
            "the array itself": run.busy}  # fmt: skip
    name, cycles = max(rows.items(), key=lambda row: row[1])
    share = 100 * cycles / max(1, run.cycles)
    return f"does not pay off: {name} takes {share:.0f} % of {run.cycles} cycles, and the core alone {run.core_alone}"


def answer_text(run: SystemRun, mhz: float | None = None) -> str:
    """A run as text; ``mhz`` is the clock of the array where one is known."""
    count = len(run.launched)
    how = "predicted; gridloom system --run simulates it" if run.predicted else "simulated in Verilog"
    lines = [f"{run.function} on a RISC-V core with {run.arch}: {count} loop{'s' * (count != 1)} launched ({how})"]
    lines += [f"  {text}" for text in run.reasons]
    if run.differences:
        lines += ["DIFFERS from native code:", *(f"  {text}" for text in run.differences)]
    elif not any("not compared" in text for text in run.reasons):
        equal = "the program printed what native code prints"
        lines.append(equal if run.program else "the function leaves what native code leaves")
    best = min(run.alone, key=lambda name: run.alone[name])
    rows = [(f"core alone, {best}", run.core_alone, ""), ("core and array", run.cycles, "")]
    parts = [("array", run.busy), ("transfer", run.transfer), ("configuration", run.configuration), ("host", run.host)]
    rows += [(f"  {name}", cycles, f"  {100 * cycles / max(1, run.cycles):3.0f} %") for name, cycles in parts]
    width = max(len(name) for name, _, _ in rows)
    lines += [f"  {name:<{width}}  {cycles:>9}{share}" for name, cycles, share in rows]
    loops = "" if run.loop_speedup is None else f"; of the launched loops {run.loop_speedup:.2f}"
    what = "program" if run.program else "function"
    without = f"without transfers {run.speedup_without_transfers:.2f}"
    lines.append(f"speed-up of the {what} {run.speedup:.2f}, {without}{loops}")
    if mhz:
        alone, together = (cycles / mhz / 1000 for cycles in (run.core_alone, run.cycles))
        clock = f"at {mhz:.0f} MHz, the estimated clock of the array"
        lines.append(f"{clock}: {together:.3f} ms, core alone {alone:.3f} ms")
    lines.append(verdict(run))
    if run.program:
        printed = run.output.strip().splitlines()
        lines += ["printed:", *(f"  {line}" for line in printed[:_MOST_SHOWN])]
        lines += [f"  ... {len(printed) - _MOST_SHOWN} more lines"] if len(printed) > _MOST_SHOWN else []
    return "\n".join(lines)


def answer_record(run: SystemRun, mhz: float | None = None) -> dict[str, Any]:
    """A run as plain JSON data."""
    return {
        "function": run.function, "arch": run.arch, "equal": not run.differences, "differences": list(run.differences),
        "predicted": run.predicted, "cycles": run.cycles, "array": run.busy, "stalled": run.stalled,
        "transfer": run.transfer, "waiting": run.waiting, "configuration": run.configuration, "host": run.host,
        "core_alone": dict(run.alone), "speedup": round(run.speedup, 3),
        "speedup_without_transfers": round(run.speedup_without_transfers, 3),
        "loop_speedup": None if run.loop_speedup is None else round(run.loop_speedup, 3),
        "loops": [{"name": name, "entries": core.entries, "core_cycles": core.cycles, "cycles": array.cycles}
                  for name, (core, array) in zip(run.launched, run.loops)],
        "mhz": None if mhz is None else round(mhz, 2),
        "ms": None if not mhz else round(run.cycles / mhz / 1000, 6), "pays_off": run.speedup >= _GAIN,
        "verdict": verdict(run), "launched": list(run.launched), "not_launched": list(run.reasons),
        "output": run.output if run.program else "",
    }  # fmt: skip
