"""Data that keep what a graph takes for granted: accesses without an order between them never touch the same word.

A graph with ``assumed`` rests on something that it does not show: arrays that do not overlap, iterations that a pragma
calls independent, a step that is not 0 because the loop ends. For data that break it the graph has no meaning.
:func:`find_meeting` runs a graph, notes which words each access touches in which iteration, and looks for two that
meet. Loads of element 0 that a select leads to are left out: that is where a load goes whose value nothing reads.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from gridloom.dfg.interpreter import Interpreter, Words
from gridloom.dfg.model import Dfg, Node

#: An access as it happens: node, iteration, word, whether it stores.
Touch = tuple[str, int, Hashable, bool]


#: What names the word of an access; None for one that does not count.
WordOf = Callable[[Interpreter, Node, int], Hashable | None]


@dataclass(frozen=True, slots=True)
class UnorderedMeeting:
    """Two accesses that touch one word, and the iterations in which they do."""

    first: str
    second: str
    iterations: tuple[int, int]


def recorder_of(kind: type[Interpreter], word_of: WordOf) -> type[Interpreter]:
    """An interpreter that notes accesses in ``touched``."""

    class Recorder(kind):  # type: ignore[misc, valid-type]
        def __init__(self, dfg: Dfg) -> None:
            super().__init__(dfg)
            self.touched: list[Touch] = []
            chosen = {node.id for node in dfg.nodes if node.op == "select"}
            self.speculative = {
                node.id for node in dfg.nodes
                if node.op == "load" and any(dfg.edges[k].source in chosen for k in dfg.operand_edges(node.id))
            }  # fmt: skip

        def note(self, node: Node, address: int, iteration: int, stores: bool) -> None:
            word = word_of(self, node, address)
            if word is not None:
                self.touched.append((node.id, iteration, word, stores))

        def _load(self, node: Node, address: int, iteration: int, memory: dict[str, Words]) -> int:
            if address or node.id not in self.speculative:
                self.note(node, address, iteration, False)
            return int(super()._load(node, address, iteration, memory))

        def _store(self, node: Node, address: int, value: int, iteration: int, memory: dict[str, Words]) -> None:
            super()._store(node, address, value, iteration, memory)
            self.note(node, address, iteration, True)

    return Recorder


def find_meeting(dfg: Dfg, touched: list[Touch]) -> UnorderedMeeting | None:
    """The first two accesses that touch one word, of which one stores, with no order between them; None for none.

    An order to an iteration is one to all later ones. Quadratic in the touches of a word.
    """
    ordered: dict[tuple[str, str], int] = {}
    for edge in dfg.edges:
        if edge.kind == "order":
            key = edge.source, edge.target
            ordered[key] = min(edge.distance, ordered.get(key, edge.distance))
    rows: dict[Hashable, list[tuple[str, int, bool]]] = {}
    found: UnorderedMeeting | None = None
    for node, iteration, word, stores in touched:
        if found is not None and iteration > found.iterations[1]:
            break
        row = rows.setdefault(word, [])
        for other, earlier, stored in row:
            if not (stores or stored) or other == node:
                continue
            kept = ordered.get((other, node), iteration - earlier + 1) <= iteration - earlier
            kept |= iteration == earlier and ordered.get((node, other), 1) == 0
            if not kept and (found is None or iteration < found.iterations[1]):
                found = UnorderedMeeting(other, node, (earlier, iteration))
        row.append((node, iteration, stores))
    return found
