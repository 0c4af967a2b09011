"""Packet by packet: the event loop that measures the period of an elastic array.

The same machine as in `token_kernel`, without values and without a count of single tokens on their way. Times
are cycles; events wait in a wheel of as many slots as the longest delay. A cycle has three phases:

1. Packets whose last vector has left a queue make room, packets that reach a queue join it, credits come back.
2. Units that are done put packets out, units that can begin do.
3. Each free resource takes the packet whose turn it is, if the queue behind it has room for all of it.

A packet of p vectors keeps a resource for p times its pace, and its head is in the queue behind it a cycle later; a
queue sends one packet at a time, in order. At its consumer the vectors arrive one by one. Nothing in phase 3 changes
what another resource may do in the same cycle, and nothing in phase 2 what another unit may, so that the order within
a phase does not matter.

Events wait in linked lists of cells, one list per slot of the wheel, and all cells come from one pool, so that nothing
is allocated while it runs. A unit is looked at when something it may wait for happens, not in every cycle; its time is
added to its usage when it changes its state. State is in tables of 64-bit numbers (`packet_tables`).
"""

from __future__ import annotations

import numpy as np

from gridloom.jit import borrowing, kernel
from gridloom.targets.dataflow.machine import packet_tables as col
from gridloom.targets.dataflow.machine.natural import natural
from gridloom.targets.dataflow.machine.packet_tables import PacketAgenda, PacketNetwork, RunLimits, RunRecord, Words
from gridloom.targets.dataflow.machine.packet_trees import PacketTrees


@borrowing
def _push(agenda: PacketAgenda, when: int, what: int) -> None:
    """Enter an event; a run that has no cell left for it ends."""
    numbers, cells = agenda.numbers, agenda.cells
    cell = numbers[col.N_FREE]
    if cell < 0:
        numbers[col.N_STATUS] = col.OUT_OF_CELLS
        return
    slot = natural(when & (len(agenda.head) - 1))
    numbers[col.N_FREE] = cells[cell, 1]
    cells[cell, 0] = what
    cells[cell, 1] = agenda.head[slot]
    agenda.head[slot] = cell
    numbers[col.N_EVENTS] += 1


@borrowing
def _look(agenda: PacketAgenda, units: Words, u: int) -> None:
    """Have a unit looked at in this cycle."""
    numbers = agenda.numbers
    if units[u, col.U_LOOKED] != numbers[col.N_CYCLE]:
        units[u, col.U_LOOKED] = numbers[col.N_CYCLE]
        agenda.looks[natural(numbers[col.N_LOOKS])] = u
        numbers[col.N_LOOKS] += 1


@borrowing
def _mark(agenda: PacketAgenda, links: Words, link: int) -> None:
    """Have a resource looked at in this cycle."""
    numbers = agenda.numbers
    if links[link, col.L_MARKED] != numbers[col.N_CYCLE]:
        links[link, col.L_MARKED] = numbers[col.N_CYCLE]
        agenda.marks[natural(numbers[col.N_MARKS])] = link
        numbers[col.N_MARKS] += 1


@borrowing
def _count_wait(links: Words, link_usage: Words, link: int, cycle: int, change: int) -> None:
    """Add the waiting of a resource's packets up to now, and change how many wait."""
    link_usage[link, col.WAITED] += links[link, col.L_READY] * (cycle - links[link, col.L_SINCE])
    links[link, col.L_SINCE] = cycle
    links[link, col.L_READY] += change


# -- phase 1: queues and credits --------------------------------------------------------------------------------------


@borrowing
def _offer(agenda: PacketAgenda, network: PacketNetwork, hops: Words, link_usage: Words, h: int) -> None:
    """A packet that has crossed hop h is at the front of its queue: the hops after it may take it."""
    pending = 0
    child = hops[h, col.H_CHILD]
    while child >= 0:
        hops[child, col.H_READY] = 1
        link = natural(hops[child, col.H_LINK])
        _count_wait(network.links, link_usage, link, agenda.numbers[col.N_CYCLE], 1)
        _mark(agenda, network.links, link)
        pending += 1
        child = hops[child, col.H_NEXT]
    hops[h, col.H_PENDING] = pending
    hops[h, col.H_END] = -1


@borrowing
def _join(agenda: PacketAgenda, network: PacketNetwork, hops: Words, link_usage: Words, h: int) -> None:
    """The head of a packet that has crossed hop h reaches the queue behind it."""
    queues = network.queues
    q = natural(hops[h, col.H_QUEUE])
    at = queues[q, col.Q_FRONT] + queues[q, col.Q_COUNT]
    if at >= queues[q, col.Q_CAPACITY]:
        at -= queues[q, col.Q_CAPACITY]
    agenda.rings[natural(queues[q, col.Q_RING] + at)] = h
    queues[q, col.Q_COUNT] += 1
    if queues[q, col.Q_COUNT] == 1:
        _offer(agenda, network, hops, link_usage, h)


@borrowing
def _leave(agenda: PacketAgenda, network: PacketNetwork, hops: Words, link_usage: Words, h: int) -> None:
    """The front packet of the queue behind hop h has left it for all hops after it."""
    queues = network.queues
    hops[h, col.H_PENDING] = -1
    if hops[h, col.H_PARENT] < 0:
        hops[h, col.H_WAITING] -= 1
        if hops[h, col.H_WAITING] > 0:
            _offer(agenda, network, hops, link_usage, h)
        return
    q = natural(hops[h, col.H_QUEUE])
    queues[q, col.Q_USED] -= hops[h, col.H_SIZE]
    queues[q, col.Q_COUNT] -= 1
    queues[q, col.Q_FRONT] += 1
    if queues[q, col.Q_FRONT] == queues[q, col.Q_CAPACITY]:
        queues[q, col.Q_FRONT] = 0
    _mark(agenda, network.links, natural(queues[q, col.Q_FEEDER]))
    if queues[q, col.Q_COUNT] > 0:
        front = natural(queues[q, col.Q_RING] + queues[q, col.Q_FRONT])
        _offer(agenda, network, hops, link_usage, natural(agenda.rings[front]))


@borrowing
def _crossed(
    agenda: PacketAgenda, network: PacketNetwork, hops: Words, tree_unit: Words, link_usage: Words, h: int
) -> None:
    """A packet has crossed hop h wholly: its resource is free, and perhaps the queue before it, too."""
    link = natural(hops[h, col.H_LINK])
    if network.links[link, col.L_READY] > 0:
        _mark(agenda, network.links, link)
    before = natural(hops[h, col.H_PARENT])
    if hops[before, col.H_PENDING] == 0 and hops[before, col.H_END] == agenda.numbers[col.N_CYCLE]:
        _leave(agenda, network, hops, link_usage, before)
        if hops[before, col.H_PARENT] < 0:
            _look(agenda, network.units, natural(tree_unit[before]))


@borrowing
def _events(agenda: PacketAgenda, network: PacketNetwork, hops: Words, tree_unit: Words, link_usage: Words) -> None:
    """Phase 1 of a cycle, and the list of units to look at in phase 2."""
    numbers, cells = agenda.numbers, agenda.cells
    units, flows = network.units, network.flows
    count, hop_count = len(units), len(hops)
    slot = natural(numbers[col.N_CYCLE] & (len(agenda.head) - 1))
    cell = agenda.head[slot]
    agenda.head[slot] = -1
    while cell >= 0:
        after, what = cells[cell, 1], natural(cells[cell, 0])
        cells[cell, 1] = numbers[col.N_FREE]
        numbers[col.N_FREE] = cell
        cell = after
        numbers[col.N_EVENTS] -= 1
        if what < count:
            _look(agenda, units, what)
            continue
        what -= count
        if what < hop_count:
            _crossed(agenda, network, hops, tree_unit, link_usage, what)
            continue
        what -= hop_count
        if what < hop_count:
            _join(agenda, network, hops, link_usage, what)
            continue
        what -= hop_count
        if what < len(flows):
            flows[what, col.F_FREED] += flows[what, col.F_TAKES]
            source = natural(flows[what, col.F_SOURCE])
            if units[source, col.U_UNTIL] <= numbers[col.N_CYCLE]:
                _look(agenda, units, source)
            continue
        _mark(agenda, network.links, what - len(flows))


# -- phase 2: units ---------------------------------------------------------------------------------------------------


@borrowing
def _due(firing: int, every: int) -> bool:
    """Whether a flow takes part in a firing; most take part in all, and a division costs as much as all the rest."""
    return every == 1 or firing % every == 0


@borrowing
def _lacking(agenda: PacketAgenda, network: PacketNetwork, hops: Words, tree_table: Words, waiting: int, u: int) -> int:
    """What an idle unit lacks to begin: col.STARVED, col.STALLED, or -1 for nothing.

    Where the tokens that it lacks are coming, it is looked at again when they are there.
    """
    units, flows = network.units, network.flows
    cycle, fired = agenda.numbers[col.N_CYCLE], units[u, col.U_FIRED]
    wake = cycle
    for k in range(natural(network.input_start[u]), network.input_start[u + 1]):
        f = natural(network.inputs[k])
        if not _due(fired, flows[f, col.F_TAKES_EVERY]):
            continue
        short = flows[f, col.F_TAKES] - (flows[f, col.F_COME] - flows[f, col.F_TAKEN])
        if short > 0:
            return col.STARVED
        # The tokens that are needed are there or on their last resource; the last one needed comes so much later.
        lag = flows[f, col.F_PUTS] + short
        if lag > 0:
            wake = max(wake, flows[f, col.F_BEGAN] + flows[f, col.F_PACE] * lag)
    if wake > cycle:
        _push(agenda, wake, u)
        return col.STARVED
    for k in range(natural(network.output_start[u]), network.output_start[u + 1]):
        f = natural(network.outputs[k])
        if not _due(fired + 1, flows[f, col.F_PUTS_EVERY]):
            continue
        free = flows[f, col.F_ROOM] + flows[f, col.F_FREED] - flows[f, col.F_PROMISED]
        if flows[f, col.F_SOURCE] == flows[f, col.F_TARGET] and _due(fired, flows[f, col.F_TAKES_EVERY]):
            free += flows[f, col.F_TAKES]
        if free < flows[f, col.F_PUTS]:
            return col.STALLED
    for k in range(natural(network.tree_start[u]), network.tree_start[u + 1]):
        t = natural(network.trees[k])
        if _due(fired + 1, tree_table[t, col.T_EVERY]) and hops[t, col.H_WAITING] >= waiting:
            return col.STALLED
    return -1


@borrowing
def _begin(agenda: PacketAgenda, network: PacketNetwork, hop_count: int, u: int) -> None:
    """Begin a firing: tokens are taken, their credits go back, and room is promised."""
    units, flows = network.units, network.flows
    cycle, fired = agenda.numbers[col.N_CYCLE], units[u, col.U_FIRED]
    for k in range(natural(network.input_start[u]), network.input_start[u + 1]):
        f = natural(network.inputs[k])
        if _due(fired, flows[f, col.F_TAKES_EVERY]):
            flows[f, col.F_TAKEN] += flows[f, col.F_TAKES]
            _push(agenda, cycle + flows[f, col.F_CREDIT], len(units) + 2 * hop_count + f)
    for k in range(natural(network.output_start[u]), network.output_start[u + 1]):
        f = natural(network.outputs[k])
        if _due(fired + 1, flows[f, col.F_PUTS_EVERY]):
            flows[f, col.F_PROMISED] += flows[f, col.F_PUTS]
    units[u, col.U_FIRED] += 1
    units[u, col.U_UNTIL] = cycle + units[u, col.U_WORK]
    _push(agenda, units[u, col.U_UNTIL], u)


@borrowing
def _put(
    agenda: PacketAgenda, network: PacketNetwork, hops: Words, tree_table: Words, link_usage: Words, u: int
) -> None:
    """End a firing: its packets wait for their first hops."""
    for k in range(natural(network.tree_start[u]), network.tree_start[u + 1]):
        t = natural(network.trees[k])
        if _due(network.units[u, col.U_FIRED], tree_table[t, col.T_EVERY]):
            hops[t, col.H_WAITING] += 1
            if hops[t, col.H_WAITING] == 1:
                _offer(agenda, network, hops, link_usage, t)


@borrowing
def _clear(network: PacketNetwork, record: RunRecord, cycle: int) -> None:
    """Count usage from now on."""
    units, links = network.units, network.links
    for u in range(len(units)):
        for k in range(3):
            record.usage[u, k] = 0
        units[u, col.U_SINCE] = cycle
    for link in range(len(links)):
        record.link_usage[link, col.CARRIED] = 0
        record.link_usage[link, col.WAITED] = 0
        links[link, col.L_SINCE] = cycle


@borrowing
def _close(network: PacketNetwork, record: RunRecord, cycle: int) -> None:
    """Add what units and resources have been doing up to now."""
    units, links = network.units, network.links
    for u in range(len(units)):
        state = col.BUSY if units[u, col.U_UNTIL] >= 0 else units[u, col.U_REASON]
        record.usage[u, state] += cycle - units[u, col.U_SINCE]
    for link in range(len(links)):
        _count_wait(links, record.link_usage, link, cycle, 0)


@borrowing
def _iteration(agenda: PacketAgenda, network: PacketNetwork, record: RunRecord, limits: RunLimits, u: int) -> None:
    """Note that a unit has done an iteration; the run ends with the last one."""
    units, cycle = network.units, agenda.numbers[col.N_CYCLE]
    iteration = units[u, col.U_FIRED] // units[u, col.U_REPEATS]
    if iteration == 1:
        record.blocks[u, 0] = cycle
    record.blocks[u, 1] = cycle
    if iteration >= len(record.finish):
        return
    record.done[iteration] += 1
    if record.done[iteration] < len(units):
        return
    record.finish[iteration] = cycle
    if iteration == limits.first:
        _clear(network, record, cycle)
    if iteration == limits.last:
        _close(network, record, cycle)
        agenda.numbers[col.N_STATUS] = col.DONE


@borrowing
def _unit(
    agenda: PacketAgenda,
    network: PacketNetwork,
    hops: Words,
    tree_table: Words,
    record: RunRecord,
    limits: RunLimits,
    u: int,
) -> None:
    """Look at a unit: end its firing if that is due, and begin the next if it can."""
    units, usage, cycle = network.units, record.usage, agenda.numbers[col.N_CYCLE]
    if units[u, col.U_UNTIL] == cycle:
        usage[u, col.BUSY] += cycle - units[u, col.U_SINCE]
        units[u, col.U_SINCE] = cycle
        units[u, col.U_UNTIL] = -1
        _put(agenda, network, hops, tree_table, record.link_usage, u)
        if units[u, col.U_FIRED] % units[u, col.U_REPEATS] == 0:
            _iteration(agenda, network, record, limits, u)
            if agenda.numbers[col.N_STATUS] != col.GOES_ON:
                return
    if units[u, col.U_UNTIL] >= 0 or units[u, col.U_FIRED] >= units[u, col.U_GOAL]:
        return
    lack = _lacking(agenda, network, hops, tree_table, limits.waiting, u)
    if lack != units[u, col.U_REASON]:
        usage[u, natural(units[u, col.U_REASON])] += cycle - units[u, col.U_SINCE]
        units[u, col.U_SINCE] = cycle
        if lack >= 0:
            units[u, col.U_REASON] = lack
    if lack < 0:
        _begin(agenda, network, len(hops), u)


# -- phase 3: resources -----------------------------------------------------------------------------------------------


@borrowing
def _resting(links: Words, link: int, cycle: int) -> int:
    """The cycles until a resource's rest is over; 0 where it does not rest."""
    if links[link, col.L_REST_EVERY] == 0:
        return 0
    at = (cycle + links[link, col.L_REST_PHASE]) % links[link, col.L_REST_EVERY]
    return max(0, int(links[link, col.L_REST_CYCLES] - at))


@borrowing
def _chosen(network: PacketNetwork, trees: PacketTrees, link: int, fair: bool) -> int:
    """The hop whose packet a resource takes: the next in turn that is there and fits; -1 for none."""
    links, queues, hops = network.links, network.queues, trees.hops
    begin = natural(trees.link_start[link])
    sharing = trees.link_start[link + 1] - begin
    place = natural(links[link, col.L_TURN])
    for _ in range(sharing):
        h = natural(trees.link_hops[natural(begin + place)])
        place += 1
        if place == sharing:
            place = 0
        if hops[h, col.H_READY] == 1:
            q = hops[h, col.H_QUEUE]
            if q < 0 or queues[q, col.Q_USED] + hops[h, col.H_SIZE] <= queues[q, col.Q_CAPACITY]:
                if fair:
                    links[link, col.L_TURN] = place
                return int(h)
    return -1


@borrowing
def _deliver(
    agenda: PacketAgenda, network: PacketNetwork, next_flow: Words, f: int, size: int, pace: int, cycle: int
) -> None:
    """The vectors of a packet come to the consumers of these flows, one for each pace, from a cycle on."""
    units, flows = network.units, network.flows
    while f >= 0:
        missing = flows[f, col.F_TAKES] - (flows[f, col.F_COME] - flows[f, col.F_TAKEN])
        flows[f, col.F_COME] += size
        flows[f, col.F_BEGAN] = cycle
        flows[f, col.F_PACE] = pace
        target = natural(flows[f, col.F_TARGET])
        if 0 < missing <= size and units[target, col.U_UNTIL] < 0:
            _push(agenda, cycle + pace * missing, target)
        f = next_flow[f]


@borrowing
def _opening(network: PacketNetwork, trees: PacketTrees, link: int, h: int) -> int:
    """The cycles until the row of the packet that waits for hop h is open in its channel."""
    rows, hops = network.rows, trees.hops
    if rows[col.R_VECTORS] == 0 or link < rows[col.R_FIRST]:
        return 0
    begin = trees.link_start[link]
    stream = 0
    while trees.link_hops[begin + stream] != h:
        stream += 1
    row = hops[h, col.H_CROSSED] // rows[col.R_VECTORS]
    hops[h, col.H_CROSSED] += hops[h, col.H_SIZE]
    place = network.open_rows[link - rows[col.R_FIRST], (stream + row) % rows[col.R_BANKS]]
    if place[0] == stream and place[1] == row:
        return 0
    place[0] = stream
    place[1] = row
    return int(rows[col.R_OPENING])


@borrowing
def _cross(agenda: PacketAgenda, network: PacketNetwork, trees: PacketTrees, link_usage: Words, h: int) -> None:
    """Let the packet that waits for hop h cross its resource."""
    links, queues, hops = network.links, network.queues, trees.hops
    cycle, link, size = agenda.numbers[col.N_CYCLE], natural(hops[h, col.H_LINK]), hops[h, col.H_SIZE]
    pace = links[link, col.L_PACE]
    opening = _opening(network, trees, link, h)
    end = cycle + opening + size * pace
    _count_wait(links, link_usage, link, cycle, -1)
    link_usage[link, col.CARRIED] += size
    links[link, col.L_FREE_AT] = end
    hops[h, col.H_READY] = 0
    before = natural(hops[h, col.H_PARENT])
    hops[before, col.H_PENDING] -= 1
    hops[before, col.H_END] = max(hops[before, col.H_END], end)
    _push(agenda, end, len(network.units) + h)
    q = hops[h, col.H_QUEUE]
    if q < 0:
        _deliver(agenda, network, trees.next_flow, hops[h, col.H_FLOW], size, pace, cycle + opening)
        return
    queues[q, col.Q_USED] += size
    if pace == 1 and links[link, col.L_LATENCY] == 0 and opening == 0:
        agenda.leaving[natural(agenda.numbers[col.N_LEAVING])] = h
        agenda.numbers[col.N_LEAVING] += 1
    else:
        # A slow resource sends a packet on when it has all of it.
        head = cycle + opening + 1 if pace == 1 else end
        _push(agenda, head + links[link, col.L_LATENCY], len(network.units) + len(hops) + h)


@borrowing
def _resources(agenda: PacketAgenda, network: PacketNetwork, trees: PacketTrees, link_usage: Words, fair: bool) -> None:
    """Phase 3 of a cycle."""
    numbers, links = agenda.numbers, network.links
    cycle = numbers[col.N_CYCLE]
    for m in range(numbers[col.N_MARKS]):
        link = natural(agenda.marks[m])
        if links[link, col.L_READY] == 0 or links[link, col.L_FREE_AT] > cycle:
            continue
        rest = _resting(links, link, cycle)
        if rest > 0:
            _push(agenda, cycle + rest, len(network.units) + 2 * len(trees.hops) + len(network.flows) + link)
            continue
        h = _chosen(network, trees, link, fair)
        if h >= 0:
            _cross(agenda, network, trees, link_usage, h)


# -- the run ----------------------------------------------------------------------------------------------------------


@kernel
def _agenda(network: PacketNetwork, hops: int, wheel_bits: int) -> PacketAgenda:
    """An agenda on which every unit is looked at in cycle 0."""
    count, resources = len(network.units), len(network.links)
    head = np.full(1 << wheel_bits, -1, dtype=np.int64)
    cells = np.empty((16 * (count + resources) + 16 * len(network.flows) + 4096, 2), dtype=np.int64)
    for k in range(len(cells)):
        cells[k, 1] = k + 1 if k + 1 < len(cells) else -1
    numbers = np.zeros(col.N_COUNT, dtype=np.int64)
    numbers[col.N_STATUS] = col.GOES_ON
    room = 0
    for q in range(len(network.queues)):
        room = max(room, network.queues[q, col.Q_RING] + network.queues[q, col.Q_CAPACITY])
    agenda = PacketAgenda(
        numbers, head, cells, np.empty(count, dtype=np.int64), np.empty(resources, dtype=np.int64),
        np.empty(hops + 1, dtype=np.int64), np.empty(hops + 1, dtype=np.int64), np.empty(room + 1, dtype=np.int64),
    )  # fmt: skip
    for u in range(count):
        _push(agenda, 0, u)
    return agenda


@kernel
def run_packets(
    limits: RunLimits,
    network: PacketNetwork,
    trees: PacketTrees,
    tree_table: Words,
    tree_unit: Words,
    record: RunRecord,
) -> int:
    """Run until all units have done ``last`` iterations, none more than its goal; returns what the run came to.

    Fills the record. The run ends with ``DONE``, with ``DEADLOCK`` when no event is left, with ``OUT_OF_TIME`` after
    ``max_cycles``, and with ``OUT_OF_CELLS`` when more events wait than the pool holds. O(firings + packets * hops).
    """
    hops, link_usage = trees.hops, record.link_usage
    agenda = _agenda(network, len(hops), limits.wheel_bits)
    numbers = agenda.numbers
    while numbers[col.N_CYCLE] < limits.max_cycles:
        if numbers[col.N_EVENTS] == 0 and numbers[col.N_LEAVING] == 0:
            return col.DEADLOCK
        numbers[col.N_LOOKS] = 0
        numbers[col.N_MARKS] = 0
        # Heads of packets that left a link in the cycle before are at the end of it now.
        for k in range(numbers[col.N_LEAVING]):
            agenda.arriving[k] = agenda.leaving[k]
        arriving = numbers[col.N_LEAVING]
        numbers[col.N_LEAVING] = 0
        for k in range(arriving):
            _join(agenda, network, hops, link_usage, natural(agenda.arriving[k]))
        _events(agenda, network, hops, tree_unit, link_usage)
        for k in range(numbers[col.N_LOOKS]):
            _unit(agenda, network, hops, tree_table, record, limits, natural(agenda.looks[k]))
            if numbers[col.N_STATUS] == col.DONE:
                return col.DONE
        _resources(agenda, network, trees, link_usage, limits.fair)
        if numbers[col.N_STATUS] == col.OUT_OF_CELLS:
            return col.OUT_OF_CELLS
        numbers[col.N_CYCLE] += 1
    return col.OUT_OF_TIME
