"""A mapping: where and when each node runs, which way each value goes. And its opposite, a Failure with reasons.

A ``Mapping`` holds names, not indices, and embeds its Dfg and Arch, so that it can be checked, simulated, drawn and
emitted later without the mapper that made it. It is data: nothing here says that it is legal (see ``verify``).
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.registry import NOTEBOOK, PICTURE

#: (resource name, flat cycle)
Hop = tuple[str, int]
#: Why there is no mapping: the budget ended the search, none exists by proof, or the search tried all it would.
Cause = Literal["limit", "proved", "exhausted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One copy of a node: the tile that runs it and the flat cycle of its issue in iteration 0.

    ``place`` is a tile name. A live-in that sits in a register or in memory names that resource instead.
    """

    #: The node's id.
    node: str
    #: A tile; for a live-in that is kept, a register or ``mem``.
    place: str
    #: The flat cycle of its issue in iteration 0.
    cycle: int = 0
    #: Copies of a node are numbered from 0: recomputation gives a node more than one.
    copy: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The way of one edge into one copy of its target.

    ``hops`` are the resources that the value is in, from the first after the producer's function unit to the operand
    input of the consumer, each with the flat cycle. A consumer copy reads copy ``source_copy`` of the producer.
    """

    #: The edge's position in the graph.
    edge: int
    #: [resource, flat cycle] pairs, in order.
    hops: tuple[Hop, ...]
    #: Cycles the value waits in the operand's FIFO (or in the tile's delay registers) after it has arrived.
    fifo: int = 0
    #: The copy of the edge's target that reads the value.
    copy: int = 0
    #: The copy of the edge's source that makes it.
    source_copy: int = 0


@dataclass(frozen=True, kw_only=True)
class Mapping:
    """A graph on an array: the result of a mapper, and all that ``verify``, ``sim`` and ``emit`` need.

    Nothing is checked when one is made; a mapping read from a file may be illegal.
    """

    #: The original graph: routes and spills never change it.
    dfg: Dfg
    arch: Arch
    #: Cycles between the starts of two iterations; 1 on static arrays.
    ii: int
    #: At least one for each node that occupies a tile.
    instances: tuple[Instance, ...]
    #: One for each edge that carries a value, and for each copy of its target.
    routes: tuple[Route, ...]
    #: What the array is set to beside the routes, by name: rotating registers, pipeline bits.
    settings: MappingABC[str, Any] = field(default_factory=dict)
    #: Where it came from: mapper, configuration, seed, versions, seconds.
    provenance: MappingABC[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        size = f"{len(self.instances)} instances, {len(self.routes)} routes"
        return f"<Mapping of {self.dfg.name} on {self.arch.name}: II {self.ii}, {size}>"

    def _repr_svg_(self) -> str:
        drawn: str = PICTURE.load()(self)
        return drawn

    def _repr_html_(self) -> str:
        shown: str = NOTEBOOK.load()(self)
        return shown

    @cached_property
    def instance_of(self) -> MappingABC[tuple[str, int], Instance]:
        """(node, copy) -> instance."""
        return {(instance.node, instance.copy): instance for instance in self.instances}

    @cached_property
    def copies(self) -> MappingABC[str, tuple[Instance, ...]]:
        """node -> its instances."""
        table: dict[str, list[Instance]] = {}
        for instance in self.instances:
            table.setdefault(instance.node, []).append(instance)
        return {node: tuple(rows) for node, rows in table.items()}

    @cached_property
    def route_of(self) -> MappingABC[tuple[int, int], Route]:
        """(edge, copy of its target) -> route."""
        return {(route.edge, route.copy): route for route in self.routes}


@dataclass(frozen=True, kw_only=True)
class Failure:
    """No mapping, and why: which constraint, how much is demanded, how much there is, what would help.

    A mapper returns it in place of a Mapping; it is a value, not an exception.
    """

    constraint: str
    demand: str
    bound: str
    #: What the user can do: "3 columns more", "II 5".
    levers: tuple[str, ...] = ()
    #: Resources that were fought over most, worst first.
    congested: tuple[str, ...] = ()
    #: How many conflicts the best try leaves; None: they are not counted, or nothing was tried.
    conflicts: int | None = None
    cause: Cause = "exhausted"

    def __str__(self) -> str:
        text = f"{self.constraint}: needs {self.demand}, has {self.bound}"
        if self.levers:
            text += f"; would help: {', '.join(self.levers)}"
        return text


def as_proof(failure: Failure | None) -> Failure | None:
    """Return a failure that counting found, marked as a proof; None stays None."""
    return None if failure is None else replace(failure, cause="proved")
