"""Built-in kernels: parametric graphs with real semantics, each with a reference written without the op table."""

from __future__ import annotations

from gridloom.frontend.kernels.base import Expected, Kernel, Parameter, from_spec, placed_nodes, result_streams

__all__ = ["Expected", "Kernel", "Parameter", "from_spec", "placed_nodes", "result_streams"]
