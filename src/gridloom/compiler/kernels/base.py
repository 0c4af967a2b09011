"""What a kernel is: a named, parametric graph with a reference model and a stimulus that keeps it in bounds.

The model of a kernel computes what the graph should from the same stimulus, in NumPy or plain Python and without the op
table, so that running both and comparing is a real check of either. Results are the streams of output nodes and of
nodes that nothing reads (in graphs whose published form has no output nodes), final memory, and live-outs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gridloom import registry
from gridloom.compiler.parameters import Parameters, Rule, Setting, check_settings, parse_spec, spec
from gridloom.dfg.carriers import Words
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.errors import OptionError

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Observation, Stimulus


@dataclass(kw_only=True)
class KernelValues:
    """What the model of a kernel says a run should show.

    What a kernel does not have is empty: one without arrays leaves no memory behind.
    """

    #: Result streams by node id, one word for each iteration.
    streams: dict[str, Words] = field(default_factory=dict)
    #: Final contents by array.
    memory: dict[str, Words] = field(default_factory=dict)
    #: Last values by name; empty where no iteration ran.
    liveouts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Kernel:
    """A built-in kernel: a graph with parameters, and a model that computes its results in another way."""

    name: str
    #: What it computes, in one line; it becomes the notes of the graph.
    summary: str
    #: Draws the graph into a builder. Called with (builder, **settings).
    graph: Callable[..., None]
    #: Computes the results without the graph. Called with (stimulus, **settings).
    model: Callable[..., KernelValues]
    parameters: Parameters = field(default_factory=dict)
    #: The graph's domain, unless the kernel has a parameter ``domain``.
    domain: str = field(default="i32", kw_only=True)
    #: Rewrites parts of a random stimulus: ranges, tables, texts. Called with (stimulus, generator, **settings).
    feed: Callable[..., None] | None = field(default=None, kw_only=True)
    #: The most iterations that stay inside the arrays. Called with (**settings).
    limit: Callable[..., int] | None = field(default=None, kw_only=True)
    rule: Rule | None = field(default=None, kw_only=True)

    def settings(self, /, **parameters: object) -> dict[str, Setting]:
        """All parameters with their values; an OptionError for an unknown, ill-typed or out-of-range one."""
        return check_settings(f"kernel {self.name!r}", self.parameters, parameters, self.rule)

    def spec(self, /, **parameters: object) -> str:
        """The text that names this kernel with these parameters, defaults left out: ``kmeans,n=5``."""
        return spec(self.name, self.parameters, self.settings(**parameters))

    def build(self, /, **parameters: object) -> Dfg:
        """The graph for these parameters. Linear in its size, except where the kernel says otherwise."""
        settings = self.settings(**parameters)
        builder = DfgBuilder(self.spec(**parameters), str(settings.get("domain", self.domain)), notes=self.summary)
        self.graph(builder, **settings)
        return builder.build()

    def stimulus(self, iterations: int, seed: int = 0, /, **parameters: object) -> Stimulus:
        """A random stimulus that keeps every index in bounds; the same seed gives the same one.

        Both arguments are positional, because a random graph has a parameter ``seed`` of its own. An OptionError says
        when the kernel's arrays are too short for so many iterations.
        """
        from gridloom.dfg.interpreter import random_stimulus  # brings numba

        settings = self.settings(**parameters)
        most = self.limit(**settings) if self.limit else None
        if iterations < 0 or (most is not None and iterations > most):
            expected = "0 or more" if most is None else f"0 to {most}, which is where its arrays end"
            raise OptionError(f"kernel {self.name!r}: asked for {iterations} iterations; expected {expected}")
        stimulus = random_stimulus(self.build(**parameters), iterations, seed)
        if self.feed:
            # A generator of its own, so that what is fed does not depend on how many words were drawn before.
            self.feed(stimulus, np.random.default_rng([seed, 1]), **settings)
        return stimulus

    def reference(self, stimulus: Stimulus, /, **parameters: object) -> KernelValues:
        """What a run on this stimulus should show, computed without the graph and without the op table.

        Needs the stimulus of the same parameters, as :meth:`stimulus` gives it.
        """
        return self.model(stimulus, **self.settings(**parameters))


def from_spec(text: str) -> tuple[Kernel, dict[str, Setting]]:
    """The kernel and the settings that a text names: ``kmeans,k=4,n=5`` (what follows ``kernel:`` in a source).

    >>> kernel, settings = from_spec("fir,taps=3")
    >>> kernel.build(**settings).name
    'fir,taps=3'
    """
    name, parameters = parse_spec(text)
    kernel: Kernel = registry.load("kernels", name)
    return kernel, kernel.settings(**parameters)


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
