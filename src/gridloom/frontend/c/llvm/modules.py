"""A source file as a module of IR records, whatever language it is written in: C by clang, MLIR by its own passes."""

from __future__ import annotations

from pathlib import Path

from gridloom.errors import SourceError
from gridloom.frontend.c.llvm.driver import compile_to_ir
from gridloom.frontend.c.llvm.ir import IrModule
from gridloom.frontend.c.llvm.reader import read_module


def module_of(path: Path, function: str | None = None, *, singles: bool = False) -> IrModule:
    """The records of a ``.c`` or ``.mlir`` file, as clang leaves them after optimisation.

    ``function`` and ``singles`` are for MLIR: only that function and its callees have to be taken, and every f64 is
    read as f32. SourceError where a file does not compile or its named function is refused. Costs 0.1 to 0.8 s.
    """
    if path.suffix == ".mlir":
        from gridloom.frontend.mlir import compile_to_ir as lower

        return read_module(lower(path, function=function, singles=singles), str(path))
    if singles:
        raise SourceError("f64=f32 is for MLIR; in C, write float for double", where=str(path))
    return read_module(compile_to_ir(path), str(path))
