"""Rules about routes: one for each edge and copy, over arcs that exist, from the producer to the right operand.

A route lists the resources that a value is in, each with its flat cycle, from the first one after the producer's
function unit to the operand input of the consumer. The rules compare consecutive hops with the arcs of the unrolled
array, which has the settings of the mapping applied. Elastic arrays have arcs but no cycles, so that only the ways are
checked there.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from gridloom.archs.model import Kind
from gridloom.verify.subject import Path, Place, Subject, edge_name, instance_name
from gridloom.verify.violation import Violation


def check_presence(subject: Subject) -> Iterator[Violation]:
    """Every data edge into every copy of its target has a route."""
    for k, edge in subject.routed_edges():
        for target in subject.copies_of(edge.target):
            if (k, target.instance.copy) not in subject.routed:
                yield Violation("missing-route", edge_name(k, edge), f"no route into {target.name}", "one")


def check_paths(subject: Subject) -> Iterator[Violation]:
    """Every route starts at its producer, goes from arc to arc in time and ends at its operand input."""
    if subject.graph is None:
        return
    for path in subject.paths:
        if not path.hops:
            yield Violation("route-end", path.name, "no hop", _operand_input(subject, path))
            continue
        yield from _check_start(subject, path)
        for before, after in pairwise(path.hops):
            yield from _check_step(subject, path, before, after)
        yield from _check_end(subject, path)


def _name(subject: Subject, place: Place) -> str:
    """Return a place as the violation shows it: elastic arrays have no cycles to show."""
    name = subject.arch.resource_names[place[0]]
    return f"{name} at {place[1]}" if subject.timed else name


def _check_start(subject: Subject, path: Path) -> Iterator[Violation]:
    """Check that a route starts where and when its producer's result appears.

    A value that is kept (in a register, in memory or in a constant register) may start a route in that resource itself,
    at any cycle. Every other route starts in a resource that the function unit has an arc to, at issue + op latency.
    """
    source, (first, cycle) = path.source, path.hops[0]
    if source.resource < 0:
        return
    kept = subject.kind(source.resource) in (Kind.REG, Kind.MEM, Kind.CONST)
    if kept and first == source.resource:
        return
    place = subject.arch.resource_names[source.resource]
    reached = source.tile >= 0 and subject.latencies(source.resource, source.cycle, first)
    if not reached:
        allowed = place if kept else f"a resource that {place} leads to"
        yield Violation("route-start", path.name, _name(subject, path.hops[0]), allowed)
    elif not source.timeless and subject.timed and cycle != source.cycle + source.latency:
        yield Violation(
            "route-time",
            path.name,
            _name(subject, path.hops[0]),
            f"cycle {source.cycle + source.latency}: issue {source.cycle} + latency {source.latency}",
        )


def _check_step(subject: Subject, path: Path, before: Place, after: Place) -> Iterator[Violation]:
    """Check that an arc of the array takes a signal from one hop to the next in the cycles between them."""
    latencies = subject.latencies(before[0], before[1], after[0])
    step = f"{_name(subject, before)} -> {_name(subject, after)}"
    if not latencies:
        yield Violation("route-step", path.name, step, "an arc of the array")
    elif subject.timed and after[1] - before[1] not in latencies:
        cycles = " or ".join(str(before[1] + latency) for latency in sorted(set(latencies)))
        yield Violation("route-time", path.name, step, f"cycle {cycles}")


def _operand_input(subject: Subject, path: Path) -> str:
    """Return where a route has to end, in words."""
    target = path.target
    where = instance_name(path.edge.target, path.route.copy)
    return f"operand {path.edge.operand} of {where} on {target.instance.place}"


def _check_end(subject: Subject, path: Path) -> Iterator[Violation]:
    """Check that a route ends at the operand input that its edge names."""
    last = path.hops[-1][0]
    right = (
        subject.kind(last) == Kind.IN
        and subject.resource_tile[last] == path.target.tile
        and int(subject.arch.position[last]) == path.edge.operand
    )
    if not right:
        yield Violation("route-end", path.name, _name(subject, path.hops[-1]), _operand_input(subject, path))
