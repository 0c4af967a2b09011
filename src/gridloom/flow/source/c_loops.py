"""Runs a function of C or MLIR from its IR and, wherever the mapped loop begins, its graph on the same values.

The host interpreter runs the whole function on random arguments. At each entry into the loop the live-ins and the
words of its arrays are taken; the graph runs on them for as many iterations as the loop did, and its live-outs, memory
and streams must be what the IR left. A long run of the loop is left early, on both sides after the same iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from gridloom.compiler.analysis.loops import find_loops
from gridloom.compiler.c.c_loop import CLoop
from gridloom.compiler.c.function.host import Host
from gridloom.compiler.c.function.host_code import LoopVariant, Mark, host_code
from gridloom.compiler.c.function.memory import Memory
from gridloom.compiler.c.function.program import LoopPlan, reached_functions
from gridloom.compiler.c.nest.interchange import interchange_nest
from gridloom.compiler.c.region import leaves_early
from gridloom.compiler.ir.ir import Constant, Function, Instruction, IrModule, Value
from gridloom.dfg.interpreter import Interpreter, Stimulus, Words
from gridloom.dfg.model import Dfg
from gridloom.errors import SimulationError, SourceError
from gridloom.flow.functions.launching.interpreting import BrokenAssertion, WindowInterpreter
from gridloom.flow.functions.launching.launches import (
    Binding,
    Launch,
    bind,
    compare_liveouts,
    graph_iterations,
    simulate_interchanged_nest,
    simulate_jam,
    simulate_launch,
    word_of,
)
from gridloom.flow.source.arguments import draw
from gridloom.flow.source.comparison import MOST_ITERATIONS, MOST_OPERATIONS, SourceComparison

#: Visits of one block that a run may take.
_LIMIT: Final = 10_000
#: Visits of all blocks after which no further kind of data is tried; four times as many where nothing was compared yet.
_VISITS: Final = 20_000
#: What streams bring in an iteration in which the loop does not touch their element.
_UNTOUCHED: Final = 77
#: Entries after which no further kind of data is tried.
_RUNS: Final = 12
#: Entries into the loop that are compared in each run before others are left out.
_FIRST: Final = 4
#: The inner loop of a nest among the loops that generated code reports.
_INNER: Final = LoopVariant(0, "inner")
_SIDES: Final = ("by the graph", "by the source")


class _Enough(Exception):
    """As much was compared as a comparison takes."""


@dataclass(frozen=True, kw_only=True)
class CReference:
    """The loop of a C or MLIR file that a graph was made of."""

    #: The loop; ``plan.graph`` says what the names of the graph mean, also where the graph itself is a changed one.
    plan: LoopPlan
    module: IrModule = field(repr=False)
    file: str
    #: Iterations of the loop that one iteration of the graph does, one after the other.
    copies: int = 1

    def compare(self, dfg: Dfg, seed: int) -> SourceComparison:
        """Run the function and the graph on random data and compare what the loop leaves. Costs about 0.1 s."""
        assert self.plan.graph is not None
        plan = replace(self.plan, graph=replace(self.plan.graph, dfg=dfg))
        try:
            return self._compared(plan, seed)
        except SourceError as error:
            return SourceComparison(reason=error.message)

    def unrolled(self, copies: int) -> CReference:
        """The reference of a graph of which one iteration does several of the loop's."""
        return replace(self, copies=copies)

    def _compared(self, plan: LoopPlan, seed: int) -> SourceComparison:
        """Run the function on several kinds of data until enough was compared."""
        entry = _entry(self.module, plan.loop.function)
        functions = reached_functions(self.module, entry.name)
        watch = _watch(plan, self.copies)
        if watch.accesses and plan.interchange is not None:
            raise SourceError("the loops are exchanged, and a launch of the graph takes streams")
        _refuse_copies(plan.loop.function, watch.marks)
        host = Host(self.module, host_code(self.module, functions, watch.marks, self.file), self.file)
        watch.blocks = {name: host.code.block_number(plan.loop.function, name) for name in plan.loop.blocks}
        visited = 0
        for memory, arguments in draw(host, entry, _extents(plan), seed):
            watch.begin(memory)
            try:
                host.run(memory, entry, arguments, watch.hooks(), _LIMIT, watch.counts)
            except _Enough:
                break
            except BrokenAssertion as error:
                # Random data need not be what the source promises.
                watch.reason = error.message
            except SimulationError as error:
                watch.findings.append(str(error))
                break
            except SourceError as error:
                watch.reason = error.message
            visited += sum(watch.counts)
            if watch.runs >= _RUNS or visited > (_VISITS if watch.runs else 4 * _VISITS):
                break
        runs = watch.runs
        reason = "" if runs else watch.reason or "no random arguments led into the loop"
        return SourceComparison(findings=tuple(watch.findings), runs=runs, reason=reason)


def _entry(module: IrModule, function: Function) -> Function:
    """The function to call: the loop's own, or for one that only the file calls, a caller from outside of it."""
    seen = {function.name}
    while function.internal:
        callers = (
            other for other in module.functions.values() if other.name not in seen
            for block in other.blocks.values() if any(item.callee == function.name for item in block.instructions)
        )  # fmt: skip
        above = next(callers, None)
        if above is None:
            break
        function = above
        seen.add(function.name)
    return function


def _extents(plan: LoopPlan) -> dict[str, int]:
    """Parameter -> the bytes that the loop accesses behind it, as far as the front end knows."""
    assert plan.graph is not None
    found: dict[str, int] = {}
    for array in plan.graph.arrays:
        name = plan.graph.bases[array.name].name
        found[name] = max(found.get(name, 0), array.offset + array.length * array.stride)
    return found


def _refuse_copies(function: Function, marks: Sequence[Mark]) -> None:
    """SourceError for a value that a rewritten loop has and the function has not."""
    own = {id(item) for block in function.blocks.values() for item in block.instructions}
    for value in (value for mark in marks for value in (*mark.given, *mark.left)):
        if isinstance(value, Instruction) and id(value) not in own:
            raise SourceError(f"the exchanged loop starts from {value.name}, which the function does not have")


def _watch(plan: LoopPlan, copies: int) -> _Watch:
    """What follows a loop of the plan's kind."""
    kind = _ExchangedWatch if plan.interchange is not None else _JamWatch if plan.jam > 1 else _Watch
    return kind(plan, copies)


class _Watch:
    """Follows runs of the host: takes what a loop starts from, and compares what it leaves."""

    def __init__(self, plan: LoopPlan, copies: int) -> None:
        assert plan.graph is not None
        self.plan, self.graph, self.copies = plan, plan.graph, copies
        nodes = max(len(self.graph.dfg.nodes), 1)
        self.interpreter = WindowInterpreter(self.graph.dfg)
        most = min(MOST_ITERATIONS, self.graph.dfg.trip_count or MOST_ITERATIONS, MOST_OPERATIONS // (2 * nodes))
        #: Iterations of the loop after which it is left.
        self.most = max(most, 1) * copies if copies > 1 else max(most, 2)
        self.left_to_run = max(MOST_OPERATIONS // nodes, 2)
        self.memory: Memory = Memory({})
        self.counts: list[int] = []
        self.blocks: dict[str, int] = {}
        self.runs = 0
        self.findings: list[str] = []
        self.reason = ""
        self.launch: Launch | None = None
        #: Iterations, values and words as they were when a whole number of the graph's iterations was done last.
        self.snapshot: tuple[int, Sequence[Any], Words] | None = None
        #: Access -> iteration -> what stood there before the loop, and what it stored.
        self.seen: dict[int, dict[int, tuple[int, int]]] = {}
        #: How often the loop was entered in this run, and whether this time is compared.
        self.entered, self.follows = 0, False
        #: How often the inner loop of a nest was entered.
        self.entries = 0
        inside = [value for value in self.graph.liveins.values() if self._is_read_inside(value)]
        #: The accesses that the graph has as streams, or as live-ins.
        self.accesses: list[Any] = list(dict.fromkeys([*self.graph.streams.values(), *inside]))

    def _is_read_inside(self, value: Value) -> bool:
        """True for a live-in that the loop itself loads: one element of a stream that never moves."""
        return isinstance(value, Instruction) and value.opcode == "load" and self.graph.region.contains(value)

    @property
    def marks(self) -> list[Mark]:
        """The loop as the host's code tells about it."""
        given = [Constant(v.type, 0) if self._is_read_inside(v) else v for v in self.plan.given]
        own = Mark(self.plan.variant, self.plan.loop, given, self.plan.left, True, self.accesses)
        inner = self.graph.region.inner
        return [own] if inner is None else [own, Mark(_INNER, inner, (), ())]

    def hooks(self) -> dict[str, Callable[..., Any]]:
        """What the host's code calls."""
        k, inner = self.plan.variant.label, _INNER.label
        return {
            f"ENTER_{k}": self.enter, f"TEST_{k}": self.test, f"SEE_{k}": self.see, f"LEAVE_{k}": self.leave,
            f"ENTER_{inner}": self.enter_inner, f"LEAVE_{inner}": lambda way, left: None,
        }  # fmt: skip

    def enter(self, values: Sequence[Any]) -> None:
        """Take what the loop starts from."""
        liveins: dict[str, int] = {}
        for (name, value), number in zip(self.graph.liveins.items(), values):
            liveins |= self.graph.words_of(name, word_of(value, number))
        binding, before = Binding(), None
        if wanted := self.is_wanted():
            if not self.accesses:
                binding = bind(self.graph, values[len(self.graph.liveins) :], self.memory)
            before = binding.image(self.memory)
        self.entered += 1
        self.launch = Launch(binding, liveins, (), before, [self.counts[k] for k in self.blocks.values()], sides=_SIDES)
        self.snapshot, self.seen, self.entries, self.follows = None, {}, 0, wanted

    def begin(self, memory: Memory) -> None:
        """Begin a run of the function on a memory."""
        self.memory, self.entered = memory, 0

    def is_wanted(self) -> bool:
        """Whether an entry into the loop is compared: the first few of a run, then those that are powers of two."""
        return self.entered < _FIRST or self.entered & (self.entered - 1) == 0

    def enter_inner(self, values: Sequence[Any]) -> None:
        """Count an entry into the inner loop of a nest."""
        self.entries += 1

    def done(self) -> int:
        """Iterations since the loop was entered, as the graph counts them."""
        region, visits = self.graph.region, self.visits()
        if region.inner is None:
            return graph_iterations(self.plan, visits)
        return visits[region.loop.header] - leaves_early(region) + visits[region.inner.header] - self.entries

    def visits(self) -> dict[str, int]:
        """How often each block of the loop ran since it was entered."""
        assert self.launch is not None
        numbers = zip(self.blocks.items(), self.launch.counts)
        return {name: self.counts[number] - before for (name, number), before in numbers}

    def test(self, left: Sequence[Any]) -> bool:
        """Whether to leave the loop, after as many iterations as are compared."""
        assert self.launch is not None
        done = self.done()
        if self.follows and self.copies > 1 and done > 0 and done % self.copies == 0:
            self.snapshot = done, left, self.launch.binding.image(self.memory)
        return done >= self.most

    def see(self, access: int, address: int, value: Any) -> None:
        """Note what an access of a stream found and what it leaves."""
        if not self.follows:
            return
        item = self.accesses[access]
        kind = item.type if item.opcode == "load" else item.operands[0].type
        iteration = self.visits()[self.plan.loop.header] - 1
        stored = {"i1": "i8"}.get(kind, kind)
        before = self.memory.load(address, stored, item.line) if item.opcode == "store" else value
        row = self.seen.setdefault(access, {})
        row[iteration] = (_word(kind, row[iteration][0] if iteration in row else before), _word(kind, value))

    def leave(self, way: int, left: Sequence[Any]) -> None:
        """Compare what the loop leaves. SimulationError where the graph leaves something else."""
        launch = self.launch
        if launch is None or not self.follows:
            return
        done = self.done()
        after = launch.binding.image(self.memory)
        if done % self.copies:
            if self.snapshot is None:
                return
            done, left, after = self.snapshot
        if launch.binding.refused:
            self.reason = launch.binding.refused
        elif done > 0:
            self.compare(launch, done // self.copies, left, after)
            self.count(done // self.copies)

    def compare(self, launch: Launch, iterations: int, left: Sequence[Any], after: Words) -> None:
        """Run the graph and compare it."""
        if self.accesses:
            self._compare_streams(launch, iterations, left)
        else:
            simulate_launch(self.plan, self.interpreter.run_on, launch, iterations, after, left)

    def count(self, iterations: int) -> None:
        """Note that so many iterations of the graph were compared; ends the run when they are enough."""
        self.runs += 1
        self.left_to_run -= iterations
        if self.left_to_run <= 0:
            raise _Enough

    # -- streams ----------------------------------------------------------------------------------------------------

    def _compare_streams(self, launch: Launch, iterations: int, left: Sequence[Any]) -> None:
        """Feed the graph what the loop's loads found and compare what it puts out with what the loop stored."""
        graph, where = self.graph, f"loop {self.plan.name}, {iterations} iterations"
        number = {item: k for k, item in enumerate(self.accesses)}
        stimulus = Stimulus(iterations=iterations)
        for name, item in graph.streams.items():
            node = graph.dfg.node(name)
            if node.op in ("input", "load"):
                words = self._stream(number[item], name, iterations)
                _feed(stimulus, graph.dfg, name, words)
        liveins = dict(launch.liveins)
        for name, value in graph.liveins.items():
            if self._is_read_inside(value):
                row = self.seen.get(number[value], {})
                found_word = next(iter(row.values()), (_UNTOUCHED, 0))[0]
                # A narrow element has the sign that its array has.
                unsigned = graph.dfg.ranges.get(name, (-1, 0))[0] >= 0 and value.type.startswith("i")
                liveins[name] = found_word & ((1 << int(value.type[1:])) - 1) if unsigned else found_word
        stimulus.liveins = graph.start(liveins, {})
        found = Interpreter(graph.dfg).run(stimulus)
        for name, item in graph.streams.items():
            node = graph.dfg.node(name)
            if node.op in ("output", "store"):
                words = found.outputs[name] if node.op == "output" else found.memory[node.array or ""]
                self._compare_output(name, item, words[:iterations], self.seen.get(number[item], {}), where)
        compare_liveouts(graph, launch, found.liveouts, left, where)

    def _stream(self, access: int, name: str, iterations: int) -> Words:
        """What a stream brings: what stood at the places that the loop touches, and a known word at others."""
        array = next(item for item in self.graph.arrays if name.startswith(f"{item.name}_in"))
        mask = -1 if array.signed or array.size == 4 else (1 << (8 * array.size)) - 1
        row = self.seen.get(access, {})
        words = [row[k][0] & mask if k in row else _UNTOUCHED for k in range(iterations)]
        return np.array(words, dtype=np.int64)

    def _compare_output(
        self, name: str, item: Instruction, words: Words, row: Mapping[int, tuple[int, int]], where: str
    ) -> None:
        """SimulationError for the first word of an output that is not what the loop stored there."""
        kind = item.operands[0].type
        mask = (1 << (8 if kind == "i1" else 32 if kind == "float" else int(kind[1:]))) - 1
        for k, word in enumerate(words.tolist()):
            wanted = row[k][1] if k in row else _UNTOUCHED
            both_nan = kind == "float" and all((w & 0x7FFFFFFF) > 0x7F800000 for w in (word, wanted))
            if (word ^ wanted) & mask and not both_nan:
                ours, theirs = _SIDES
                raise SimulationError(
                    f"output {name} of iteration {k} is {word} {ours} and {wanted} {theirs}", where=where
                )


class _JamWatch(_Watch):
    """Follows a loop of which several launches run side by side: one for each of some iterations of the loop around."""

    def __init__(self, plan: LoopPlan, copies: int) -> None:
        super().__init__(plan, copies)
        self.first: Launch | None = None
        self.group: list[tuple[int, Sequence[Any]]] = []

    @property
    def marks(self) -> list[Mark]:
        outer, own = self.plan.marks
        return [outer, replace(own, watched=True)]

    def hooks(self) -> dict[str, Callable[..., Any]]:
        outer = self.plan.outer_variant.label
        return {
            **super().hooks(), f"ENTER_{outer}": lambda values: self.group.clear(),
            f"LEAVE_{outer}": lambda way, values: None,
        }  # fmt: skip

    def enter(self, values: Sequence[Any]) -> None:
        super().enter(values)
        if not self.group:
            self.first = self.launch

    def is_wanted(self) -> bool:
        return not self.group and super().is_wanted()

    def leave(self, way: int, left: Sequence[Any]) -> None:
        self.group.append((self.done(), left))
        if len(self.group) < self.plan.jam:
            return
        iterations = {done for done, _ in self.group}
        values = [row for _, row in self.group]
        self.group.clear()
        if self.first is None or self.first.before is None:
            return
        if self.first.binding.refused:
            self.reason = self.first.binding.refused
        elif len(iterations) == 1 and iterations != {0}:
            done = iterations.pop()
            simulate_jam(self.plan, self.interpreter.run_on, self.first, done, values)
            self.count(done)


class _ExchangedWatch(_Watch):
    """Follows a nest whose loops are exchanged: the graph runs once for each iteration of the inner loop."""

    @property
    def marks(self) -> list[Mark]:
        return [self.plan.mark]

    def leave(self, way: int, left: Sequence[Any]) -> None:
        if self.launch is None or not self.follows:
            return
        visits = self.visits()
        length, total = visits[self.plan.loop.header], visits[self.plan.loop.children[0].header]
        if not total or length % self.copies:
            return
        if self.launch.binding.refused:
            self.reason = self.launch.binding.refused
            return
        if total > 2 * MOST_OPERATIONS // max(len(self.graph.dfg.nodes), 1):
            self.reason = f"the nest runs {total} iterations"
            return
        after = self.launch.binding.image(self.memory)
        lengths = (length // self.copies, total // length)
        simulate_interchanged_nest(self.plan, self.interpreter.run_on, self.launch, lengths, after)
        self.count(total // self.copies)


def _feed(stimulus: Stimulus, dfg: Dfg, name: str, words: Words) -> None:
    """Give a stream its words: as an input, or as the array that stands for one."""
    node = dfg.node(name)
    if node.op == "input":
        stimulus.streams[name] = words
        return
    array = next(item for item in dfg.arrays if item.name == node.array)
    if len(words) > array.length:
        raise SourceError("its streams are longer than the arrays that stand for them")
    stimulus.memory[array.name] = np.concatenate([words, np.zeros(array.length - len(words), dtype=np.int64)])


def _word(kind: str, number: Any) -> int:
    """An element as a word: a single by its pattern."""
    return int(np.float32(number).view(np.int32)) if kind == "float" else int(number)


def reference_of(module: IrModule, file: str, graph: CLoop, jam: int = 1, copies: int = 1) -> CReference:
    """The reference of a loop as the front end translated it.

    ``jam`` iterations of the loop around run side by side in the graph; ``copies`` of its own run one after the other.
    """
    loop = graph.region.loop
    plan = LoopPlan(
        variant=LoopVariant(0, "jam" if jam > 1 else "plain", jam), name=graph.dfg.name, line=graph.line, depth=0,
        loop=loop, graph=graph,
    )  # fmt: skip
    return CReference(plan=plan, module=module, file=file, copies=copies)


def exchanged_reference(module: IrModule, file: str, graph: CLoop, copies: int = 1) -> CReference:
    """The reference of a nest whose loops are exchanged."""
    found = next(
        loop for loop in find_loops(module, module.functions[graph.function])
        if loop.children and loop.header == graph.region.loop.header
    )  # fmt: skip
    plan = LoopPlan(
        variant=LoopVariant(0, "interchange"), name=graph.dfg.name, line=graph.line, depth=0, loop=found, graph=graph,
        interchange=interchange_nest(module, found, file),
    )  # fmt: skip
    return CReference(plan=plan, module=module, file=file, copies=copies)
