"""What ``gridloom system`` does: plan the launches of a compiled function, write files, run the program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gridloom.errors import OptionError
from gridloom.flow.functions.compile import Compiled
from gridloom.flow.functions.extents import fit_arguments
from gridloom.flow.functions.naming import MAIN
from gridloom.flow.system.build import array_sources
from gridloom.flow.system.machines import Machine, Verilated
from gridloom.flow.system.program_data import ProgramData
from gridloom.flow.system.project import project_files
from gridloom.flow.system.run import NO_DATA, SystemRun, SystemTask, plan_task, run_task
from gridloom.hardware.system.soc import Faults


def task_of(
    compiled: Compiled, given: Mapping[str, Any], *, seed: int | None, always: bool, data: ProgramData = NO_DATA
) -> SystemTask:
    """A function with its data, or a whole program, with the loops that are launched."""
    is_program = compiled.name == MAIN
    if not is_program and not given and seed is None and compiled.signature.parameters:
        raise OptionError(f"{compiled.name} has parameters: give --args, --data or --random")
    arguments = None if is_program else fit_arguments(compiled, given, seed)
    return plan_task(compiled, arguments, always=always, data=data)


def run_function(
    compiled: Compiled, given: Mapping[str, Any], *, seed: int | None, always: bool, run: bool, files: bool,
    faults: Faults | None = None, machine: Machine = Verilated(), data: ProgramData = NO_DATA,
) -> tuple[SystemRun | None, dict[str, str]]:  # fmt: skip
    """Run a function or a whole program, where that is asked for; and the texts of its files, where those are."""
    task = task_of(compiled, given, seed=seed, always=always, data=data)
    texts = project_files(task, task.complete(array_sources(task.plan, task.main))) if files else {}
    return (run_task(task, machine, faults=faults) if run else None), texts
