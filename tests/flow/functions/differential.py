"""Compares many functions of one C file with the file compiled for this machine.

One file holds many functions, so that clang and the linker run once for all of them.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from tests.compiler.c.native import native_library
from tests.flow.functions.generated_functions import ARRAYS, SCALARS, arguments, file_of

from gridloom.archs.spec import build
from gridloom.compiler.analysis.loops import find_loops
from gridloom.compiler.c.function.program import program_of
from gridloom.compiler.c.function.signature import _debug_ir, parse_signature
from gridloom.compiler.ir.c_source import CUnit
from gridloom.compiler.ir.driver import compile_to_ir
from gridloom.compiler.ir.ir import IrModule
from gridloom.compiler.ir.reader import read_module
from gridloom.errors import GridloomError
from gridloom.flow.functions.compile import compile_program
from gridloom.flow.loops.alternatives import map_best, rank_alternatives
from gridloom.flow.loops.loop_text import read_loop
from gridloom.flow.request import Request
from gridloom.flow.run import map_graph

_CTYPES = {"int": ctypes.c_int32, "unsigned": ctypes.c_uint32, "int16_t": ctypes.c_int16, "uint8_t": ctypes.c_uint8}


@dataclass
class Tally:
    """What became of the functions: equal, different (with the first difference), refused (with the reason)."""

    equal: int = 0
    different: dict[int, str] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    #: Loops on the array, loops on the host by reason, launches that were simulated.
    mapped: int = 0
    on_host: Counter[str] = field(default_factory=Counter)
    simulated: int = 0
    #: Nests as one loop, loops with several iterations of the loop around side by side, nests that are exchanged.
    nests: int = 0
    jams: int = 0
    exchanged: int = 0
    #: Loops that ``map`` mapped, and how many of them it compared with the source.
    by_map: int = 0
    with_source: int = 0


def check(
    first: int, count: int, *, arch: str = "torus:4x4", data_sets: int = 2, effort: int = 2000,
    writes: Callable[[int, int], str] = file_of, maps: bool = False,
) -> Tally:  # fmt: skip
    """Compile and run the functions of some seeds on some data each; with ``maps``, map each of their loops, too."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "generated.c"
        path.write_text(writes(first, count))
        library = gcc_library(path) or native_library(path)
        module, types = read_module(compile_to_ir(path), str(path)), _debug_ir(CUnit(path=path))
        for seed in range(first, first + count):
            _check(seed, str(path), module, types, library, tally, arch, data_sets, effort)
            if maps and seed not in tally.different:
                _map(seed, str(path), module, tally, arch, effort)
    return tally


def gcc_library(path: Path) -> ctypes.CDLL | None:
    """The file as gcc compiles it without optimisation; None where there is no gcc."""
    gcc = shutil.which("gcc")
    if gcc is None:
        return None
    made = path.with_suffix(".so")
    flags = ["-O0", "-fwrapv", "-fsigned-char", "-ffp-contract=off", "-std=gnu11", "-w", "-shared", "-fPIC"]
    subprocess.run([gcc, *flags, "-o", str(made), str(path)], check=True, timeout=120)
    return ctypes.CDLL(str(made))


def _map(seed: int, file: str, module: IrModule, tally: Tally, arch: str, effort: int) -> None:
    """Map the loops of a function one by one, as ``gridloom map`` does; what it cannot take it says in words."""
    array = build(arch)
    for number, _ in enumerate(find_loops(module, module.functions[f"f{seed}"])):
        try:
            rows = read_loop(f"{file}:f{seed},loop={number}", "arrays", module)
        except GridloomError:
            continue
        request = Request(source="", arch=array, effort=effort, time_limit=3, seed=1)
        result = map_best(request, rank_alternatives(rows, array), array, map_graph)
        tally.by_map += result.mapping is not None
        tally.with_source += result.mapping is not None and result.verified.compared_with == "source"
        if result.refused is not None:
            tally.different[seed] = f"loop {number}: {result.failure}"


def _check(seed: int, file: str, module: IrModule, types: str, library: ctypes.CDLL, tally: Tally, arch: str,
           data_sets: int, effort: int) -> None:  # fmt: skip
    name = f"f{seed}"
    try:
        program = program_of(module, name, file)
        signature = parse_signature(types, name, file)
        compiled = compile_program(program, signature, arch, seed=1, effort=effort, time_limit=3, every=True)
        for loop in compiled.loops:
            tally.mapped += loop.mapping is not None
            if loop.mapping is not None:
                tally.jams += loop.plan.jam > 1
                tally.exchanged += loop.plan.interchange is not None
                tally.nests += loop.plan.is_nest and loop.plan.interchange is None
            tally.on_host[loop.reason.partition(";")[0]] += bool(loop.reason)
        for k in range(data_sets):
            given = arguments(2 * seed + k)
            run = compiled.run(simulate=8, compare=False, **given)
            tally.simulated += sum(row.simulated for row in run.loops.values())
            if difference := _difference(library, name, given, run):
                tally.different[seed] = difference
                return
    except GridloomError as error:
        kept = tally.different if type(error).__name__ == "SimulationError" else tally.refused
        kept[seed] = str(error)
        return
    tally.equal += 1


def _difference(library: ctypes.CDLL, name: str, given: dict[str, object], run: object) -> str:
    """The first value in which a run differs from native code; "" where it differs in none."""
    arrays = {key: given[key].copy() for key in ARRAYS}  # type: ignore[attr-defined]
    function = library[name]
    function.restype = ctypes.c_int32
    words = [ctypes.c_void_p(array.ctypes.data) for array in arrays.values()]
    words += [_CTYPES[kind](given[key]) for key, kind in SCALARS.items()]
    value = function(*words)
    if int(run.value) != value:  # type: ignore[attr-defined]
        return f"returned {run.value}, native {value}"  # type: ignore[attr-defined]
    for key, array in arrays.items():
        found = run.arrays[key]  # type: ignore[attr-defined]
        wrong = (found != array) & ~((found != found) & (array != array))
        if wrong.any():
            k = int(np.flatnonzero(wrong)[0])
            return f"{key}[{k}] is {found[k]}, native {array[k]}"
    return ""
