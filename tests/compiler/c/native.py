"""Compares a loop's graph with the function compiled for this machine: same data, same memory, same result."""

from __future__ import annotations

import ctypes
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from tests.compiler.c.ir_machine import Machine, Memory, pattern, wrap

from gridloom.compiler.c.c_loop import CLoop
from gridloom.compiler.c.frontend import COptions, pick
from gridloom.compiler.ir.driver import SEMANTICS, compile_to_ir, find_compiler, run_compiler
from gridloom.compiler.ir.ir import IrModule
from gridloom.compiler.ir.reader import read_module

_CTYPES = {"i32": ctypes.c_int32, "i16": ctypes.c_int16, "i8": ctypes.c_int8, "float": ctypes.c_float,
           "i1": ctypes.c_bool, "i64": ctypes.c_int64}  # fmt: skip


@cache
def native_library(*paths: Path) -> ctypes.CDLL:
    """The files as one shared library; it stays loaded, its folder goes."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "native.so"
        # zig compiles C's start-up code before its first link, which takes half a minute.
        kept = Path(tempfile.gettempdir()) / "gridloom-test-zig-cache"
        words = [*find_compiler().command, *SEMANTICS, "-O1", "-w", "-shared", "-fPIC", "-o", str(library)]
        message = run_compiler([*words, *(str(path.resolve()) for path in paths)], Path(folder), paths[0], 120.0, kept)
        assert library.is_file(), message
        return ctypes.CDLL(str(library))


@cache
def compiled(path: Path) -> IrModule:
    """The file's IR, compiled once."""
    return read_module(compile_to_ir(path), str(path))


def graph_of(path: Path, options: COptions, arguments: dict[str, object]) -> CLoop:
    """The loop, with arrays as long as the data."""
    module = compiled(path)
    first = pick(module, path, options)
    sizes = {}
    for array in first.arrays:
        data = arguments.get(array.base)
        if isinstance(data, np.ndarray):
            sizes[array.name] = max((data.nbytes - array.offset - array.size) // array.stride + 1, 1)
    return pick(module, path, options, sizes=sizes)


def run_both(path: Path, options: COptions, arguments: dict[str, object], library=None, observe=None) -> Machine:
    """Run native code and graph on copies of the same arguments and assert that they agree; returns the machine."""
    loop = graph_of(path, options, arguments)
    library = library or native_library(path)
    here = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
    expected = _call(library, loop, here)
    objects = {name: bytearray(v.tobytes()) for name, v in arguments.items() if isinstance(v, np.ndarray)}
    machine = Machine(
        loop.module, loop.region.loop.function, Memory(objects), loop, copies=options.unroll, observe=observe
    )
    found = machine.run({name: _argument(name, value) for name, value in arguments.items()})
    for name, value in here.items():
        if isinstance(value, np.ndarray):
            got = np.frombuffer(bytes(objects[name]), value.dtype).reshape(value.shape)
            np.testing.assert_array_equal(got, value, err_msg=f"array {name}")
    assert found == expected, f"returned {found}, native {expected}"
    return machine


def _argument(name: str, value: object) -> object:
    if isinstance(value, np.ndarray):
        return (name, 0)
    return pattern(value) if isinstance(value, float) else wrap(int(value), 64 if isinstance(value, np.int64) else 32)


def _call(library: ctypes.CDLL, loop: CLoop, arguments: dict[str, object]) -> int | None:
    function = library[loop.function]
    given = []
    for argument in loop.region.loop.function.arguments:
        value = arguments[argument.name]
        given.append(value.ctypes.data_as(ctypes.c_void_p) if isinstance(value, np.ndarray)
                     else _CTYPES[argument.type](value))  # fmt: skip
    kind = next((i.operands[0].type for b in loop.region.loop.function.blocks.values() for i in b.instructions
                 if i.opcode == "ret" and i.operands), None)  # fmt: skip
    function.restype = _CTYPES[kind] if kind else None
    result = function(*given)
    if kind is None:
        return None
    return pattern(result) if kind == "float" else int(result)
