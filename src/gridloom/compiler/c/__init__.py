"""The C front end: a loop of a C file as a Dfg.

    loop = load(Path("fir.c"), function="fir")
    loop.dfg, loop.arrays, loop.liveins, loop.advice()

clang (of the PyPI package ``ziglang``) compiles the file to LLVM IR, llvmlite reads it; loops, predication, memory
dependences and the graph are made here. ``docs/c-frontend.md`` says what is taken and how a limit is reported.
"""

from __future__ import annotations

from gridloom.compiler.c.arrays import CArray
from gridloom.compiler.c.c_loop import CLoop
from gridloom.compiler.c.frontend import (
    COptions,
    LoopReport,
    compile_file,
    describe,
    load,
    parse_spec,
    pick,
    read,
    read_spec,
)

__all__ = [
    "CArray",
    "CLoop",
    "COptions",
    "LoopReport",
    "compile_file",
    "describe",
    "load",
    "parse_spec",
    "pick",
    "read",
    "read_spec",
]
