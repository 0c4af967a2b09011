"""A whole program in simulation: on core and array, on the core alone, and compared with native code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gridloom.errors import SimulationError
from gridloom.flow.functions.compile import Compiled
from gridloom.flow.functions.data import Arguments, read_arguments
from gridloom.flow.system.build import array_sources, core_sources, launchable, link_program, linked_by_gcc, main_text
from gridloom.flow.system.compile import core_ir
from gridloom.flow.system.plan import SystemPlan, plan_launches
from gridloom.hardware.system.soc import Faults, ProgramRun, run_soc, soc_program

#: How GCC compiles the function for the core alone, beside clang -O2. The last is for functions that GCC gets wrong
#: with -O3: version 12 takes products of several bytes as products of words where it vectorises without a vector unit.
GCC_OPTIONS: Final = ("-O2", "-O3", "-O3 -fno-tree-vectorize")


@dataclass(frozen=True, kw_only=True)
class SystemRun:
    """Cycles of a function on core and array by kind, and on the core alone; ``differences`` to native code."""

    function: str
    arch: str
    #: Cycles of the whole function on core and array.
    cycles: int
    busy: int
    stalled: int
    configuring: int
    loading: int
    #: Cycles in which only data moved, and in which the core only waited.
    transfer: int
    waiting: int
    #: Whether the array works on streams instead of a data memory.
    streams: bool
    #: Cycles on the core alone, by compiler.
    alone: Mapping[str, int]
    differences: tuple[str, ...]
    launched: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    output: str = field(default="", repr=False)

    @property
    def core_alone(self) -> int:
        """The fewest cycles of the core alone."""
        return min(self.alone.values())

    @property
    def configuration(self) -> int:
        """Cycles of configuration: images loaded before a launch, and words sent down the chain."""
        return self.configuring + self.loading

    @property
    def host(self) -> int:
        """Cycles that are left: the core's own work and the driver."""
        return max(0, self.cycles - self.busy - self.transfer - self.configuration)

    @property
    def speedup(self) -> float:
        """Core alone over core and array, everything counted."""
        return self.core_alone / self.cycles

    @property
    def speedup_without_transfers(self) -> float:
        """The same without the cycles of data movement, but for those in which the core had work of its own."""
        return self.core_alone / max(1, self.cycles - min(self.transfer, self.waiting))


def run_function_on_system(
    compiled: Compiled, given: Mapping[str, Any], *, seed: int | None = None, always: bool = False,
    faults: Faults | None = None,
) -> SystemRun:  # fmt: skip
    """Run a compiled C function on data: on core and array, on the core alone and natively.

    Costs the build of the hardware where it is new, and some seconds for each program.
    """
    arguments = read_arguments(compiled.signature, given, seed)
    path = Path(compiled.program.file)
    plan = launchable(plan_launches(compiled, arguments, always=always))
    main = main_text(compiled, arguments)
    simulation = soc_program(plan.system)
    shown = run_soc(simulation, link_program(array_sources(plan, main), path), faults=faults)
    if shown.status != 0:
        raise SimulationError(ending(shown), where=str(path))
    if not shown.numbers["busy"]:
        raise SimulationError(f"no loop of {compiled.name!r} is long enough for a launch; --always launches all")
    differences = _differences(compiled, arguments, shown)
    alone: dict[str, int] = {}
    for name, text in core_ir(compiled.program).items():
        run = run_soc(simulation, link_program(core_sources(compiled, text, main), path))
        differences += [f"the core alone ({name}): {text}" for text in _differences(compiled, arguments, run)]
        alone[name] = run.numbers["cycles"]
    wrong = []
    for options in GCC_OPTIONS:
        run = run_soc(simulation, linked_by_gcc(main, path, options.split()))
        if found := _differences(compiled, arguments, run):
            wrong.append(f"gcc {options} on the core alone is not counted: {found[0]}")
        else:
            alone[f"gcc {options}"] = run.numbers["cycles"]
        if options == "-O3" and not found:
            break
    return system_run(plan, shown, alone, tuple(differences), tuple(wrong))


def ending(run: ProgramRun) -> str:
    """How a program ended that did not end well: the driver's words, or its status."""
    lines = [line for line in run.output.splitlines() if line.startswith("gridloom: ")]
    if lines:
        return lines[-1].removeprefix("gridloom: ")
    return f"the program ended with {run.status}" if run.status is not None else "the program did not end"


def system_run(
    plan: SystemPlan, shown: ProgramRun, alone: Mapping[str, int], differences: tuple[str, ...],
    wrong: tuple[str, ...] = (),
) -> SystemRun:  # fmt: skip
    """The record of a run, from what the program reported."""
    names = ("cycles", "busy", "stalled", "configuring", "loading", "transfer", "waiting")
    numbers = {name: shown.numbers[name] for name in names}
    return SystemRun(
        function=plan.compiled.name, arch=plan.compiled.arch.name, streams=not plan.system.has_memory, alone=alone,
        differences=differences,
        launched=tuple(loop.plan.name for loop in plan.loops), reasons=(*plan.reasons, *wrong), output=shown.output,
        **numbers,
    )  # fmt: skip


def _differences(compiled: Compiled, arguments: Arguments, shown: ProgramRun) -> list[str]:
    """Where what a program printed differs from what native code leaves."""
    if compiled.native is None:
        return ["there is no native code to compare with"]
    memory = compiled.host.memory(arguments.objects)
    before = {name: memory.contents(name) for name in memory.objects if name.startswith("@")}
    expected = compiled.native.run(arguments, before)
    printed = {line.split(" ", 1)[0]: line.split(" ", 1)[1] for line in shown.output.splitlines() if " " in line}
    found = []
    result = compiled.signature.result
    if result is not None and not result.pointer:
        raw = expected.value.tobytes()
        if _hex(raw) != printed.get("value"):
            found.append(f"returned {printed.get('value')}, native code returned {_hex(raw)}")
    for name, contents in expected.objects.items():
        if name in printed and _hex(contents) != printed[name]:
            words = zip(_chunks(printed[name]), _chunks(_hex(contents)))
            at, pair = next((k, pair) for k, pair in enumerate(words) if pair[0] != pair[1])
            found.append(f"{name.removeprefix('@')}: bytes {4 * at} and on are {pair[0]}, native code left {pair[1]}")
    return found


def _hex(contents: bytes) -> str:
    padded = contents + bytes(-len(contents) % 4)
    return "".join(f"{int.from_bytes(padded[k : k + 4], 'little'):08x}" for k in range(0, len(padded), 4))


def _chunks(text: str) -> list[str]:
    return [text[k : k + 8] for k in range(0, len(text), 8)]


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
