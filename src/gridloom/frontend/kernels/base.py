"""What a kernel is: a named, parametric graph with a reference model and a stimulus that keeps it in bounds.

The model of a kernel computes what the graph should from the same stimulus, in NumPy or plain Python and without the op
table, so that running both and comparing is a real check of either. Results are the streams of output nodes and of
nodes that nothing reads (in graphs whose published form has no output nodes), final memory, and live-outs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.errors import OptionError

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Observation, Stimulus

Words = NDArray[np.int64]
Setting = int | str

T = TypeVar("T", int, Words)


# -- parameters -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a kernel: a whole number between bounds, or one of ``choices``."""

    summary: str
    default: Setting
    minimum: int = 1
    maximum: int = 64
    choices: tuple[Setting, ...] = ()

    @property
    def allowed(self) -> str:
        """What a message or a table says of the values that are taken."""
        if self.choices:
            return ", ".join(map(str, self.choices))
        return f"{self.minimum} to {self.maximum}"

    def parse(self, value: object) -> Setting | None:
        """The setting that a value (a number, or text from a command line) stands for; None if it is not one."""
        by_text = {str(choice): choice for choice in self.choices}
        if self.choices:
            return by_text.get(str(value)) if isinstance(value, int | str) and not isinstance(value, bool) else None
        number = _whole(value)
        return number if number is not None and self.minimum <= number <= self.maximum else None


def number(default: int, minimum: int, maximum: int, summary: str) -> Parameter:
    """A whole number between bounds."""
    return Parameter(default=default, minimum=minimum, maximum=maximum, summary=summary)


def choice(default: Setting, choices: Sequence[Setting], summary: str) -> Parameter:
    """One of the given values."""
    return Parameter(default=default, choices=tuple(choices), summary=summary)


def _whole(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    if isinstance(value, str):
        digits = value.removeprefix("-")
        # More than ten digits are out of every bound, and int() takes quadratic time on hostile ones.
        return int(value) if digits.isascii() and digits.isdigit() and len(digits) <= 10 else None
    return value


# -- kernels --------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Expected:
    """What the model of a kernel says a run should show: streams by node id, final memory, live-outs by name."""

    streams: dict[str, Words] = field(default_factory=dict)
    memory: dict[str, Words] = field(default_factory=dict)
    liveouts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A built-in kernel. ``graph`` draws it into a builder, ``model`` computes its results another way."""

    name: str
    summary: str
    graph: Callable[..., None]
    model: Callable[..., Expected]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    #: Used unless the kernel has a parameter ``domain``.
    domain: str = "i32"
    #: Rewrites parts of a random stimulus: ranges, tables, texts. Called with (stimulus, generator, **settings).
    feed: Callable[..., None] | None = None
    #: The most iterations that stay inside the arrays. Called with (**settings).
    limit: Callable[..., int] | None = None
    #: Extra rule over several parameters: returns what is wrong and how to mend it, or None. Called with (**settings).
    rule: Callable[..., str | None] | None = None

    def settings(self, /, **parameters: object) -> dict[str, Setting]:
        """All parameters with their values; an OptionError for an unknown, ill-typed or out-of-range one."""
        for name in parameters:
            if name not in self.parameters:
                raise OptionError(f"kernel {self.name!r} has no parameter {name!r}; {self._takes()}")
        settings: dict[str, Setting] = {}
        for name, parameter in self.parameters.items():
            value = parameter.parse(parameters.get(name, parameter.default))
            if value is None:
                raise OptionError(
                    f"kernel {self.name!r}: {name} = {parameters[name]!r} is not taken; expected "
                    + (f"one of {parameter.allowed}" if parameter.choices else f"a whole number, {parameter.allowed}")
                )
            settings[name] = value
        wrong = self.rule(**settings) if self.rule else None
        if wrong:
            raise OptionError(f"kernel {self.name!r}: {wrong}")
        return settings

    def _takes(self) -> str:
        listed = [f"{name} ({p.allowed}; default {p.default})" for name, p in self.parameters.items()]
        return f"it takes {', '.join(listed)}" if listed else "it takes none"

    def spec(self, /, **parameters: object) -> str:
        """The text that names this kernel with these parameters, defaults left out: ``kmeans,n=5``."""
        settings = self.settings(**parameters)
        changed = [f"{key}={value}" for key, value in settings.items() if value != self.parameters[key].default]
        return ",".join([self.name, *changed])

    def build(self, /, **parameters: object) -> Dfg:
        """The graph for these parameters. Linear in its size, except where the kernel says otherwise."""
        settings = self.settings(**parameters)
        builder = DfgBuilder(self.spec(**parameters), str(settings.get("domain", self.domain)), notes=self.summary)
        self.graph(builder, **settings)
        return builder.build()

    def stimulus(self, iterations: int, seed: int = 0, /, **parameters: object) -> Stimulus:
        """A random stimulus that keeps every index in bounds; the same seed gives the same one.

        Positional, because a random graph has a parameter ``seed`` of its own. An OptionError says when the kernel's
        arrays are too short for so many iterations.
        """
        from gridloom.dfg.interpreter import random_stimulus  # brings numba

        settings = self.settings(**parameters)
        most = self.limit(**settings) if self.limit else None
        if iterations < 0 or (most is not None and iterations > most):
            expected = "0 or more" if most is None else f"0 to {most}, which is where its arrays end"
            raise OptionError(f"kernel {self.name!r}: asked for {iterations} iterations; expected {expected}")
        stimulus = random_stimulus(self.build(**parameters), iterations, seed)
        if self.feed:
            self.feed(stimulus, np.random.default_rng([seed, 1]), **settings)
        return stimulus

    def reference(self, stimulus: Stimulus, /, **parameters: object) -> Expected:
        """What a run on this stimulus should show, computed without the graph and without the op table."""
        return self.model(stimulus, **self.settings(**parameters))


def from_spec(text: str) -> tuple[Kernel, dict[str, Setting]]:
    """The kernel and the settings that a text names: ``kmeans,k=4,n=5`` (what follows ``kernel:`` in a source).

    >>> kernel, settings = from_spec("fir,taps=3")
    >>> kernel.build(**settings).name
    'fir,taps=3'
    """
    from gridloom import registry
    from gridloom.frontend.source import parse_kernel  # which loads kernels itself

    name, parameters = parse_kernel(text)
    kernel: Kernel = registry.load("kernels", name)
    return kernel, kernel.settings(**parameters)


# -- what a graph shows ---------------------------------------------------------------------------------------------


def result_streams(dfg: Dfg, observation: Observation) -> dict[str, Words]:
    """The result streams of a run by node id: output nodes, and nodes with a value that nothing reads."""
    read = {edge.source for edge in dfg.edges if edge.carries_value}
    return {
        node.id: observation.values[:, k]
        for k, node in enumerate(dfg.nodes)
        if node.op == "output" or (dfg.ops[k].result and node.id not in read)
    }


def placed_nodes(dfg: Dfg) -> int:
    """How many nodes occupy a tile: all but constants and live-ins, which are immediates."""
    return sum(not op.timeless for op in dfg.ops)


# -- building blocks ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Past:
    """An operand that is a node's value of ``distance`` iterations ago; the node may be added later."""

    source: str
    distance: int
    initial: tuple[int, ...] = ()


def connect(b: DfgBuilder, op: str, *operands: str | int | Past, id: str | None = None, **attributes: Any) -> str:
    """Add a node; a number is a constant operand, a :class:`Past` a loop-carried one. Returns the node's id."""
    ready = [b.const(operand) if isinstance(operand, int) else operand for operand in operands]
    name = b.add(op, id=id, **attributes)
    for k, operand in enumerate(ready):
        if isinstance(operand, Past):
            b.carry(operand.source, name, operand=k, distance=operand.distance, initial=operand.initial)
        else:
            # Same edge as any other, with no distance: DfgBuilder.add only numbers operands that are all plain.
            b.carry(operand, name, operand=k, distance=0)
    return name


def sink(b: DfgBuilder, op: str, *operands: str | int | Past, id: str) -> str:
    """Add a node that is a result itself: nothing reads it, and its last value is a live-out under its id."""
    return connect(b, op, *operands, id=id, liveout=id)


def counter(b: DfgBuilder, *, start: int = 0, step: int = 1, id: str = "i") -> str:
    """An induction variable: ``start`` in the first iteration, ``step`` more in each one after."""
    return connect(b, "add", Past(id, 1, (start - step,)), step, id=id)


def nest(b: DfgBuilder, extents: Mapping[str, int]) -> dict[str, str]:
    """Induction variables of a perfect loop nest, outermost first, flattened into one loop; all wrap at their extent.

    The innermost is an add, a compare and a select on a recurrence; each outer one adds the wrap of the next inner.
    """
    indices: dict[str, str] = {}
    carry: str | int = 1
    for position, (name, extent) in enumerate(reversed(list(extents.items()))):
        following = connect(b, "add", Past(name, 1, (-1 if position == 0 else 0,)), carry, id=f"{name}_next")
        wraps = connect(b, "eq", following, extent, id=f"{name}_wraps")
        indices[name] = connect(b, "select", wraps, 0, following, id=name)
        carry = wraps
    return {name: indices[name] for name in extents}


def reduce_tree(b: DfgBuilder, op: str, values: Sequence[str], *, registers: bool = False, **last: Any) -> str:
    """Reduce values pairwise, level by level; ``last`` are attributes of the root.

    With ``registers`` the odd value of a level passes a move, so that all paths are equally long. Without, the odd one
    is the last of a level and the first of the next in turn, so that none waits for more than one level.
    """
    level, take_first = list(values), False
    while len(level) > 1:
        odd = len(level) % 2 == 1
        waiting = level.pop(0 if take_first else -1) if odd else None
        pairs = [(level[k], level[k + 1]) for k in range(0, len(level), 2)]
        final = len(pairs) == 1 and not odd
        level = [connect(b, op, x, y, **(last if final else {})) for x, y in pairs]
        if waiting is not None and registers:
            level.append(b.add("move", waiting))
        elif waiting is not None:
            level.insert(0 if take_first else len(level), waiting)
            take_first = not take_first
    return level[0]


# -- for models -----------------------------------------------------------------------------------------------------


def signed32(value: T) -> T:
    """The low 32 bits, sign-extended: of an integer, or of each element of an array."""
    return ((value + 0x80000000) & 0xFFFFFFFF) - 0x80000000


def weight(k: int) -> int:
    """The k-th of the small odd numbers that stand for coefficients where a kernel leaves them open."""
    return ((7 * k + 3) % 29 - 14) | 1


def past(stream: Words, distance: int) -> Words:
    """A stream delayed by some iterations, zeros first."""
    known = max(len(stream) - distance, 0)
    return np.concatenate([np.zeros(len(stream) - known, dtype=np.int64), stream[:known]])


def sinks(streams: dict[str, Words]) -> Expected:
    """Expected results where each stream is a node that is a live-out itself."""
    return Expected(streams=streams, liveouts={name: int(words[-1]) for name, words in streams.items() if len(words)})
