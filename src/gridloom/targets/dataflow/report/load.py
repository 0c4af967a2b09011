"""Where the cycles of a mapped pipeline go: measured, named and put together for the report.

The pipeline is measured by a timed simulation after a few iterations of warming up. For each unit the cycles split into
working, waiting for tokens (starved) and waiting for room (stalled); for each operation the figures of a roofline are
added. Since tokens wait for each other along whole paths, the busiest unit or link names the bottleneck only where it
is full; otherwise the round trip of packets and credits does.
"""

from __future__ import annotations

import numpy as np

from gridloom.archs.spec import parameters
from gridloom.mapping.model import Mapping
from gridloom.targets.dataflow import rates
from gridloom.targets.dataflow.families.rdu import RduParameters
from gridloom.targets.dataflow.machine.measure import Measurement, Meter
from gridloom.targets.dataflow.report.card import DataflowLoad, OperationLoad, UnitLoad

#: A unit or link that works more than this share of the time is the bottleneck by itself.
_FULL = 0.97


def dataflow_load(mapping: Mapping, *, iterations: int = 8) -> DataflowLoad | None:
    """Return the load of a mapped pipeline; None without edges, without switches on the array, or after a deadlock."""
    if not mapping.arch.has("switches") or not mapping.dfg.edges:
        return None
    meter = Meter(mapping.dfg, mapping.arch)
    start, links = flow_links(mapping, meter)
    measured = meter.measure(start, links, skip=2, iterations=iterations)
    if measured.deadlock:
        return None
    units = _units(mapping, meter, measured)
    names = [mapping.arch.resource_names[r] for r in np.flatnonzero(meter.link_number >= 0)]
    shares = measured.links[:, 0] / measured.cycles
    loads = {names[k]: float(shares[k]) for k in np.flatnonzero(shares)}
    bottleneck, hot = _bottleneck(mapping, meter, units, loads)
    return DataflowLoad(
        period=measured.period,
        bound=measured.bound,
        bottleneck=bottleneck,
        hot=hot,
        units=units,
        operations=_operations(mapping, meter, measured, units),
        links=loads,
    )


def flow_links(mapping: Mapping, meter: Meter) -> tuple[np.ndarray, np.ndarray]:
    """Return the links of every edge's route, as `Meter.measure` takes them.

    These are two arrays: edge e has the link numbers ``flat[start[e]:start[e + 1]]``.
    """
    start, flat = [0], []
    for edge in range(len(mapping.dfg.edges)):
        numbers = (int(meter.link_number[mapping.arch.resource(name)]) for name, _ in mapping.route_of[edge, 0].hops)
        flat += [number for number in numbers if number >= 0]
        start.append(len(flat))
    return np.array(start, dtype=np.int64), np.array(flat, dtype=np.int64)


def _units(mapping: Mapping, meter: Meter, measured: Measurement) -> tuple[UnitLoad, ...]:
    """Return for each node which share of the time its unit works, waits for tokens and waits for room."""
    stage = rates.stages(meter.dfg, meter.counts)
    shares = measured.units / measured.cycles
    return tuple(
        UnitLoad(
            tile=mapping.instance_of[node.id, 0].place,
            node=node.id,
            operation=node.label or node.op,
            stage=stage[k],
            busy=float(shares[k, 0]),
            starved=float(shares[k, 1]),
            stalled=float(shares[k, 2]),
        )
        for k, node in enumerate(mapping.dfg.nodes)
    )


def _operations(
    mapping: Mapping, meter: Meter, measured: Measurement, units: tuple[UnitLoad, ...]
) -> tuple[OperationLoad, ...]:
    """Return one row for each operation that computes: what its units do per cycle beside what they could.

    The roof is that of a roofline model: the peak of the units, or intensity times what the links into them can carry.
    """
    dfg = meter.dfg
    p = parameters(RduParameters, mapping.arch.spec)
    carried = rates.edge_tokens(dfg, meter.counts)
    members: dict[str, list[int]] = {}
    for k, node in enumerate(dfg.nodes):
        if dfg.op_class(node.id) in ("gemm", "vector"):
            members.setdefault(units[k].operation, []).append(k)
    rows = []
    for operation, mine in members.items():
        # A multiplication and an addition per lane and cycle; vector operations count one.
        each = 2 * p.lanes if dfg.op_class(dfg.nodes[mine[0]].id) == "gemm" else p.lanes
        flops = sum(dfg.nodes[k].work * meter.counts[k] * each for k in mine)
        flows = [e for k in mine for e in dfg.in_edges[k]]
        intensity = flops / max(1, sum(carried[e] for e in flows) * p.vector_bytes)
        peak = float(each * len(mine))
        rows.append(
            OperationLoad(
                operation=operation,
                units=len(mine),
                flops=flops,
                intensity=intensity,
                peak=peak,
                # A link brings one vector per cycle, and at best every stream into a unit has a link of its own.
                roof=min(peak, intensity * len(flows) * p.vector_bytes),
                reached=flops / measured.period,
                busy=float(np.mean([units[k].busy for k in mine])),
                starved=float(np.mean([units[k].starved for k in mine])),
                stalled=float(np.mean([units[k].stalled for k in mine])),
            )
        )
    return tuple(rows)


def _bottleneck(
    mapping: Mapping, meter: Meter, units: tuple[UnitLoad, ...], links: dict[str, float]
) -> tuple[str, frozenset[str]]:
    """Return what holds the pipeline up, in a sentence, and the tiles and links that the sentence is about.

    A full unit comes first, then a full link. Where nothing is full, the input of the busiest unit with the longest
    round trip, weighted by what it carries, is named.
    """
    busiest = max(units, key=lambda unit: unit.busy)
    where = frozenset({busiest.tile})
    if busiest.busy >= _FULL:
        return f"Bottleneck: {busiest.node} on {busiest.tile} works all the time.", where
    link = max(links, key=lambda name: links[name])
    if links[link] >= _FULL:
        return f"Bottleneck: link {link} carries vectors all the time.", frozenset({link})
    # Neither is full: a packet's way there and back takes longer than its buffer lasts.
    dfg = meter.dfg
    edges = [e for e in dfg.in_edges[dfg.index[busiest.node]] if dfg.edges[e].room is None]
    carried = rates.edge_tokens(dfg, meter.counts)

    def pressure(e: int) -> float:
        """Return how much a round trip of packets and credits over an edge costs per iteration, up to a factor."""
        return carried[e] * (2.0 * dfg.edges[e].tokens + len(mapping.route_of[e, 0].hops))

    longest = max(edges, key=pressure, default=None)
    working = f"Bottleneck: {busiest.node} on {busiest.tile} is busy {busiest.busy:.0%}; "
    if longest is None:
        return f"{working}it waits for memory.", where
    hops = [name for name, _ in mapping.route_of[longest, 0].hops if name in links]
    return (
        f"{working}packets of {dfg.edges[longest].source} come over {len(hops)} links and their credit goes back, "
        "longer than a FIFO lasts.",
        where | set(hops),
    )
