"""Packet by packet: the event loop that measures the period of an elastic array.

The same array as in `elastic_kernel`, without values: a packet is one event per hop instead of one per token. Times are
cycles; events wait in a wheel of as many slots as the longest delay. In a cycle, units that are done put packets out,
units that can begin do, then each free link takes the packet whose turn it is. A packet of p tokens keeps a link for p
cycles and its head is at the next one a cycle later; at its consumer the tokens arrive at one per cycle.

Events wait in linked lists of cells, one list per slot of the wheel; the cells come from one pool (``free_cell``), so
that nothing is allocated while it runs. An event is the number of a unit to look at, or the number of units plus that
of a link. A unit is looked at when something it may wait for happens, not in every cycle; its time is added to
``usage`` when it changes its state.

The loop is one function with its state in local arrays: parts that are called with tuples of arrays cost reference
counts at every call.

The flow table has one row for each edge of the graph: units at its ends, tokens that a firing puts and takes, every how
many firings of producer and consumer that happens, room of the consumer's buffer, tokens there at the start. The unit
table has the cycles of a firing and the firings of an iteration.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gridloom.sim.elastic_kernel import Network

Words = NDArray[np.int64]

# Columns of the flow table.
F_SOURCE: Final = 0
F_TARGET: Final = 1
F_PUTS: Final = 2
F_TAKES: Final = 3
F_PUTS_EVERY: Final = 4
F_TAKES_EVERY: Final = 5
F_ROOM: Final = 6
F_EARLY: Final = 7

# Columns of the unit table.
U_WORK: Final = 0
U_REPEATS: Final = 1

# Columns of the usage table of units, and of that of links.
BUSY: Final = 0
STARVED: Final = 1
STALLED: Final = 2
CARRIED: Final = 0
WAITED: Final = 1

# Columns of the table of links' queues: packets that wait, the cycle of the last change, the last cycle in which the
# link was marked to be looked at.
Q_LENGTH: Final = 0
Q_SINCE: Final = 1
Q_MARKED: Final = 2

# What a run comes to.
DONE: Final = 0
DEADLOCK: Final = 1
OUT_OF_TIME: Final = 2
OUT_OF_CELLS: Final = 3

_LONG_AGO: Final = -(1 << 40)


class Limits(NamedTuple):
    """How far a run goes.

    ``first`` is less than ``last``, and ``last`` at most ``cap``, or the run ends as a deadlock when all units have
    reached the cap.
    """

    #: No unit does more iterations than this.
    cap: int
    #: The iterations between whose ends links and units are measured.
    first: int
    last: int
    #: Links serve their flows in turn, or else always the first that waits.
    fair: bool
    max_cycles: int
    #: The wheel of events has 2 ** wheel_bits slots.
    wheel_bits: int


class Routes(NamedTuple):
    """The links of each flow, in order (CSR), and how many links there are.

    Row f is the route of flow f from its source on. Every flow has one link at least.
    """

    start: Words
    links: Words
    link_count: int


class Record(NamedTuple):
    """What a run fills.

    ``finish`` is indexed by iterations done, from 1 on. ``usage`` and ``link_usage`` are reset at the end of iteration
    ``first``, so that at the end of iteration ``last`` they cover the time in between.
    """

    #: The cycle in which each iteration was done by all units.
    finish: Words
    #: Cycles of units and links by what they did.
    usage: Words
    link_usage: Words
    #: Firings of each unit; tokens of each flow that were taken, and that have come.
    fired: Words
    consumed: Words
    delivered: Words


@njit(cache=True, nogil=True, inline="always")
def _due(firing: int, every: int) -> bool:
    """Whether a flow takes part in a firing; most take part in all, and a division costs as much as all the rest."""
    return every == 1 or firing % every == 0


@njit(cache=True, nogil=True, inline="always")
def _join(
    hop: int, cycle: int, marks: int, route_links: Words, waiting: Words, queues: Words, marked: Words, usage: Words
) -> int:
    """Put a packet in the queue of its hop's link, and mark the link to be looked at; returns how many are marked.

    The arrays come one by one: taken out of a tuple in the loop, they are counted at each use, which makes a run take
    1.4 times as long.
    """
    link = route_links[hop]
    usage[link, WAITED] += queues[link, Q_LENGTH] * (cycle - queues[link, Q_SINCE])
    queues[link, Q_SINCE] = cycle
    queues[link, Q_LENGTH] += 1
    waiting[hop] += 1
    if queues[link, Q_MARKED] != cycle:
        queues[link, Q_MARKED] = cycle
        marked[marks] = link
        marks += 1
    return marks


@njit(cache=True, nogil=True, error_model="numpy")
def run_packets(limits: Limits, network: Network, routes: Routes, record: Record) -> int:
    """Run until all units have done ``last`` iterations, none more than ``cap``; returns what the run came to.

    Fills the record: ``finish`` for each iteration, ``usage`` and ``link_usage`` between the ends of iterations
    ``first`` and ``last``; ``fired``, ``consumed`` and ``delivered`` as they stand at the end. O(firings + packets *
    hops).

    The run ends with ``DONE``, with ``DEADLOCK`` when no event is left, with ``OUT_OF_TIME`` after ``max_cycles``,
    and with ``OUT_OF_CELLS`` when more events wait than the pool holds. Usage is cleared at the end of iteration
    ``first``, so that only the steady state is counted.

    The state of a run, beside the record; u is a unit, f a flow, h a hop of a route, l a link:

    - ``until[u]``: the cycle in which its firing ends, -1 while it is idle; ``since[u]``: since when its present state
      lasts; ``reason[u]``: what it lacks while it is idle.
    - ``promised[f]``: tokens put out or reserved by firings under way, against which the room of the buffer is checked.
    - ``consumed_before[f]``, ``consumed_at[f]``: the tokens taken before the last taking, and its cycle; other units
      see a taking one cycle later.
    - ``granted_at[f]``: the cycle in which the last link took the latest packet, whose tokens come one per cycle from
      then on.
    - ``waiting[h]``: packets that wait for a hop; ``link_hops`` lists the hops of each link (CSR by ``link_start``).
    - ``free_at[l]``: the cycle from which a link is free; ``called_at[l]``: the cycle of the event that will look at
      it, -1 for none; ``turn[l]``: the position in its list of hops that is served next.
    - ``marked``: the links to be looked at in this cycle; ``arriving`` and ``leaving``: the hops that heads of packets
      reach in this cycle and in the next one.
    - ``done_units[k]``: units that have done iteration k.
    """
    cap, first, last, fair, max_cycles, wheel_bits = limits
    units, input_start, inputs, output_start, outputs, flows = network
    route_start, route_links, link_count = routes
    finish, usage, link_usage, fired, consumed, delivered = record
    count = len(units)
    hops = len(route_links)
    flow_of = np.empty(hops, dtype=np.int64)
    link_start = np.zeros(link_count + 1, dtype=np.int64)
    for f in range(len(flows)):
        for h in range(route_start[f], route_start[f + 1]):
            flow_of[h] = f
            link_start[route_links[h] + 1] += 1
    for link in range(link_count):
        link_start[link + 1] += link_start[link]
    link_hops = np.empty(hops, dtype=np.int64)
    at = link_start[:-1].copy()
    for h in range(hops):
        link_hops[at[route_links[h]]] = h
        at[route_links[h]] += 1

    until = np.full(count, -1, dtype=np.int64)
    since = np.zeros(count, dtype=np.int64)
    reason = np.full(count, STARVED, dtype=np.int64)
    promised = np.empty(len(flows), dtype=np.int64)
    consumed_before = np.zeros(len(flows), dtype=np.int64)
    consumed_at = np.full(len(flows), _LONG_AGO, dtype=np.int64)
    granted_at = np.full(len(flows), _LONG_AGO, dtype=np.int64)
    for f in range(len(flows)):
        promised[f] = flows[f, F_EARLY]
        delivered[f] = flows[f, F_EARLY]
    waiting = np.zeros(hops, dtype=np.int64)
    # Four columns, of which three are used: an index is a shift then.
    queues = np.zeros((link_count, 4), dtype=np.int64)
    free_at = np.zeros(link_count, dtype=np.int64)
    called_at = np.full(link_count, -1, dtype=np.int64)
    turn = np.zeros(link_count, dtype=np.int64)
    marked = np.empty(link_count + 1, dtype=np.int64)
    for link in range(link_count):
        queues[link, Q_MARKED] = -1
    arriving = np.empty(link_count + 1, dtype=np.int64)
    leaving = np.empty(link_count + 1, dtype=np.int64)
    leaving_count = 0
    done_units = np.zeros(len(finish), dtype=np.int64)

    slots = 1 << wheel_bits
    mask = slots - 1
    head = np.full(slots, -1, dtype=np.int64)
    cells = 16 * (count + link_count) + 4096
    cell_what = np.empty(cells, dtype=np.int64)
    cell_next = np.empty(cells, dtype=np.int64)
    free_cell = 0
    for k in range(cells):
        cell_next[k] = k + 1 if k + 1 < cells else -1
    pending = 0
    for u in range(count):
        k = free_cell
        free_cell = cell_next[k]
        cell_what[k] = u
        cell_next[k] = head[0]
        head[0] = k
        pending += 1

    cycle = 0
    while cycle < max_cycles:
        if pending == 0 and leaving_count == 0:
            return DEADLOCK
        marks = 0
        # Heads of packets that left a link in the cycle before are at the next one now.
        arriving, leaving = leaving, arriving
        arriving_count = leaving_count
        leaving_count = 0
        for k in range(arriving_count):
            h = arriving[k]
            marks = _join(h, cycle, marks, route_links, waiting, queues, marked, link_usage)
        cell = head[cycle & mask]
        head[cycle & mask] = -1
        while cell >= 0:
            after = cell_next[cell]
            what = cell_what[cell]
            cell_next[cell] = free_cell
            free_cell = cell
            cell = after
            pending -= 1
            if what >= count:
                link = what - count
                called_at[link] = -1
                if queues[link, Q_MARKED] != cycle:
                    queues[link, Q_MARKED] = cycle
                    marked[marks] = link
                    marks += 1
                continue
            u = what
            if until[u] == cycle:
                usage[u, BUSY] += cycle - since[u]
                since[u] = cycle
                until[u] = -1
                for k in range(output_start[u], output_start[u + 1]):
                    f = outputs[k]
                    if _due(fired[u], flows[f, F_PUTS_EVERY]):
                        marks = _join(route_start[f], cycle, marks, route_links, waiting, queues, marked, link_usage)
                if fired[u] % units[u, U_REPEATS] == 0:
                    iteration = fired[u] // units[u, U_REPEATS]
                    if iteration < len(finish):
                        done_units[iteration] += 1
                        if done_units[iteration] == count:
                            finish[iteration] = cycle
                            if iteration == first:
                                for v in range(count):
                                    usage[v, BUSY] = 0
                                    usage[v, STARVED] = 0
                                    usage[v, STALLED] = 0
                                    since[v] = cycle
                                for other in range(link_count):
                                    link_usage[other, CARRIED] = 0
                                    link_usage[other, WAITED] = 0
                                    queues[other, Q_SINCE] = cycle
                            if iteration == last:
                                for v in range(count):
                                    usage[v, BUSY if until[v] >= 0 else reason[v]] += cycle - since[v]
                                for other in range(link_count):
                                    link_usage[other, WAITED] += queues[other, Q_LENGTH] * (
                                        cycle - queues[other, Q_SINCE]
                                    )
                                return DONE
            if until[u] >= 0 or fired[u] >= cap * units[u, U_REPEATS]:
                continue
            # Can it begin? What it lacks, and when that will be there if it is known.
            lack = -1
            wake = cycle
            for k in range(input_start[u], input_start[u + 1]):
                f = inputs[k]
                if not _due(fired[u], flows[f, F_TAKES_EVERY]):
                    continue
                there = delivered[f]
                under_way = flows[f, F_PUTS] - (cycle - granted_at[f])
                if under_way > 0:
                    there -= under_way
                if there - consumed[f] < flows[f, F_TAKES]:
                    lack = STARVED
                    if under_way > 0 and delivered[f] - consumed[f] >= flows[f, F_TAKES]:
                        wake = max(wake, cycle + flows[f, F_TAKES] - (there - consumed[f]))
                    else:
                        wake = -1
                        break
            if lack < 0:
                for k in range(output_start[u], output_start[u + 1]):
                    f = outputs[k]
                    if not _due(fired[u] + 1, flows[f, F_PUTS_EVERY]):
                        continue
                    seen = consumed[f] if consumed_at[f] < cycle else consumed_before[f]
                    if flows[f, F_SOURCE] == flows[f, F_TARGET] and _due(fired[u], flows[f, F_TAKES_EVERY]):
                        seen += flows[f, F_TAKES]
                    if promised[f] - seen + flows[f, F_PUTS] > flows[f, F_ROOM]:
                        lack = STALLED
                        wake = -1
                        break
            if lack >= 0:
                if lack != reason[u]:
                    usage[u, reason[u]] += cycle - since[u]
                    since[u] = cycle
                    reason[u] = lack
                if wake > cycle:
                    k = free_cell
                    if k < 0:
                        return OUT_OF_CELLS
                    free_cell = cell_next[k]
                    cell_what[k] = u
                    cell_next[k] = head[wake & mask]
                    head[wake & mask] = k
                    pending += 1
                continue
            usage[u, reason[u]] += cycle - since[u]
            since[u] = cycle
            for k in range(input_start[u], input_start[u + 1]):
                f = inputs[k]
                if not _due(fired[u], flows[f, F_TAKES_EVERY]):
                    continue
                consumed_before[f] = consumed[f]
                consumed_at[f] = cycle
                consumed[f] += flows[f, F_TAKES]
                producer = flows[f, F_SOURCE]
                # A unit that waits for this room, or is done in this very cycle, sees it in the next one.
                if until[producer] <= cycle:
                    k2 = free_cell
                    if k2 < 0:
                        return OUT_OF_CELLS
                    free_cell = cell_next[k2]
                    cell_what[k2] = producer
                    cell_next[k2] = head[(cycle + 1) & mask]
                    head[(cycle + 1) & mask] = k2
                    pending += 1
            for k in range(output_start[u], output_start[u + 1]):
                f = outputs[k]
                if _due(fired[u] + 1, flows[f, F_PUTS_EVERY]):
                    promised[f] += flows[f, F_PUTS]
            fired[u] += 1
            until[u] = cycle + units[u, U_WORK]
            k = free_cell
            if k < 0:
                return OUT_OF_CELLS
            free_cell = cell_next[k]
            cell_what[k] = u
            cell_next[k] = head[until[u] & mask]
            head[until[u] & mask] = k
            pending += 1

        for m in range(marks):
            link = marked[m]
            if queues[link, Q_LENGTH] == 0:
                continue
            if free_at[link] <= cycle:
                begin = link_start[link]
                sharing = link_start[link + 1] - begin
                place = turn[link]
                while waiting[link_hops[begin + place]] == 0:
                    place += 1
                    if place == sharing:
                        place = 0
                turn[link] = place + 1 if fair and place + 1 < sharing else 0
                h = link_hops[begin + place]
                f = flow_of[h]
                size = flows[f, F_PUTS]
                link_usage[link, WAITED] += queues[link, Q_LENGTH] * (cycle - queues[link, Q_SINCE])
                queues[link, Q_SINCE] = cycle
                waiting[h] -= 1
                queues[link, Q_LENGTH] -= 1
                free_at[link] = cycle + size
                link_usage[link, CARRIED] += size
                if h + 1 < route_start[f + 1]:
                    leaving[leaving_count] = h + 1
                    leaving_count += 1
                else:
                    missing = flows[f, F_TAKES] - (delivered[f] - consumed[f])
                    delivered[f] += size
                    granted_at[f] = cycle
                    target = flows[f, F_TARGET]
                    if 0 < missing <= size and until[target] < 0:
                        k = free_cell
                        if k < 0:
                            return OUT_OF_CELLS
                        free_cell = cell_next[k]
                        cell_what[k] = target
                        cell_next[k] = head[(cycle + missing) & mask]
                        head[(cycle + missing) & mask] = k
                        pending += 1
            if queues[link, Q_LENGTH] > 0 and called_at[link] < 0:
                called_at[link] = free_at[link]
                k = free_cell
                if k < 0:
                    return OUT_OF_CELLS
                free_cell = cell_next[k]
                cell_what[k] = count + link
                cell_next[k] = head[free_at[link] & mask]
                head[free_at[link] & mask] = k
                pending += 1
        cycle += 1
    return OUT_OF_TIME
