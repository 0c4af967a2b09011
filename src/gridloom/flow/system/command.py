"""What ``gridloom system`` does: plan the launches of a compiled function, write files, run the program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gridloom.errors import OptionError
from gridloom.flow.functions.compile import Compiled
from gridloom.flow.functions.data import read_arguments
from gridloom.flow.functions.naming import MAIN
from gridloom.flow.system.build import array_sources
from gridloom.flow.system.machines import Machine, Verilated
from gridloom.flow.system.project import project_files
from gridloom.flow.system.run import SystemRun, SystemTask, plan_task, run_task
from gridloom.hardware.system.soc import Faults


def task_of(compiled: Compiled, given: Mapping[str, Any], *, seed: int | None, always: bool) -> SystemTask:
    """A function with its data, or a whole program, with the loops that are launched."""
    has_main = MAIN in compiled.program.module.functions
    if not has_main and not given and seed is None and compiled.signature.parameters:
        raise OptionError(f"{compiled.name} has parameters: give --args, --data or --random")
    arguments = None if has_main and not given else read_arguments(compiled.signature, given, seed)
    return plan_task(compiled, arguments, always=always)


def run_function(
    compiled: Compiled, given: Mapping[str, Any], *, seed: int | None, always: bool, run: bool, files: bool,
    faults: Faults | None = None, machine: Machine = Verilated(),
) -> tuple[SystemRun | None, dict[str, str]]:  # fmt: skip
    """Run a function or a whole program, where that is asked for; and the texts of its files, where those are."""
    task = task_of(compiled, given, seed=seed, always=always)
    texts = project_files(task, array_sources(task.plan, task.main)) if files else {}
    return (run_task(task, machine, faults=faults) if run else None), texts
