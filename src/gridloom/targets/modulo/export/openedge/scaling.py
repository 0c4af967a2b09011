"""Which nodes of a graph are addresses on the machine, and what immediates its instructions have.

A node from which a load or a store takes its index is the address of a word: 4 times the index, and where the array
begins. What such a sum adds is an offset: 4 times a number of words. All other nodes are values as the graph has them.
"""

from __future__ import annotations

from typing import Final

from gridloom.dfg.model import Dfg
from gridloom.errors import MappingError

#: Bytes of a word, and its logarithm.
BYTES: Final = 4
_SHIFT: Final = 2
#: The role of a node that is a distance in bytes; that of an address is the array's name, after a mark.
OFFSET: Final = "offset"
_ADDRESS: Final = "&"


class Scaling:
    """The role of each node: an address in an array, an offset, or (none) a value.

    MappingError where a node has two roles, or an op of the graph cannot be computed in its role.
    """

    def __init__(self, dfg: Dfg) -> None:
        self.dfg = dfg
        self.roles: dict[str, str] = {}
        for node in dfg.nodes:
            if node.op in ("load", "store"):
                self._ask(dfg.edges[dfg.operand_edges(node.id)[0]].source, f"{_ADDRESS}{node.array}")

    def array_of(self, node: str) -> str | None:
        """The array that a node is an address in."""
        role = self.roles.get(node, "")
        return role[len(_ADDRESS) :] if role.startswith(_ADDRESS) else None

    def factor_of(self, node: str) -> int:
        """How many times a number of the graph a node's value is on the machine."""
        return BYTES if node in self.roles else 1

    def immediate(self, node: str, operand: int, value: int) -> int:
        """The immediate that stands for a constant at an operand of a node."""
        role = self.roles.get(node)
        if role == OFFSET and operand == 1:
            return value + _SHIFT
        return BYTES * value if role is not None and operand == 1 else value

    def _ask(self, node: str, role: str) -> None:
        """Note the role of a node and of what it is computed from."""
        known = self.roles.get(node)
        op = self.dfg.node(node).op
        if known == role or (op == "const" and role == OFFSET and self.dfg.op_class(node) == "const"):
            return
        if known is not None:
            raise MappingError(f"node {node!r} is both {known} and {role}; map the loop again from its source")
        self.roles[node] = role
        operands = [self.dfg.edges[e].source for e in self.dfg.operand_edges(node)]
        if op in ("add", "move") and role != OFFSET:
            self._ask(operands[0], role)
            if op == "add":
                self._ask(operands[1], OFFSET)
        elif op != "const" and (op, role) != ("shl", OFFSET):
            raise MappingError(f"node {node!r} ({op}) is an index; map the loop again from its source")
