"""Runs a graph on windows of one memory without an array, and checks what the source only promises.

A loop may rest on promises (:mod:`gridloom.sim.promises`). :func:`check_assertions` interprets a launch and looks for
two accesses that meet without an order between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gridloom.compiler.c.c_loop import CLoop
from gridloom.dfg.interpreter import Interpreter, OutOfBounds, Stimulus, Words
from gridloom.dfg.model import Dfg, Node
from gridloom.errors import SimulationError
from gridloom.sim.promises import find_meeting, recorder_of
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


class BrokenAssertion(SimulationError):
    """Data are not what the source or the user promises of them."""


def _window_word(interpreter: Interpreter, node: Node, address: int) -> int | None:
    """The number of a word in the memory that the windows are of."""
    assert isinstance(interpreter, WindowInterpreter)
    window = interpreter.windows[node.array or ""]
    return window.base + address if window.low <= address < window.high else None


_Recorder = recorder_of(WindowInterpreter, _window_word)


def check_assertions(
    graph: CLoop, stimulus: Stimulus, windows: Mapping[str, ArrayWindow], memory: Words, where: str
) -> None:
    """BrokenAssertion where two accesses of a launch meet that nothing of the graph keeps in order.

    Does nothing for a graph that takes nothing for granted. Costs an interpretation of the launch.
    """
    if not graph.dfg.assumed:
        return
    recorder: Any = _Recorder(graph.dfg)
    recorder.run_on(stimulus, windows, memory)
    met = find_meeting(graph.dfg, recorder.touched)
    if met is not None:
        array = graph.dfg.node(met.second).array
        raise BrokenAssertion(
            f"{met.first} in iteration {met.iterations[0]} and {met.second} in iteration {met.iterations[1]} touch the "
            f"same element of {array}, but {'; '.join(graph.dfg.assumed)}",
            where=where,
        )
