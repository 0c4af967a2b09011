"""A run of a compiled function: the host executes it, launches are simulated and counted, native code is compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gridloom.errors import OptionError, SourceError
from gridloom.flow.functions.compile import Compiled, CompiledLoop
from gridloom.flow.functions.cycles import LoopCycles, host_cycles
from gridloom.flow.functions.data import Arguments, read_arguments
from gridloom.flow.functions.launches import Launch, bind, simulate_launch, word_of
from gridloom.flow.functions.native import Comparison, Outcome
from gridloom.frontend.c.function.host import global_key
from gridloom.frontend.c.function.memory import Memory

#: Visits of one block that a run may take.
LIMIT: Final = 50_000_000


@dataclass(kw_only=True)
class FunctionRun:
    """What a run gave: values, cycles, and whether native code gives the same.

    ``arrays`` holds what the function left in each array parameter, ``variables`` what it left in the variables of the
    file. ``host`` are the cycles of the code outside of launched loops, ``loops`` those of each loop on the array, and
    ``single_issue`` what the host alone would take for everything.
    """

    value: Any
    arrays: dict[str, np.ndarray[Any, Any]]
    variables: dict[str, np.ndarray[Any, Any]]
    host: int
    loops: dict[str, LoopCycles]
    data_movement: int
    single_issue: int
    native: Comparison

    @property
    def cycles(self) -> int:
        """All cycles: data movement, the host's code, and the launches."""
        return self.data_movement + self.host + sum(loop.total for loop in self.loops.values())

    @property
    def ideal(self) -> int:
        """II times iterations of every loop on the array: what an array without any overhead would take."""
        return sum(loop.steady for loop in self.loops.values())

    @property
    def breakdown(self) -> dict[str, int]:
        """Cycles by what they are spent on."""
        rows = list(self.loops.values())
        return {
            "data movement": self.data_movement,
            "configuration": sum(row.configuration for row in rows),
            "live-ins and live-outs": sum(row.transfer for row in rows),
            "II x iterations": self.ideal,
            "fill and drain": sum(row.fill for row in rows),
            "host": self.host,
            "total": self.cycles,
        }


def run_function(
    compiled: Compiled, given: Mapping[str, Any], *, seed: int | None, simulate: int | str, compare: bool
) -> FunctionRun:
    """Run a compiled function on arguments. See :meth:`Compiled.run`."""
    arguments = read_arguments(compiled.signature, given, seed)
    memory = compiled.host.memory(arguments.objects)
    before = {name: memory.contents(name) for name in memory.objects if name.startswith("@")}
    launcher = _Launcher(compiled, memory, _simulated(simulate))
    values = _values(compiled, arguments, memory)
    value = compiled.host.run(memory, compiled.program.function, values, launcher.hooks(), LIMIT, launcher.counts)
    outcome = Outcome(
        value=_returned(compiled, value, arguments, memory),
        objects={name: memory.contents(name) for name in memory.objects if not name.startswith("stack ")},
    )
    native = _compared(compiled, arguments, before, outcome) if compare else Comparison(missing="not asked for")
    return launcher.result(outcome, arguments, native)


def _simulated(asked: int | str) -> int:
    """How many launches of each loop are simulated; -1 for all."""
    if asked == "all":
        return -1
    if asked == "first":
        return 1
    try:
        number = int(asked)
    except ValueError:
        number = -1
    if number < 0:
        raise OptionError(f"expected all, first or a number of launches, found {asked!r}", where="--simulate")
    return number


def _values(compiled: Compiled, arguments: Arguments, memory: Memory) -> list[Any]:
    """The values of the IR function's parameters, in order."""
    values: list[Any] = []
    parameters = compiled.signature.parameters
    function = compiled.program.function
    if len(parameters) != len(function.arguments):
        raise SourceError(
            f"function {function.name!r} takes or returns a struct by value; pass pointers", where=compiled.program.file
        )
    for parameter, argument in zip(parameters, function.arguments):
        if parameter.name in arguments.pointers:
            name, offset = arguments.pointers[parameter.name]
            values.append(memory.objects[name].address + offset)
        elif argument.type in ("float", "double"):
            values.append((np.float32 if argument.type == "float" else np.float64)(arguments.numbers[parameter.name]))
        elif argument.type == "ptr":
            values.append(0)
        else:
            bits = int(argument.type[1:])
            number = int(arguments.numbers[parameter.name]) & ((1 << bits) - 1)
            values.append(number - (1 << bits) if bits > 1 and number >> (bits - 1) else number)
    return values


def _returned(compiled: Compiled, value: Any, arguments: Arguments, memory: Memory) -> Any:
    """The returned value in C's type; a pointer as the parameter or variable it leads into, and the byte."""
    result = compiled.signature.result
    if result is None or value is None:
        return None
    if result.pointer:
        placed = memory.find(int(value))
        return (placed.name, int(value) - placed.address) if placed else None
    if result.dtype.kind == "f":
        return result.dtype.type(value)
    return np.int64(_wrapped(int(value))).astype(result.dtype)


def _wrapped(value: int) -> int:
    return ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


def _compared(compiled: Compiled, arguments: Arguments, before: Mapping[str, bytes], outcome: Outcome) -> Comparison:
    """What native code on the same data says."""
    if compiled.native is None:
        return Comparison(missing="the function has no C source")
    found = compiled.native.run(arguments, before)
    differences = []
    result = compiled.signature.result
    if result is not None and not result.pointer and not _same(found.value, outcome.value):
        differences.append(f"returned {outcome.value}, compiled C returned {found.value}")
    for name, contents in found.objects.items():
        kind = _element_type(compiled, arguments, name)
        ours, theirs = _elements(outcome.objects[name], kind), _elements(contents, kind)
        wrong = (ours != theirs) & ~((ours != ours) & (theirs != theirs))
        for k in wrong.nonzero()[0][:3].tolist():
            differences.append(f"{name.removeprefix('@')}[{k}] is {ours[k]}, compiled C left {theirs[k]}")
    return Comparison(differences=tuple(differences))


def _element_type(compiled: Compiled, arguments: Arguments, name: str) -> np.dtype[Any]:
    """The data type that an object is shown in."""
    if name.startswith("@"):
        return compiled.signature.variables[name[1:]].dtype
    dtype, _ = arguments.shapes[name]
    return dtype if dtype.kind in "iuf" else np.dtype("uint8")


def _elements(raw: bytes, kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Bytes as elements; what is left over at the end is not shown."""
    return np.frombuffer(raw[: len(raw) // kind.itemsize * kind.itemsize], kind)


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) or (a != a and b != b)


class _Launcher:
    """Counts launches and simulates some of them while the host runs."""

    def __init__(self, compiled: Compiled, memory: Memory, simulated: int) -> None:
        self.compiled, self.memory, self.simulated = compiled, memory, simulated
        self.mapped = [loop for loop in compiled.loops if loop.mapping is not None]
        self.loops: dict[int, LoopCycles] = {loop.plan.number: LoopCycles() for loop in self.mapped}
        self.open: dict[int, Launch] = {}
        self.loaded: int | None = None
        self.counts: list[int] = []
        self.blocks = {loop.plan.number: self._block_numbers(loop) for loop in self.mapped}
        self.costs = [
            host_cycles(block) for function in compiled.program.functions for block in function.blocks.values()
        ]
        self.moved: set[str] = set()
        self.on_array = 0

    def _block_numbers(self, loop: CompiledLoop) -> list[int]:
        code = self.compiled.host.code
        return [code.block_number(loop.plan.loop.function, name) for name in loop.plan.loop.blocks]

    def hooks(self) -> dict[str, Any]:
        """What the generated code calls when a loop begins and ends."""
        found: dict[str, Any] = {}
        for loop in self.mapped:
            number = loop.plan.number
            found[f"ENTER_{number}"] = lambda values, loop=loop: self._enter(loop, values)
            found[f"LEAVE_{number}"] = lambda way, values, loop=loop: self._leave(loop, values)
        return found

    def _enter(self, loop: CompiledLoop, values: tuple[Any, ...]) -> None:
        """Note what a launch starts from."""
        graph = loop.plan.graph
        assert graph is not None
        row = self.loops[loop.plan.number]
        liveins = {name: word_of(v, number) for (name, v), number in zip(graph.liveins.items(), values)}
        binding = bind(graph, values[len(liveins) :], self.memory)
        wanted = self.simulated < 0 or row.launches < self.simulated or row.launches & (row.launches + 1) == 0
        before = binding.image(self.memory) if wanted and not binding.refused else None
        counts = [self.counts[k] for k in self.blocks[loop.plan.number]]
        self.open[loop.plan.number] = Launch(binding, liveins, before, counts)

    def _leave(self, loop: CompiledLoop, values: tuple[Any, ...]) -> None:
        """Count a launch, and simulate it where that is wanted."""
        graph, slots = loop.plan.graph, loop.slots
        assert graph is not None and slots is not None
        launch = self.open.pop(loop.plan.number)
        row = self.loops[loop.plan.number]
        numbers = self.blocks[loop.plan.number]
        visits = {name: self.counts[k] - before
                  for name, k, before in zip(loop.plan.loop.blocks, numbers, launch.counts)}  # fmt: skip
        spent = sum(self.costs[k] * n for k, n in zip(numbers, visits.values()))
        iterations = _iterations(loop, visits)
        if launch.binding.refused or not iterations:
            # The host tests the loop's condition before it starts the array: a loop without iterations costs that.
            row.kept_on_host += bool(launch.binding.refused)
            return
        cycles = slots.cycles(iterations)
        if launch.before is not None:
            cycles = simulate_launch(graph, slots, launch, iterations, self.memory, values)
            row.simulated += 1
        if self.loaded != loop.plan.number:
            row.configuration += loop.packets
            self.loaded = loop.plan.number
        row.launches += 1
        row.iterations += iterations
        row.transfer += len(launch.liveins) + len(graph.arrays) + len(graph.liveouts)
        row.steady += slots.configuration.ii * iterations
        row.fill += cycles - slots.configuration.ii * iterations
        row.on_host += spent
        self.on_array += spent

    def result(self, outcome: Outcome, arguments: Arguments, native: Comparison) -> FunctionRun:
        """The record of the run."""
        single = sum(cost * count for cost, count in zip(self.costs, self.counts))
        arrays = {}
        for name, (dtype, shape) in arguments.shapes.items():
            key, offset = arguments.pointers[name]
            size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            arrays[name] = np.frombuffer(outcome.objects[key][offset : offset + size], dtype).reshape(shape).copy()
        variables = {}
        for name, variable in self.compiled.program.module.globals.items():
            kind = self.compiled.signature.variables.get(name)
            if kind is not None and not variable.constant:
                variables[name] = _elements(outcome.objects[global_key(name)], kind.dtype).copy()
        return FunctionRun(
            value=outcome.value, arrays=arrays, variables=variables, host=single - self.on_array,
            loops={loop.plan.name: self.loops[loop.plan.number] for loop in self.mapped},
            data_movement=self._data_movement(arguments), single_issue=single, native=native,
        )  # fmt: skip

    def _data_movement(self, arguments: Arguments) -> int:
        """Words of the array parameters, in once and out once."""
        own = [contents for name, contents in arguments.objects.items() if not name.startswith("@")]
        return sum(2 * -(-len(contents) // 4) for contents in own)


def _iterations(loop: CompiledLoop, visits: Mapping[str, int]) -> int:
    """Iterations of the graph, from how often the blocks of its loop ran.

    A loop that is left in the middle of its body runs the part before once more than the rest.
    """
    graph = loop.plan.graph
    assert graph is not None
    region = graph.region
    count = visits[region.loop.header]
    after = [item for name in region.after_exit for item in region.blocks[name].instructions]
    if region.exiting != region.loop.latches[0] and any(i.opcode not in ("br", "switch", "phi") for i in after):
        count -= 1
    return count
