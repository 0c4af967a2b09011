"""A function or a whole program on core and array and on the core alone, compared with native code; cycles by kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gridloom.compiler.ir.c_source import CSource
from gridloom.errors import MappingError, MissingExtra, SimulationError, SourceError
from gridloom.flow.functions.compile import Compiled
from gridloom.flow.functions.data import Arguments
from gridloom.flow.functions.extents import fit_arguments
from gridloom.flow.functions.native import native_output
from gridloom.flow.system.build import (
    Sources,
    array_sources,
    core_sources,
    has_gcc,
    launchable,
    link_program,
    linked_by_gcc,
    main_text,
    marked_core_sources,
    with_access,
)
from gridloom.flow.system.compile import core_ir
from gridloom.flow.system.laps import LoopTime, loop_times
from gridloom.flow.system.machines import Machine, Modelled, Verilated
from gridloom.flow.system.plan import SystemPlan, left_over, plan_launches
from gridloom.flow.system.program_data import ProgramData
from gridloom.hardware.system.soc import Faults, ProgramRun

#: How GCC compiles the function for the core alone, beside clang -O2. The last is for functions that GCC gets wrong
#: with -O3: version 12 takes products of several bytes as products of words where it vectorises without a vector unit.
GCC_OPTIONS: Final = ("-O2", "-O3", "-O3 -fno-tree-vectorize")
#: What a program runs on that reads nothing.
NO_DATA: Final = ProgramData()
_NUMBERS: Final = ("cycles", "busy", "stalled", "configuring", "loading", "transfer", "waiting")


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
    #: Whether the cycles are those of the model, and not of the hardware in Verilator.
    predicted: bool = False
    #: Whether a whole program ran, with its own main.
    program: bool = False
    #: Of each launched loop the time on the core alone, and with the array.
    loops: Sequence[tuple[LoopTime, LoopTime]] = ()

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

    @property
    def loop_speedup(self) -> float | None:
        """The launched loops on the core over the same with the array; None where they were not measured."""
        alone, together = (sum(pair[k].cycles for pair in self.loops) for k in (0, 1))
        return alone / together if together else None


@dataclass(frozen=True, kw_only=True)
class SystemTask:
    """A compiled function with what it runs on: data, or the ``main`` of its files."""

    compiled: Compiled
    plan: SystemPlan
    #: None for a program with a main of its own.
    arguments: Arguments | None
    #: What such a program runs on.
    data: ProgramData = NO_DATA
    #: Of each launched loop the time on the core alone, and with the array.
    loops: Sequence[tuple[LoopTime, LoopTime]] = ()

    @property
    def main(self) -> str | None:
        """The text of the main that calls the function."""
        return None if self.arguments is None else main_text(self.compiled, self.arguments)

    def link(self, sources: Sources) -> bytes:
        """The binary of a program."""
        return link_program(self.complete(sources), self.source.path)

    def complete(self, sources: Sources) -> Sources:
        """A program with the data that it runs on."""
        return sources if self.arguments is not None else sources.with_files(self.data.c_files)

    @property
    def source(self) -> CSource:
        """The files of the function."""
        source = self.compiled.program.source
        assert source is not None
        return source

    def differences(self, shown: ProgramRun) -> list[str]:
        """Where what a program printed differs from what native code leaves or prints."""
        if self.arguments is not None:
            return _differences(self.compiled, self.arguments, shown)
        expected = native_output(self.source, self.data.c_files, self.data.files.get("-", b""))
        if shown.output.strip() == expected.strip():
            return []
        pairs = zip([*shown.output.splitlines(), ""], [*expected.splitlines(), ""])
        ours, theirs = next((pair for pair in pairs if pair[0] != pair[1]), ("", ""))
        return [f"printed {ours!r}, native code printed {theirs!r}"]


def plan_task(
    compiled: Compiled, arguments: Arguments | None, *, always: bool = False, data: ProgramData = NO_DATA
) -> SystemTask:
    """What is launched for some data, or for a program's own.

    Loops that a run of the model shows to be slower with the array stay on the core, unless ``always`` is set.
    MappingError where none is left. Costs the links and the runs of two programs, four where a loop is left out.
    """
    plan = launchable(plan_launches(compiled, arguments, always=always))
    task = SystemTask(compiled=compiled, plan=plan, arguments=arguments, data=data)
    times = _measure_loops(task)
    slower = [loop for loop, (core, array) in zip(plan.loops, times) if array.cycles >= core.cycles > 0]
    idle = [loop for loop, (core, _) in zip(plan.loops, times) if not core.entries]
    if always or not (slower or idle):
        return replace(task, loops=times)
    kept = [loop for loop in plan.loops if loop not in slower and loop not in idle]
    reasons = [*plan.reasons, *(f"{loop.plan.name}: the core is faster" for loop in slower),
               *(f"{loop.plan.name}: nothing was executed" for loop in idle)]  # fmt: skip
    if not kept:
        raise MappingError(f"no loop of {compiled.name!r} is launched on {compiled.arch.name}: {'; '.join(reasons)}")
    loops = with_access([replace(loop, number=k) for k, loop in enumerate(kept)], left_over(compiled))
    task = replace(task, plan=replace(plan, loops=tuple(loops), reasons=tuple(reasons)))
    return replace(task, loops=_measure_loops(task))


def _measure_loops(task: SystemTask) -> list[tuple[LoopTime, LoopTime]]:
    """Of each launched loop the time on the core alone and with the array, by the model."""
    plan, count, model = task.plan, len(task.plan.loops), Modelled()
    sides = (marked_core_sources(plan, task.main), array_sources(plan, task.main, laps=True))
    times = [loop_times(model.laps_of(plan, task.link(sources)), count) for sources in sides]
    return list(zip(*times))


def run_task(task: SystemTask, machine: Machine, *, faults: Faults | None = None) -> SystemRun:
    """Run what was planned with the array and without, and compare what it leaves with native code.

    On Verilator it costs the build of the hardware where that is new, and some seconds for each program.
    """
    compiled, plan = task.compiled, task.plan
    shown = machine.run_system(plan, task.link(array_sources(plan, task.main)), faults)
    faulty = shown.status is None or (shown.status == 3 and "gridloom: " in shown.output)
    if faulty or (task.arguments is not None and shown.status != 0):
        raise SimulationError(ending(shown), where=str(task.source.path))
    if not shown.numbers["busy"] and task.arguments is not None:
        raise SimulationError(f"no loop of {compiled.name!r} is long enough for a launch; --always launches all")
    differences, wrong = _compared(task, "core and array", shown)
    alone: dict[str, int] = {}
    for name, text in core_ir(compiled.program).items():
        run = machine.run_core(plan, task.link(core_sources(compiled, text, task.main)))
        found, _ = _compared(task, f"the core alone ({name})", run)
        differences += found
        alone[name] = run.numbers["cycles"]
    wrong += _add_gcc(task, machine, alone)
    return SystemRun(
        function=compiled.name, arch=compiled.arch.name, streams=not plan.system.has_memory, alone=alone,
        differences=tuple(differences), launched=tuple(loop.plan.name for loop in plan.loops),
        reasons=(*plan.reasons, *wrong), output=shown.output, predicted=machine.predicts,
        program=task.arguments is None, loops=task.loops, **{name: shown.numbers[name] for name in _NUMBERS},
    )  # fmt: skip


def _compared(task: SystemTask, label: str, run: ProgramRun) -> tuple[list[str], list[str]]:
    """The differences of a run to native code, and why there was no comparison."""
    try:
        return [f"{label}: {text}" for text in task.differences(run)], []
    except (SourceError, MissingExtra) as error:
        return [], [f"not compared with native code: {error.message}"]


def _add_gcc(task: SystemTask, machine: Machine, alone: dict[str, int]) -> list[str]:
    """Add the cycles of the function as GCC compiles it; returns what GCC gets wrong."""
    main, unit = task.main, task.source.units[0]
    if main is None or task.source.linked or not has_gcc():
        return []
    wrong = []
    for options in GCC_OPTIONS:
        run = machine.run_core(task.plan, linked_by_gcc(main, unit, options.split()))
        found, _ = _compared(task, "", run)
        if found:
            wrong.append(f"gcc {options} on the core alone is not counted{found[0]}")
        else:
            alone[f"gcc {options}"] = run.numbers["cycles"]
        if options == "-O3" and not found:
            break
    return wrong


def run_function_on_system(
    compiled: Compiled, given: Mapping[str, Any], *, seed: int | None = None, always: bool = False,
    faults: Faults | None = None, machine: Machine = Verilated(),
) -> SystemRun:  # fmt: skip
    """Run a compiled C function on data: on core and array, on the core alone and natively."""
    task = plan_task(compiled, fit_arguments(compiled, given, seed), always=always)
    return run_task(task, machine, faults=faults)


def ending(run: ProgramRun) -> str:
    """How a program ended that did not end well: the driver's words, or its status."""
    lines = [line for line in run.output.splitlines() if line.startswith("gridloom: ")]
    if lines:
        return lines[-1].removeprefix("gridloom: ")
    return f"the program ended with {run.status}" if run.status is not None else "the program did not end"


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
