"""Steps without latency, of all routes and ops together: they are acyclic, and cross no more links than allowed.

Each route by itself may be sound and two of them together still close a ring of wires and ALUs without a register,
whose value is undefined in hardware. Rows of combinational ALUs make this a real danger. The check builds a graph over
(resource, slot) and looks for strongly connected components, in time linear in the hops.

Where tiles pass values on from link to link within a cycle, the clock limits how many links one chain of multiplexers
may cross. The chains are those of all routes together as well: a wire that two routes of one value share has one driver
in hardware, whichever of them it comes from.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import rustworkx

from gridloom.archs.model import Kind
from gridloom.verify.subject import Place, Subject
from gridloom.verify.violation import Violation

#: (resource, slot) -> (resource, slot) without a cycle in between.
InstantGraph = rustworkx.PyDiGraph[Place, None]


def check_cycles(subject: Subject) -> Iterator[Violation]:
    """One violation for each strongly connected set of zero-latency steps.

    A single resource counts when a step leads from it to itself. The violation names at most eight of the resources.
    """
    graph = _instant_graph(subject)
    # A component of one node has no mark of its own when the node leads to itself.
    loops = {(a, cycle % subject.ii) for (a, cycle), (b, _) in _instant_steps(subject) if a == b}
    for members in rustworkx.strongly_connected_components(graph):
        places = sorted(graph[k] for k in members)
        if len(places) > 1 or places[0] in loops:
            names = [subject.arch.resource_names[resource] for resource, _ in places]
            shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            yield Violation("combinational-cycle", shown, "a cycle without latency", "a register on every cycle")


def check_links_per_cycle(subject: Subject) -> Iterator[Violation]:
    """One violation for each chain of links that is longer than a cycle allows, with the links in their order.

    A chain is reported at its last link. Chains that run in a circle are left to ``check_cycles``.
    """
    limit = subject.arch.links_per_cycle
    if limit is None:
        return
    graph = _instant_graph(subject)
    if not rustworkx.is_directed_acyclic_graph(graph):
        return
    crossed: dict[int, tuple[int, ...]] = {}
    for node in rustworkx.topological_sort(graph):
        before = max((crossed[k] for k in graph.predecessor_indices(node)), key=len, default=())
        resource = graph[node][0]
        crossed[node] = (*before, resource) if subject.kind(resource) == Kind.LINK else before
    names = subject.arch.resource_names
    for node, links in sorted(crossed.items(), key=lambda item: graph[item[0]]):
        resource, slot = graph[node]
        last = subject.kind(resource) == Kind.LINK
        if last and len(links) > limit and not any(len(crossed[k]) > len(links) for k in _onward(graph, subject, node)):
            found = f"{len(links)} links in one cycle ({', '.join(names[r] for r in links)})"
            yield Violation("links-per-cycle", f"{names[resource]} in slot {slot}", found, f"{limit}")


def _onward(graph: InstantGraph, subject: Subject, node: int) -> list[int]:
    """The links that a chain goes on to from a link, over inner wires of a crossbar or straight."""
    found: list[int] = []
    waiting = list(graph.successor_indices(node))
    while waiting:
        after = waiting.pop()
        if subject.kind(graph[after][0]) == Kind.LINK:
            found.append(after)
        else:
            waiting += graph.successor_indices(after)
    return found


def _instant_graph(subject: Subject) -> InstantGraph:
    """Return the graph of all steps that take no time, over resources in slots."""
    graph: InstantGraph = rustworkx.PyDiGraph(multigraph=False)
    number: dict[Place, int] = {}

    def at(resource: int, cycle: int) -> int:
        """Return the node of a resource in the slot of a cycle, which is added when it is first asked for."""
        key = (resource, cycle % subject.ii)
        if key not in number:
            number[key] = graph.add_node(key)
        return number[key]

    for (a, cycle), (b, later) in _instant_steps(subject):
        graph.add_edge(at(a, cycle), at(b, later), None)
    return graph


def _instant_steps(subject: Subject) -> Iterator[tuple[Place, Place]]:
    """Pairs of places that a value is in at the same cycle, one after the other.

    These are an op without latency and the first hop of its result, two hops in one cycle, and the last hop of a route
    without a FIFO wait and the function unit that reads it.
    """
    for path in subject.paths:
        source, target = path.source, path.target
        if not path.hops:
            continue
        if source.tile >= 0 and source.latency == 0 and subject.kind(source.resource) == Kind.FU:
            yield (source.resource, source.cycle), path.hops[0]
        for before, after in pairwise(path.hops):
            if before[1] == after[1]:
                yield before, after
        if target.resource >= 0 and path.route.fifo == 0:
            yield path.hops[-1], (target.resource, path.hops[-1][1])
