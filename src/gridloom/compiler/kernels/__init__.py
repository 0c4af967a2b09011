"""Built-in kernels: parametric graphs with real semantics, each with a reference written without the op table."""

from __future__ import annotations

from gridloom.compiler.kernels.base import Kernel, KernelValues, from_spec, placed_nodes, result_streams
from gridloom.compiler.parameters import KernelParameter

__all__ = ["Kernel", "KernelParameter", "KernelValues", "from_spec", "placed_nodes", "result_streams"]
