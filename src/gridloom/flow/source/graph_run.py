"""Runs a graph by the reference interpreter on memory that somebody else laid out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridloom.dfg.interpreter import Interpreter, OutOfBounds, Stimulus, Words
from gridloom.dfg.model import Dfg, Node
from gridloom.sim.windows import ArrayWindow, WindowRun

#: What a load brings whose index is outside its window; nothing may depend on it.
_ANYTHING = 0x5EED_5EED


class WindowInterpreter(Interpreter):
    """The interpreter with arrays that are windows of one memory, as :mod:`gridloom.sim.windows` has them."""

    def __init__(self, dfg: Dfg) -> None:
        super().__init__(dfg)
        self.windows: Mapping[str, ArrayWindow] = {}
        self.words = np.zeros(0, dtype=np.int64)

    def run_on(self, stimulus: Stimulus, windows: Mapping[str, ArrayWindow], memory: Words) -> WindowRun:
        """Run the graph; the memory given is not changed. SimulationError for a store outside its window."""
        self.windows, self.words = windows, memory.copy()
        seen = self.run(stimulus)
        return WindowRun(liveouts=seen.liveouts, memory=self.words, cycles=0, trap=None)

    def _load(self, node: Node, address: int, iteration: int, memory: dict[str, Words]) -> int:
        window = self.windows[node.array or ""]
        return int(self.words[window.base + address]) if window.low <= address < window.high else _ANYTHING

    def _store(self, node: Node, address: int, value: int, iteration: int, memory: dict[str, Words]) -> None:
        window = self.windows[node.array or ""]
        if not window.low <= address < window.high:
            raise OutOfBounds(
                f"iteration {iteration}: node {node.id!r} stores to {node.array}[{address}], outside of its object",
                where=f"graph {self.dfg.name!r}", iteration=iteration,
            )  # fmt: skip
        self.words[window.base + address] = value
