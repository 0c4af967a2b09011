"""Calls a Python kernel on random data and runs its graph on the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gridloom.compiler.loops.operations import LiveIn, readable
from gridloom.compiler.loops.spec import Memory
from gridloom.compiler.python.computing import bits_of
from gridloom.compiler.python.kernel import PythonKernel
from gridloom.compiler.python.numbers import ArrayType, Type
from gridloom.compiler.python.trace import EXCERPT, Excerpt, TracedLinear
from gridloom.dfg.interpreter import Interpreter, Observation, Stimulus, Words
from gridloom.dfg.model import Dfg
from gridloom.errors import SimulationError
from gridloom.flow.source.arguments import KINDS, NumberSource
from gridloom.flow.source.comparison import MOST_ITERATIONS, MOST_OPERATIONS, SourceComparison


@dataclass(frozen=True, kw_only=True)
class KernelReference:
    """The kernel that a graph was traced from."""

    kernel: PythonKernel
    memory: Memory
    sizes: Mapping[str, int] = field(default_factory=dict)
    #: Iterations of the loop that one iteration of the graph does.
    copies: int = 1

    def unrolled(self, copies: int) -> KernelReference:
        """The reference of a graph of which one iteration does several of the loop's."""
        return replace(self, copies=copies)

    def compare(self, dfg: Dfg, seed: int) -> SourceComparison:
        """Call the kernel and run the graph on random data, and compare what they leave. Costs about 0.1 s."""
        nodes = max(len(dfg.nodes), 1)
        most = max(min(MOST_ITERATIONS, MOST_OPERATIONS // (2 * nodes)), 1) * self.copies
        interpreter = Interpreter(dfg)
        places = self.kernel.places(sizes=self.sizes) if self.memory == "streams" else {}
        runs, reason, left = 0, "", MOST_OPERATIONS
        for number, kind in enumerate(KINDS):
            given = self._draw(NumberSource(kind, np.random.default_rng([seed, number]), self._constants))
            called = _Call(self, given, Excerpt(most, self.copies))
            try:
                result = called.run()
            except Exception as error:  # What the kernel's own code raises: it does not take such data.
                reason = f"the kernel raises {type(error).__name__}: {error}"
                continue
            if not called.excerpt.iterations:
                reason = reason or "no random arguments led into the loop"
                continue
            try:
                called.check(interpreter, places, result)
            except SimulationError as error:
                return SourceComparison(findings=(str(error),), runs=runs + 1)
            runs, left = runs + 1, left - called.excerpt.iterations // self.copies * nodes
            if left <= 0:
                break
        return SourceComparison(runs=runs, reason="" if runs else reason)

    @property
    def _constants(self) -> list[int]:
        """The numbers that the kernel's code names, and their neighbours."""
        named = [n for n in self.kernel.function.__code__.co_consts if isinstance(n, int) and abs(n) < 1 << 32]
        return sorted({number + k for number in named for k in (-1, 0, 1)})

    def _draw(self, source: NumberSource) -> dict[str, Any]:
        """Random arguments of one kind: lists and numbers."""
        given: dict[str, Any] = {}
        for name, type_ in self.kernel.parameters.items():
            if isinstance(type_, ArrayType):
                length = self.sizes.get(name, type_.length)
                given[name] = _numbers(type_.element, length, source.kind.elements, source)
            else:
                (given[name],) = _numbers(type_, 1, source.kind.numbers, source)
        return given


@dataclass
class _Call:
    """One call of a kernel."""

    reference: KernelReference
    given: dict[str, Any]
    excerpt: Excerpt

    def run(self) -> Any:
        """Call the kernel on copies of the arrays, which are kept as ``left``; returns what it returns."""
        self.left = {name: list(value) if isinstance(value, list) else value for name, value in self.given.items()}
        token = EXCERPT.set(self.excerpt)
        try:
            return self.reference.kernel(**self.left)
        finally:
            EXCERPT.reset(token)

    def check(self, interpreter: Interpreter, places: Mapping[str, tuple[str, TracedLinear]], result: Any) -> None:
        """Run the graph. SimulationError for the first value that is not the kernel's."""
        dfg = interpreter.dfg
        iterations = self.excerpt.iterations // self.reference.copies
        before, after = self._words(self.given), self._words(self.left)
        liveins = {name: _word(value) for name, value in self.given.items() if not isinstance(value, list)}
        stimulus = Stimulus(iterations=iterations)
        for name, (array, index) in places.items():
            if not index.step:
                liveins[name] = before[array].get(_index(index, liveins, 0), 0)
        for node in dfg.nodes:
            if node.op == "input":
                words = self._stream(node.id, places, before, liveins, iterations)
                stimulus.streams[node.id] = np.array(words, dtype=np.int64)
        arrays = {} if places else {name: list(words.values()) for name, words in before.items()}
        memory = self.reference.memory
        sizes = self.reference.sizes
        stimulus.liveins = self.reference.kernel.start(liveins, arrays, memory=memory, sizes=sizes)
        stimulus.memory = {name: np.array(words, dtype=np.int64) for name, words in arrays.items()}
        found = interpreter.run(stimulus)
        self._compare(dfg, found, places, liveins, after, result)

    def _stream(
        self, node: str, places: Mapping[str, tuple[str, TracedLinear]], words: Mapping[str, dict[int, int]],
        liveins: Mapping[str, int], iterations: int,
    ) -> list[int]:  # fmt: skip
        """The words that a stream touches; copy j of an unrolled one is called ``stream@j``."""
        name, _, copy = (node, "", "0") if node in places else node.rpartition("@")
        array, index = places[name]
        turns = range(int(copy), iterations * self.reference.copies, self.reference.copies)
        return [words[array].get(_index(index, liveins, k), 0) for k in turns]

    def _words(self, arguments: Mapping[str, Any]) -> dict[str, dict[int, int]]:
        """Array -> index -> word."""
        rows = {name: value for name, value in arguments.items() if isinstance(value, list)}
        return {name: {k: _word(number) for k, number in enumerate(row)} for name, row in rows.items()}

    def _compare(
        self, dfg: Dfg, found: Observation, places: Mapping[str, tuple[str, TracedLinear]], liveins: Mapping[str, int],
        after: Mapping[str, dict[int, int]], result: Any,
    ) -> None:  # fmt: skip
        """SimulationError for the first word or live-out that differs."""
        where = f"kernel {self.reference.kernel.name}, {self.excerpt.iterations} iterations"
        for name, row in after.items() if not places else ():
            _compare_words(f"array {name}", found.memory[name], list(row.values()), where)
        for name, words in found.outputs.items():
            wanted = self._stream(name, places, after, liveins, found.iterations)
            _compare_words(f"output {name}", words, wanted, where)
        for name, value in _results(result).items():
            if name in found.liveouts:
                _compare_words(f"live-out {name}", np.array([found.liveouts[name]]), [_word(value)], where)


def _compare_words(what: str, found: Words, wanted: list[int], where: str) -> None:
    """SimulationError for the first word that is not the kernel's."""
    for k, (ours, theirs) in enumerate(zip(found.tolist(), wanted)):
        if ours != theirs:
            raise SimulationError(
                f"{what}, element {k}, is {ours} by the graph and {theirs} by the source", where=where
            )


def _index(index: TracedLinear, liveins: Mapping[str, int], iteration: int) -> int:
    """The number of the element that an access touches in an iteration."""
    fixed = sum(c * liveins[o.name] for o, c in index.terms if isinstance(o, LiveIn))
    return index.constant + index.step * iteration + fixed


def _results(result: Any) -> dict[str, Any]:
    """What a kernel returned, by the names of live-outs."""
    if result is None:
        return {}
    if isinstance(result, Mapping):
        return {readable(str(name)): value for name, value in result.items()}
    if isinstance(result, tuple | list):
        return {f"result_{k}": value for k, value in enumerate(result)}
    return {"result": result}


def _word(number: Any) -> int:
    """A number as a word: a float by its pattern."""
    return bits_of(number) if isinstance(number, float | np.floating) else int(number)


def _numbers(type_: Type, count: int, largest: int, source: NumberSource) -> list[Any]:
    """Random numbers of a type."""
    if type_.is_float:
        return list(source.rng.normal(0.0, 4.0, count).astype(np.float32))
    words = source.integers(type_.bits, count, largest).tolist()
    return [int(type_(word)) for word in words]
