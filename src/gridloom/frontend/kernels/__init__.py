"""Built-in kernels: parametric graphs with real semantics, each with a reference written without the op table."""

from __future__ import annotations

from gridloom.frontend.kernels.base import Expected, Kernel, from_spec, placed_nodes, result_streams
from gridloom.frontend.parameters import Parameter

__all__ = ["Expected", "Kernel", "Parameter", "from_spec", "placed_nodes", "result_streams"]
