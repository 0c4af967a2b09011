"""A run of a compiled function: the host executes it, launches are simulated and counted, native code is compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from gridloom.compiler.c.function.host import global_key
from gridloom.compiler.c.function.memory import Memory
from gridloom.errors import MissingExtra, OptionError, SourceError
from gridloom.flow.functions.compile import Compiled
from gridloom.flow.functions.data import Arguments
from gridloom.flow.functions.extents import fit_arguments
from gridloom.flow.functions.launching.cycles import LoopCycles, accounts
from gridloom.flow.functions.launching.launcher import Launcher
from gridloom.flow.functions.launching.schedule import LaunchSchedule, schedule
from gridloom.flow.functions.launching.timeline import Event, Timeline
from gridloom.flow.functions.native import Crash, NativeComparison, NativeOutcome
from gridloom.limits import RUN_SECONDS, TimeUp, deadline

#: Visits of one block that a run may take.
LIMIT: Final = 50_000_000
#: What a run is compared with where no native code runs.
INTERPRETED: Final = "the interpreted IR"
#: Why a run shows nothing of a function with loops.
NOTHING: Final = "nothing was executed: no loop ran an iteration; give other arguments"


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
    native: NativeComparison
    #: What happened when; empty unless the run was traced.
    events: tuple[Event, ...] = ()

    def __repr__(self) -> str:
        value = "" if self.value is None else f" returned {self.value}"
        return f"<FunctionRun{value}: {self.cycles} cycles, {self.single_issue} on the host alone>"

    def __str__(self) -> str:
        from gridloom.flow.functions.describing import run_text

        return run_text(self)

    def _repr_html_(self) -> str:
        from gridloom.flow.functions.describing import run_html

        return run_html(self)

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
    compiled: Compiled,
    given: Mapping[str, Any],
    *,
    seed: int | None,
    simulate: int | str,
    compare: bool,
    trace: bool,
    always: bool,
    native: bool = True,
) -> FunctionRun:
    """Run a compiled function on arguments. See :meth:`Compiled.run`."""
    if compiled.native is not None:
        given = compiled.native.complete(given, seed)
    arguments = fit_arguments(compiled, given, seed)
    memory = compiled.host.memory(arguments.objects)
    before = {name: memory.contents(name) for name in memory.objects if name.startswith("@")}
    launcher = Launcher(compiled, memory, _simulated(simulate), trace)
    values = _values(compiled, arguments, memory)
    with deadline(RUN_SECONDS, "running the function"):
        value = compiled.host.run(memory, compiled.program.function, values, launcher.hooks(), LIMIT, launcher.counts)
    outcome = NativeOutcome(
        value=_returned(compiled, value, memory),
        objects={name: memory.contents(name) for name in memory.objects if not name.startswith("stack ")},
    )
    compared = NativeComparison(missing="not asked for")
    if compare:
        compared = _compared(compiled, arguments, before, outcome, native)
        compared = replace(compared, executed=_is_executed(compiled, launcher.counts))
    words_in, words_out = _words(compiled, arguments)
    words = Counter(words_in) + Counter(words_out)
    loads = compiled.loads
    decided = schedule(launcher.rows, launcher.loop_costs(), loads, words, always=always)
    loops = accounts(launcher.mapped, launcher.rows, decided, loads, launcher.simulations)
    single = launcher.single_issue()
    return FunctionRun(
        value=outcome.value, arrays=_arrays(arguments, outcome), variables=_variables(compiled, outcome),
        host=single - sum(loop.on_host for loop in loops) + decided.comparisons, data_movement=decided.movement,
        single_issue=single, native=compared,
        loops={loop.plan.name: row for loop, row in zip(launcher.mapped, loops)},
        events=_events(launcher, decided, words_in, words_out) if trace else (),
    )  # fmt: skip


def _is_executed(compiled: Compiled, counts: Sequence[int]) -> bool:
    """Whether any loop of the function ran an iteration to its end or left it early; True where there is no loop."""
    code, loops = compiled.host.code, [plan.loop for plan in compiled.program.loops]
    blocks = {(loop.function, name) for loop in loops for name in loop.blocks if name != loop.header
              or loop.header in loop.function.blocks[name].successors}  # fmt: skip
    return not loops or any(counts[code.block_number(function, name)] for function, name in blocks)


def _arrays(arguments: Arguments, outcome: NativeOutcome) -> dict[str, np.ndarray[Any, Any]]:
    """What the function left in its array parameters."""
    arrays = {}
    for name, (dtype, shape) in arguments.shapes.items():
        key, offset = arguments.pointers[name]
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        arrays[name] = np.frombuffer(outcome.objects[key][offset : offset + size], dtype).reshape(shape).copy()
    return arrays


def _variables(compiled: Compiled, outcome: NativeOutcome) -> dict[str, np.ndarray[Any, Any]]:
    """What the function left in the variables of its file."""
    found = {}
    for name, variable in compiled.program.module.globals.items():
        kind = compiled.signature.variables.get(name)
        if kind is not None and not variable.constant:
            found[name] = _elements(outcome.objects[global_key(name)], kind.dtype).copy()
    return found


def _words(compiled: Compiled, arguments: Arguments) -> tuple[dict[str, int], dict[str, int]]:
    """Words of the objects of array parameters: in, and out where a parameter is no pointer to const."""
    constant = {parameter.name for parameter in compiled.signature.parameters if parameter.type.constant}
    changed = {key for name, (key, _) in arguments.pointers.items() if name not in constant}
    words = {name: -(-len(contents) // 4) for name, contents in arguments.objects.items() if not name.startswith("@")}
    return words, {name: count for name, count in words.items() if name in changed}


def _events(
    launcher: Launcher, decided: LaunchSchedule, words_in: Mapping[str, int], words_out: Mapping[str, int]
) -> tuple[Event, ...]:
    """The timeline of a run under its schedule."""
    timeline = Timeline(sum(words_in.get(name, 0) for name in decided.objects))
    gone, loaded = -decided.comparisons, -1
    for row, on_array in zip(launcher.rows, decided.on_array):
        if not on_array:
            continue
        loop = launcher.mapped[row.loop]
        timeline.host(row.spent - gone)
        timeline.add("array", "configuration", launcher.compiled.loads.after(loaded, row.loop))
        timeline.add("array", "live-ins", loop.given_words)
        timeline.add("array", loop.plan.name, row.cycles, row.iterations)
        timeline.add("array", "live-outs", row.array - row.cycles - loop.given_words)
        loaded = row.loop
        gone += row.host
    timeline.host(launcher.single_issue() - gone)
    timeline.add("memory", "data out", sum(words_out.get(name, 0) for name in decided.objects))
    return tuple(timeline.events)


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


def _returned(compiled: Compiled, value: Any, memory: Memory) -> Any:
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


def _compared(
    compiled: Compiled, arguments: Arguments, before: Mapping[str, bytes], outcome: NativeOutcome, native: bool
) -> NativeComparison:
    """What native code on the same data says; where it is not asked for or cannot run, what the interpreted IR says."""
    note = ""
    if native and compiled.native is not None:
        try:
            found = compiled.native.run(arguments, before)
            return NativeComparison(
                differences=_differences(compiled, arguments, outcome, found, compiled.native.label),
                label=compiled.native.label,
            )
        except Crash as error:
            return NativeComparison(differences=(error.message,), label=compiled.native.label)
        except (SourceError, MissingExtra) as error:
            note = error.message
    try:
        found = _interpreted(compiled, arguments, before)
    except TimeUp as error:
        return NativeComparison(missing=error.message, label=INTERPRETED, note=note)
    return NativeComparison(
        differences=_differences(compiled, arguments, outcome, found, INTERPRETED), label=INTERPRETED, note=note
    )


def _interpreted(compiled: Compiled, arguments: Arguments, before: Mapping[str, bytes]) -> NativeOutcome:
    """The outcome of the whole function on the host alone: no loop is launched."""
    program, host = compiled.program, compiled.plain_host
    memory = host.memory({**before, **arguments.objects})
    with deadline(RUN_SECONDS, "interpreting the function"):
        value = host.run(memory, program.function, _values(compiled, arguments, memory), {}, LIMIT, [])
    return NativeOutcome(
        value=_returned(compiled, value, memory),
        objects={name: memory.contents(name) for name in memory.objects if _is_shown(compiled, arguments, name)},
    )


def _is_shown(compiled: Compiled, arguments: Arguments, name: str) -> bool:
    """True for an object whose type is known: a parameter's array or a variable of the file."""
    return name[1:] in compiled.signature.variables if name.startswith("@") else name in arguments.shapes


def _differences(
    compiled: Compiled, arguments: Arguments, outcome: NativeOutcome, found: NativeOutcome, label: str
) -> tuple[str, ...]:  # fmt: skip
    """Where the outcome of a run differs from another one."""
    differences = []
    result = compiled.signature.result
    if result is not None and not result.pointer and not _same(found.value, outcome.value):
        differences.append(f"returned {outcome.value}, {label} returned {found.value}")
    for name, contents in found.objects.items():
        kind = _element_type(compiled, arguments, name)
        ours, theirs = _elements(outcome.objects[name], kind), _elements(contents, kind)
        wrong = (ours != theirs) & ~((ours != ours) & (theirs != theirs))
        for k in wrong.nonzero()[0][:3].tolist():
            differences.append(f"{name.removeprefix('@')}[{k}] is {ours[k]}, {label} left {theirs[k]}")
    return tuple(differences)


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
