"""A graph as a BLIF netlist: one ``.subckt`` per node that needs a tile, with a net of the node's name for its value.

Values that need no tile (constants) and ordering edges are left out: they take no wire. A netlist knows no distances,
so that a loop-carried edge is a wire like any other.
"""

from __future__ import annotations

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.targets.grid.export.vpr.kinds import blocks


def netlist(dfg: Dfg, arch: Arch) -> str:
    """The text of a BLIF file; VPR has to be told not to sweep blocks whose value nobody reads."""
    kinds = blocks(dfg, arch)
    lines = [".model graph", ".inputs", ".outputs"]
    for node, kind in kinds.kind.items():
        sources = [dfg.edges[e].source for e in dfg.operand_edges(node)]
        operands = [source for source in sources if source in kinds.kind]
        pins = [f"in[{k}]={source}" for k, source in enumerate(operands)]
        lines.append(" ".join([".subckt", kind, *pins, f"out[0]={node}"]))
    return "\n".join([*lines, ".end", ""])
