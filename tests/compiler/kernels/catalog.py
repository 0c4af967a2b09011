"""The kernels as a table, for documentation.

``docs/kernels.md`` contains the table; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridloom import registry
from gridloom.compiler.kernels.base import Kernel, placed_nodes
from gridloom.dfg.recurrence import recurrence_mii


def kernels() -> Iterator[Kernel]:
    """Every built-in kernel, in registration order. Imports them all."""
    for name in registry.names("kernels"):
        if not registry.is_added("kernels", name):
            yield registry.load("kernels", name)


def markdown_table() -> str:
    """A Markdown table: name, what it computes, parameters, and the size of the graph that the defaults give.

    Nodes and edges leave out constants and live-ins, which are immediates. Builds every kernel once.
    """
    head = "| kernel | computes | parameters (default) | domain | nodes | edges | RecMII |"
    rows = [head, "|---|---|---|---|---|---|---|"]
    for kernel in kernels():
        dfg = kernel.build()
        parameters = "; ".join(f"`{name}` {p.allowed} ({p.default})" for name, p in kernel.parameters.items())
        edges = sum(not dfg.op(edge.source).timeless for edge in dfg.edges)
        sizes = (placed_nodes(dfg), edges, recurrence_mii(dfg))
        cells = (f"`{kernel.name}`", kernel.summary, parameters, dfg.domain, *sizes)
        rows.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"
