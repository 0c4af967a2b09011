"""The MLIR front end: functions of a ``*.mlir`` file as LLVM IR, in the form in which C arrives.

``compile_to_ir(path)`` gives the optimised IR of a file; ``gridloom.compiler.c`` makes graphs of it. MLIR's own
Python bindings (of the PyPI package ``torch-mlir``) parse, check and lower the file in a process of its own;
``docs/mlir.md`` says what is taken.
"""

from __future__ import annotations

from gridloom.compiler.mlir.compile import compile_to_ir

__all__ = ["compile_to_ir"]
