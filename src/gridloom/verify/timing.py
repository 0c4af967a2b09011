"""Rules of time: arrivals and FIFOs, shared delay registers, order and pair edges.

All times are flat cycles of iteration 0. An edge of distance d is read d iterations later, that is at the consumer's
issue + II * d. So each operand has one equation, arrival + FIFO = issue + II * distance, whatever the style of array,
and order and pair edges are an inequality and an equation between issue cycles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gridloom.verify.subject import Subject, edge_name
from gridloom.verify.violation import Violation


def check_arrivals(subject: Subject) -> Iterator[Violation]:
    """Each operand meets arrival + FIFO = issue + II * distance, and waits no longer than its FIFO is deep.

    Delay registers count as FIFOs here (``Route.fifo``); :func:`check_delays` checks how many a tile has.
    """
    for path in subject.paths:
        fifo, target = path.route.fifo, path.target
        depth = _fifo_depth(subject, target.tile, path.edge.operand)
        if fifo < 0 or (depth is not None and fifo > depth):
            allowed = "0 or more" if depth is None else f"0 to {depth} on {target.instance.place}"
            yield Violation("fifo", path.name, f"FIFO {fifo}", allowed)
        if not path.hops:
            continue
        arrival = path.hops[-1][1]
        due = target.cycle + subject.ii * path.edge.distance
        if arrival + fifo != due:
            yield Violation(
                "timing",
                path.name,
                f"arrival {arrival} + FIFO {fifo} = {arrival + fifo}",
                f"{due}: issue {target.cycle} + II {subject.ii} * distance {path.edge.distance}",
            )


def _fifo_depth(subject: Subject, tile: int, operand: int) -> int | None:
    """Return the cycles that an operand of a tile may wait; None: no limit, or no tile."""
    if tile < 0:
        return None
    record = subject.arch.tiles[tile]
    return record.fifo if operand >= len(record.fifos) else record.fifos[operand]


def check_delays(subject: Subject) -> Iterator[Violation]:
    """Operands that wait fit the delay registers of the consumer's tile in every slot.

    A wait takes a register for each cycle from arrival to issue. Waits of one producer's value for several operands of
    a tile share the cycles that they have in common.
    """
    waits: dict[int, dict[tuple[str, int], list[tuple[int, int]]]] = {}
    for path in subject.paths:
        tile = path.target.tile
        if path.hops and path.route.fifo > 0 and tile >= 0 and subject.arch.tiles[tile].delays is not None:
            arrival = path.hops[-1][1]
            value = (path.edge.source, path.route.source_copy)
            waits.setdefault(tile, {}).setdefault(value, []).append((arrival, arrival + path.route.fifo))
    for tile, values in sorted(waits.items()):
        record = subject.arch.tiles[tile]
        counts = _waiting(values.values(), subject.ii)
        worst = max(counts)
        if record.delays is not None and worst > record.delays:
            slot = counts.index(worst)
            yield Violation(
                "delays", f"{record.name} in slot {slot}", f"{worst} waiting values", f"{record.delays} delay registers"
            )


def _waiting(values: Iterable[list[tuple[int, int]]], ii: int) -> list[int]:
    """Return the registers in use in each slot: each value counts once in the union of its intervals.

    A wait of more than II cycles overlaps with that of the next iteration: it takes one register in every slot for each
    whole II, and one more in the slots of the rest.
    """
    counts = [0] * ii
    for intervals in values:
        for start, end in _merged(intervals):
            rounds, rest = divmod(end - start, ii)
            if rounds:
                counts = [count + rounds for count in counts]
            for cycle in range(start, start + rest):
                counts[cycle % ii] += 1
    return counts


def _merged(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the union of intervals as intervals that do not overlap.

    >>> _merged([(4, 6), (0, 2), (1, 3)])
    [(0, 3), (4, 6)]
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def check_order(subject: Subject) -> Iterator[Violation]:
    """Every copy of an order edge's target issues at least the delay after every copy of its source.

    Order edges keep accesses to one array in program order; they carry no value and take no route.
    """
    for k, edge in enumerate(subject.dfg.edges):
        if edge.kind != "order":
            continue
        for source in subject.copies_of(edge.source):
            for target in subject.copies_of(edge.target):
                apart = target.cycle + subject.ii * edge.distance - source.cycle
                if apart < edge.delay:
                    where = edge_name(k, edge)
                    yield Violation("order", where, f"{apart} cycles apart", f"at least {edge.delay}")


def check_pairs(subject: Subject) -> Iterator[Violation]:
    """The ends of a pair edge issue exactly its delay apart, on one tile or on two that share a pool.

    On an array without pools any two tiles will do. A pair is the two halves of one memory access, the address and the
    data, which the memory has to see together.
    """
    for k, edge in enumerate(subject.dfg.edges):
        if edge.kind != "pair":
            continue
        where = edge_name(k, edge)
        for target in subject.copies_of(edge.target):
            source = subject.reader_of(k, target)
            if source is None:
                continue
            apart = target.cycle + subject.ii * edge.distance - source.cycle
            if apart != edge.delay:
                yield Violation("pair-time", where, f"{apart} cycles apart", f"exactly {edge.delay}")
            if source.tile >= 0 and target.tile >= 0 and not _linked(subject, source.tile, target.tile):
                places = f"{source.instance.place} and {target.instance.place}"
                yield Violation("pair-place", where, places, "one tile, or two of one pool")


def _linked(subject: Subject, a: int, b: int) -> bool:
    """Return whether two tiles can be the ends of a pair edge."""
    pools = subject.arch.pools
    return a == b or not pools or any(a in pool.tiles and b in pool.tiles for pool in pools)
