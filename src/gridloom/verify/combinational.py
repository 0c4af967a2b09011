"""No combinational cycle: the steps that take no time, of all routes and ops together, are acyclic.

Each route by itself may be sound and two of them together still close a ring of wires and ALUs without a register,
whose value is undefined in hardware. Rows of combinational ALUs make this a real danger. The check builds a graph over
(resource, slot) and looks for strongly connected components, in time linear in the hops.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import rustworkx

from gridloom.archs.model import Kind
from gridloom.verify.subject import Place, Subject
from gridloom.verify.violation import Violation


def check_cycles(subject: Subject) -> Iterator[Violation]:
    """One violation for each strongly connected set of zero-latency steps.

    A single resource counts when a step leads from it to itself. The violation names at most eight of the resources.
    """
    graph: rustworkx.PyDiGraph[Place, None] = rustworkx.PyDiGraph(multigraph=False)
    number: dict[Place, int] = {}

    def at(resource: int, cycle: int) -> int:
        """Return the node of a resource in the slot of a cycle, which is added when it is first asked for."""
        key = (resource, cycle % subject.ii)
        if key not in number:
            number[key] = graph.add_node(key)
        return number[key]

    loops: set[Place] = set()
    for (a, cycle), (b, later) in _instant_steps(subject):
        graph.add_edge(at(a, cycle), at(b, later), None)
        # A component of one node has no mark of its own when the node leads to itself.
        if a == b:
            loops.add((a, cycle % subject.ii))
    for members in rustworkx.strongly_connected_components(graph):
        places = sorted(graph[k] for k in members)
        if len(places) > 1 or places[0] in loops:
            names = [subject.arch.resource_names[resource] for resource, _ in places]
            shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            yield Violation("combinational-cycle", shown, "a cycle without latency", "a register on every cycle")


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
