"""What ``legal`` returns: a broken rule as a value, and the catalogue of the rules.

Violations are data, not exceptions: a mapping may break many rules, and a report, a test or a search wants all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

#: kind -> what it means. ``docs/verify.md`` lists the same kinds; a test keeps the two equal.
KINDS: Final[Mapping[str, str]] = {
    # the whole mapping
    "ii": "the II is below 1, is not 1 on a static or elastic array, or is too large to unroll",
    "contexts": "the II needs more slots than the context memory of a used tile has",
    "settings": "a setting that the array does not have, or a value that it cannot take",
    "unknown-rule": "the array names a rule that this checker does not know",
    # instances
    "unknown-node": "an instance of a node that the graph does not have",
    "unplaced": "a node that needs a tile has no instance",
    "free-node": "an instance of a node that needs no tile on this array",
    "copies": "the copies of a node are not numbered 0, 1, ... once each",
    "single-copy": "a node with a side effect, or any node on an elastic array, has more than one instance",
    "unknown-place": "an instance on a tile or resource that the array does not have",
    "op-class": "the place cannot run the node's op class",
    "rotating-live-in": "a live-in sits in a register that rotates",
    "negative-cycle": "an issue or a hop lies before cycle 0",
    "inputs-aligned": "an input of an array with aligned inputs does not issue at cycle 0",
    # routes
    "unknown-edge": "a route of an edge that the graph does not have",
    "unknown-copy": "a route names a copy of its source or target that is not placed",
    "unknown-resource": "a hop through a resource that the array does not have",
    "missing-route": "a data edge into a copy of its target has no route",
    "extra-route": "a second route for the same edge and copy, or one for an edge that takes no route",
    "route-start": "the first hop is not reached from where the value is made or kept",
    "route-step": "two consecutive hops without an arc between them",
    "route-time": "a hop's cycle is not that of the hop before plus the latency in between",
    "route-end": "the last hop is not the operand input that the edge belongs to",
    # time
    "timing": "arrival + FIFO differs from the consumer's issue + II * distance",
    "fifo": "the wait at an operand is negative or longer than its FIFO",
    "delays": "waiting operands need more delay registers than the tile has",
    "order": "an ordered pair of nodes issues too close together",
    "pair-time": "the ends of a pair edge do not issue at its exact offset",
    "pair-place": "the ends of a pair edge share neither a tile nor a pool",
    # resources
    "conflict": "a resource carries more signals in a slot than it can",
    "occupancy": "an op issues while its tile's unit is busy with another one, or with itself",
    "pool": "more ops of a shared capacity in a slot than it allows",
    "data-memory": "arrays and spilled values need more data memory than there is",
    "bank": "an access to an array without a bank, or from a tile that does not reach it",
    "bank-size": "the arrays in a bank need more bytes than it has",
    "bank-ports": "more accesses start in a bank in a slot than it has ports",
    "constants": "the ops of a tile read more words than its constant store has",
    "links-per-cycle": "a value crosses more links in one cycle than the array allows",
    "combinational-cycle": "steps without latency close a cycle",
    # rules of single families
    "outputs-together": "the outputs do not all issue in the last pipeline stage",
    "constant-range": "a constant does not fit a constant register",
    "tile-memory-shared": "nodes that share a tile-memory variable sit on different tiles",
    "tile-memory-size": "a tile's nodes need more tile-memory variables than it holds",
    "flow-starts-apart": "two nodes that start a synchronous flow share a tile",
    "instruction-ram": "the ops of a tile need more entries than its instruction RAM has",
    "siblings-apart": "two nodes with a common predecessor share a tile",
    # elastic arrays
    "route-circle": "a route comes back to a unit or switch that it has left",
    "packet": "a packet that the buffers of switches or of a DRAM interface cannot hold",
    "turns": "links whose packets may wait for each other's buffers in a circle",
    "rates": "token rates that no repetition balances, or whose repetition is too long to check",
    "deadlock": "a buffer that stays full and one that stays empty stop the graph for ever",
    # programs of several flows
    "tile-shared": "a tile, a link of it or a base tile that two flows of a program use",
    "flow-tiles": "a flow beyond the tiles that it names, or beyond the array",
    "flow-array": "a flow mapped onto another array than the program's",
}


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: which, where, what the mapping demands, what graph and array allow.

    ``kind`` is a key of ``KINDS``; tests and filters use it. The other three are words for people.

    >>> print(Violation("fifo", "edge 2 (a -> b)", "FIFO 5", "0 to 4 on pe_0_1"))
    fifo at edge 2 (a -> b): found FIFO 5; allowed: 0 to 4 on pe_0_1
    """

    kind: str
    where: str
    demanded: str
    allowed: str

    def __str__(self) -> str:
        return f"{self.kind} at {self.where}: found {self.demanded}; allowed: {self.allowed}"
