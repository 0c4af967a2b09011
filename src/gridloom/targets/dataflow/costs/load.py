"""What cost models of dataflow placements see: the pipeline (fixed), a batch of decisions, and their protocol.

A decision is a placement of the units with a route for every flow. A cost model predicts its efficiency: throughput
over the bound of the slowest compute stage, 1 when nothing else ever waits. Mappers get a cost model handed in or by
name from the registry; none of them knows how it comes to its number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch, Kind
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.targets.dataflow import rates
from gridloom.targets.dataflow.program.model import UnitGraph, unit_graph

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Unit types, in the order of their codes.
UNIT_KINDS: Final = ("cu", "mu", "dram")
#: Operations of units, in the order of their codes; memory units are told apart by what they hold.
UNIT_OPS: Final = ("gemm", "elementwise", "reduce", "softmax", "norm", "input", "output", "weights", "rows", "gather")


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """A graph of units on an array, as flat arrays.

    Rates are in vectors per cycle, for the case that the slowest stage never waits.
    """

    dfg: UnitGraph
    arch: Arch
    #: Cycles per iteration that the slowest compute unit needs.
    bound: int
    #: Unit -> type, operation, pipeline stage, share of the bound that it is busy.
    unit_kind: Ints
    unit_op: Ints
    unit_stage: Ints
    unit_load: Floats
    #: Flow -> source and target unit, vectors of a packet, mean rate, rate while its source works.
    source: Ints
    target: Ints
    packet: Ints
    rate: Floats
    peak: Floats
    #: Flow -> its multicast tree: flows of one tree carry the same vectors, once over the links that they share.
    tree: Ints
    #: Number of links of the array; their numbers follow its resources.
    links: int

    @property
    def units(self) -> int:
        """How many units there are."""
        return len(self.unit_kind)

    @property
    def flows(self) -> int:
        """How many flows there are."""
        return len(self.source)


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """A batch of decisions on one pipeline: places and routes.

    Flow f of decision d has the links ``route_links[route_start[d * flows + f] : route_start[d * flows + f + 1]]``.
    Links are numbered from 0 in the order of the array's LINK resources. All decisions of a batch belong to one
    pipeline, so that cost models score them with vector operations.
    """

    #: Decision, unit -> tile.
    places: Ints
    route_start: Ints
    route_links: Ints

    def __len__(self) -> int:
        return len(self.places)

    def routes(self, decision: int) -> tuple[Ints, Ints]:
        """Starts and links of one decision's routes, counted from 0."""
        flows = (len(self.route_start) - 1) // max(1, len(self.places))
        starts = self.route_start[decision * flows : (decision + 1) * flows + 1]
        return starts - starts[0], self.route_links[starts[0] : starts[-1]]

    def only(self, decision: int) -> Decisions:
        """A batch of one decision."""
        starts, links = self.routes(decision)
        return Decisions(places=self.places[decision : decision + 1], route_start=starts, route_links=links)


class CostModel(Protocol):
    """Predicts how well decisions run."""

    name: str

    def efficiency(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Predicted throughput over the bound, one number for each decision; higher is better."""


@runtime_checkable
class Guide(Protocol):
    """A cost model that has more to say to a search than its prediction."""

    def preference(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """What a search should raise, one number for each decision; about as large as efficiencies are."""


@runtime_checkable
class Slow(Protocol):
    """A cost model that takes long, and knows how long."""

    def seconds(self, pipeline: Pipeline, decisions: Decisions) -> float:
        """About how long the prediction for the first decision takes."""


@runtime_checkable
class Ranged(Protocol):
    """A cost model that knows where it can be trusted."""

    def outside(self, pipeline: Pipeline) -> str | None:
        """Why its predictions for a pipeline are worth nothing; None where they are."""


def pipeline(dfg: Dfg, arch: Arch) -> Pipeline:
    """The pipeline of a graph of units. OptionError for an array that is not elastic. Linear in nodes and edges.

    Needs a graph of units, as :mod:`gridloom.targets.dataflow.lowering.lower` makes one from a tensor program. The
    rates assume that the slowest compute unit never waits.
    """
    if arch.is_timed:
        raise OptionError(f"array {arch.name!r} is {arch.style}; dataflow pipelines run on elastic ones")
    dfg = unit_graph(dfg)
    counts = rates.repetitions(dfg)
    carried = np.array(rates.edge_tokens(dfg, counts), dtype=np.float64)
    cycles = np.array([node.work * n for node, n in zip(dfg.nodes, counts)], dtype=np.float64)
    compute = [dfg.op_class(node.id) in ("gemm", "vector") for node in dfg.nodes]
    # Memory units and DRAM interfaces are left out: the bound is that of the arithmetic, which efficiency is relative
    # to.
    bound = int(max(cycles[compute], default=1))
    work = np.array([node.work for node in dfg.nodes], dtype=np.float64)
    source = np.array([dfg.index[edge.source] for edge in dfg.edges], dtype=np.int64)
    packet = np.array([edge.tokens for edge in dfg.edges], dtype=np.int64)
    trees: dict[tuple[str, int, int, int], int] = {}
    for e in dfg.edges:
        trees.setdefault((e.source, e.part, e.tokens, e.puts_every), len(trees))
    return Pipeline(
        dfg=dfg,
        arch=arch,
        bound=bound,
        unit_kind=np.array([_kind(dfg, node.id) for node in dfg.nodes], dtype=np.int64),
        unit_op=np.array([UNIT_OPS.index(_op(dfg, k)) for k in range(len(dfg.nodes))], dtype=np.int64),
        unit_stage=np.array(rates.stages(dfg, counts), dtype=np.int64),
        unit_load=cycles / bound,
        source=source,
        target=np.array([dfg.index[edge.target] for edge in dfg.edges], dtype=np.int64),
        packet=packet,
        rate=carried / bound,
        peak=np.minimum(1.0, packet / work[source]) if len(source) else np.zeros(0),
        tree=np.array([trees[e.source, e.part, e.tokens, e.puts_every] for e in dfg.edges], dtype=np.int64),
        links=int(np.count_nonzero(arch.kind == Kind.LINK)),
    )


def _kind(dfg: UnitGraph, node: str) -> int:
    """Return the code of a node's unit type, its place in ``UNIT_KINDS``."""
    return {"buffer": 1, "dram": 2}.get(dfg.op_class(node), 0)


def _op(dfg: UnitGraph, k: int) -> str:
    """An operation by name; memory holds weights, rows that are used again, or passes on what it gathers."""
    op = dfg.nodes[k].op
    if op not in ("buffer", "transpose"):
        return op
    if not dfg.in_edges[k]:
        return "weights"
    reads = sum(dfg.edges[e].tokens for e in dfg.out_edges[k])
    return "rows" if any(dfg.op_class(dfg.edges[e].target) == "gemm" for e in dfg.out_edges[k]) and reads else "gather"


def link_rates(pipeline: Pipeline, decisions: Decisions, flow_rate: Floats) -> Floats:
    """Decision, link -> the sum of ``flow_rate`` (one number for each flow) over the trees that use the link.

    With ``pipeline.rate`` it is what flows send on average at full speed, with ``pipeline.peak`` what they may send at
    the same time. Flows of one tree count once on a link. Linear in the hops.
    """
    from gridloom.targets.dataflow.costs.load_kernel import add_trees

    loads = np.zeros((len(decisions), pipeline.links))
    order = np.argsort(pipeline.tree, kind="stable").astype(np.int64)
    add_trees(loads, decisions.route_start, decisions.route_links, order, pipeline.tree, flow_rate)
    return loads


def rooms(pipeline: Pipeline) -> Ints:
    """Return flow -> how many of its tokens the buffer of its target takes.

    A flow may ask for fewer than the buffer has (``room`` of its edge). Where tiles differ, the smallest buffer counts,
    since the placement is not known here.
    """
    arch, dfg = pipeline.arch, pipeline.dfg
    smallest = {
        name: min((arch.tiles[t].buffer for t in arch.tiles_for(name)), default=1) or 1
        for name in sorted({dfg.op_class(node.id) for node in dfg.nodes})
    }
    buffers = {node.id: smallest[dfg.op_class(node.id)] for node in dfg.nodes}
    return np.array([min(buffers[e.target], e.room or buffers[e.target]) for e in dfg.edges], dtype=np.int64)
