"""What a cold start of a section consists of: programs that both simulators run one after the other.

In cycle 0 the array has no configuration. Configuration comes first, then weights (`loading`), then the section runs
from empty buffers and drains. A *program* is a graph with the firings of a block, the blocks that each node does, and
the tokens that are dropped where an edge ends.

An operand that is a value itself (attention) is *held*: its memory unit takes a whole sample at once and reads it for
each block of the next sample. So the first sample comes once more than it is used: in pass 0 only what leads to held
operands runs, and what other units get is dropped at their inputs; in pass 1 the products that read the held operands
run, too, and so on where held operands follow each other. A node's *pass* is the one in which it begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gridloom.errors import SimulationError
from gridloom.sim.reading import edges_from, positions, program_order
from gridloom.targets.dataflow.machine.firing_rates import count_tokens
from gridloom.targets.dataflow.program.model import TokenEdge, UnitGraph


@dataclass(frozen=True, kw_only=True)
class ColdStart:
    """What goes through a section that starts cold: so many samples of so many blocks.

    ``held`` names the memory units whose inputs are held until a whole sample of them is there. ``results`` ends the
    run after so many blocks of results; None: all blocks of all samples.
    """

    blocks: int = 1
    samples: int = 1
    held: frozenset[str] = frozenset()
    results: int | None = None

    def __post_init__(self) -> None:
        if self.blocks < 1 or self.samples < 1:
            raise SimulationError(f"expected at least 1 block and 1 sample, found {self.blocks} and {self.samples}")
        if self.results is not None and not 1 <= self.results <= self.blocks * self.samples:
            raise SimulationError(f"expected 1 to {self.blocks * self.samples} blocks of results, found {self.results}")

    @property
    def wanted(self) -> int:
        """Blocks of results that the run has."""
        return self.blocks * self.samples if self.results is None else self.results


@dataclass(frozen=True, kw_only=True)
class ColdStartFigures:
    """When the steps of a cold start are done, in cycles since the array had no configuration.

    A block of results is there when every node that nothing reads has done it: outputs have then written it to DRAM.
    """

    #: The last unit has its configuration, and the last memory unit its weights.
    configured: int
    loaded: int
    #: The first block of results is there, and the last one: the pipeline has drained.
    first_output: int
    last_output: int


@dataclass(frozen=True, kw_only=True)
class ColdProgram:
    """A graph to run from empty buffers. Nodes and edges go by their position."""

    dfg: UnitGraph
    #: Node -> firings of a block, and blocks.
    counts: Sequence[int]
    blocks: Sequence[int]
    #: TokenEdge -> tokens that are dropped at its end before the first one that counts.
    dropped: Sequence[int]
    #: TokenEdge -> the input whose bank it writes, where that is not its operand.
    inputs: Sequence[int] = field(default=())
    #: Whether memory units write what comes into their banks, and interfaces into DRAM: configuration goes to neither.
    stores: bool = True

    @property
    def goals(self) -> list[int]:
        """Node -> firings of the whole run."""
        return [count * blocks for count, blocks in zip(self.counts, self.blocks)]

    @property
    def ends(self) -> list[int]:
        """The nodes that nothing reads: what they have done is what the program has put out."""
        return [k for k, edges in enumerate(edges_from(self.dfg)) if not edges]


def section_program(dfg: UnitGraph, counts: Sequence[int], start: ColdStart) -> ColdProgram:
    """Return a section as the program that its cold start runs; ``counts`` are its firings per block.

    SimulationError for a held operand that the graph does not have. Linear in nodes and edges.
    """
    at = positions(dfg)
    unknown = sorted(start.held - at.keys())
    if unknown:
        raise SimulationError(f"has no node {unknown[0]!r} to hold an operand", where=f"graph {dfg.name!r}")
    begins = passes(dfg, start.held)
    last = max(begins, default=0)
    carried = count_tokens(dfg, counts)
    waits = [
        begins[at[e.target]] - begins[at[e.source]] - (e.target in start.held) if e.distance == 0 else 0
        for e in dfg.edges
    ]
    edges = tuple(
        _held(e, start.blocks * tokens, start.blocks * counts[at[e.target]]) if e.target in start.held else e
        for e, tokens in zip(dfg.edges, carried)
    )
    return ColdProgram(
        dfg=replace(dfg, edges=edges),
        counts=counts,
        blocks=[start.wanted + start.blocks * (last - begin) for begin in begins],
        dropped=[wait * start.blocks * tokens for wait, tokens in zip(waits, carried)],
    )


def passes(dfg: UnitGraph, held: frozenset[str]) -> list[int]:
    """Return the pass in which each node begins: as late as what it feeds allows, results in the last one.

    A held operand is filled in the pass before the one in which it is read. Linear in nodes and edges.
    """
    at, leaving, order = positions(dfg), edges_from(dfg), program_order(dfg)
    first = [0] * len(dfg.nodes)
    for node in order:
        for edge in (dfg.edges[k] for k in leaving[node] if dfg.edges[k].distance == 0):
            target = at[edge.target]
            first[target] = max(first[target], first[node] + (edge.target in held))
    begins = [max(first, default=0)] * len(dfg.nodes)
    for node in reversed(order):
        for edge in (dfg.edges[k] for k in leaving[node] if dfg.edges[k].distance == 0):
            begins[node] = min(begins[node], begins[at[edge.target]] - (edge.target in held))
    return begins


def _held(edge: TokenEdge, sample: int, firings: int) -> TokenEdge:
    """Return an edge whose target takes a sample at once, in a double buffer, and reads it in so many firings."""
    return replace(edge, takes=sample, takes_every=firings, room=2 * sample)
