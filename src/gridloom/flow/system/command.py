"""What ``gridloom system`` does: find the function, compile it, plan its launches, write files, run the program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

from gridloom.compiler.ir.driver import compile_to_ir
from gridloom.compiler.ir.ir import IrModule
from gridloom.compiler.ir.reader import read_module
from gridloom.compiler.loops.source_name import split
from gridloom.errors import OptionError, SimulationError
from gridloom.flow.functions.compile import Compiled, CompileOptions
from gridloom.flow.functions.data import read_arguments
from gridloom.flow.functions.native import native_output
from gridloom.flow.system.build import array_sources, core_sources, launchable, link_program, main_text
from gridloom.flow.system.compile import compile_for_system, core_ir
from gridloom.flow.system.plan import SystemPlan, plan_launches
from gridloom.flow.system.run import SystemRun, ending, run_function_on_system, system_run
from gridloom.hardware.system.header import software_text
from gridloom.hardware.system.soc import Faults, run_soc, soc_program
from gridloom.hardware.system.top import system_files


def compile_function(source: str, arch: str, *, unroll: str = "auto", **options: Unpack[CompileOptions]) -> Compiled:
    """The compiled function of ``FILE.c`` or ``FILE.c:FUNCTION``.

    Without a name it is the one function of the file that ``main`` calls; OptionError where there are several, or none.
    """
    named = split(source)
    path, function = named.path, named.rest
    if named.ending != ".c":
        raise OptionError(f"expected FILE.c or FILE.c:FUNCTION, found {source!r}")
    if not function:
        function = _called(read_module(compile_to_ir(path), str(path)), path)
    return compile_for_system(path, function, arch, unroll=unroll, **options)


def _called(module: IrModule, path: Path) -> str:
    """The one function with a body that main calls."""
    if "main" not in module.functions:
        raise OptionError(f"{path} has no main; write {path}:FUNCTION with --args, --data or --random")
    calls = [i.callee for b in module.functions["main"].blocks.values() for i in b.instructions if i.opcode == "call"]
    found = sorted({callee for callee in calls if callee in module.functions})
    if len(found) != 1:
        listed = ", ".join(found) or "none; clang inlines small functions, so write __attribute__((noinline))"
        raise OptionError(f"main of {path} calls functions of the file: {listed}; write {path}:FUNCTION")
    return found[0]


def run_function(
    compiled: Compiled, given: Mapping[str, Any], *, seed: int | None, always: bool, run: bool, files: bool,
    faults: Faults | None = None,
) -> tuple[SystemRun | None, dict[str, str]]:  # fmt: skip
    """Run a function or a whole program, where that is asked for; and the texts of its files, where those are."""
    path = Path(compiled.program.file)
    has_main = "main" in compiled.program.module.functions
    if not has_main and not given and seed is None and compiled.signature.parameters:
        raise OptionError(f"{compiled.name} has parameters: give --args, --data or --random")
    arguments = None if has_main else read_arguments(compiled.signature, given, seed)
    texts: dict[str, str] = {}
    plan = launchable(plan_launches(compiled, arguments, always=always))
    if files:
        main = None if arguments is None else main_text(compiled, arguments)
        sources = array_sources(plan, main)
        texts = {**system_files(plan.system), **sources.c_files, "function.ll": sources.ir}
        texts |= {name: software_text(name) for name in ("support.c", "start.S", "memory.ld")}
    if not run:
        return None, texts
    if has_main:
        return _run_program(plan, path, faults), texts
    return run_function_on_system(compiled, given, seed=seed, always=always, faults=faults), texts


def _run_program(plan: SystemPlan, path: Path, faults: Faults | None) -> SystemRun:
    """Run a program with its own main, with the array and without, and compare what it prints with native code."""
    simulation = soc_program(plan.system)
    shown = run_soc(simulation, link_program(array_sources(plan, None), path), faults=faults)
    if shown.status is None or (shown.status == 3 and "gridloom: " in shown.output):
        raise SimulationError(ending(shown), where=str(path))
    alone = {name: run_soc(simulation, link_program(core_sources(plan.compiled, text, None), path))
             for name, text in core_ir(plan.compiled.program).items()}  # fmt: skip
    expected = native_output(path)
    differences = []
    outputs = {"core and array": shown.output} | {f"the core alone ({name})": run.output for name, run in alone.items()}
    for label, output in outputs.items():
        if output.strip() != expected.strip():
            pairs = zip(output.splitlines() + [""], expected.splitlines() + [""])
            ours, theirs = next((pair for pair in pairs if pair[0] != pair[1]), ("", ""))
            differences.append(f"{label} printed {ours!r}, native code printed {theirs!r}")
    return system_run(plan, shown, {name: run.numbers["cycles"] for name, run in alone.items()}, tuple(differences))
