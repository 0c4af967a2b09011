"""Token by token: the cycle loop of elastic arrays.

In a cycle, queues let go of packets that have left them, credits come back, units that are done put their packets out,
units with enough tokens and room begin, then each free resource (link, bank, DRAM channel) may begin a packet, and
every resource that has begun one moves its tokens on, one for each ``pace`` cycles.

The packets of a unit's output are the tokens that a firing puts. The queue behind a resource holds whole packets in
their order, each with the cycle from which its first token is there; a packet leaves it when all branches of its tree
have taken it. Tokens of a flow stay in order, so that one ring per flow holds their values and one counter per hop says
how far they are. What a cycle moves is seen by others in the next one, so that neither the order of units nor that of
resources within a cycle matters. Only what may go on is looked at, in cycles in which something may (`token_agenda`):
the tokens of a packet on its way are counted when someone asks for them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gridloom.dfg.semantics import mix
from gridloom.jit import borrowing, compile_kernel
from gridloom.targets.dataflow.machine import token_agenda as agendas
from gridloom.targets.dataflow.machine import token_tables as col
from gridloom.targets.dataflow.machine.token_agenda import TokenAgenda, mark_resource, mark_unit, push
from gridloom.targets.dataflow.machine.token_tables import Pace, PacketTreeTables, TokenState, TokenTables
from gridloom.targets.dataflow.machine.untimed import token

Words = NDArray[np.int64]


@borrowing
def _count(resource: int, cycle: int, ways: PacketTreeTables, pace: Pace, counters: Words) -> int:
    """Count the tokens of a resource's packet that it has moved before a cycle; returns how many these are."""
    h = pace.carrying[resource]
    moved = min((cycle - pace.since[resource]) // ways.resources[resource, col.R_PACE], ways.hops[h, col.H_SIZE])
    more = moved - pace.counted[resource]
    if more > 0:
        pace.counted[resource] = moved
        for k in range(ways.counter_start[h], ways.counter_start[h + 1]):
            counters[ways.counters[k]] += more
    return int(pace.counted[resource])


@borrowing
def _starved(u: int, cycle: int, network: TokenTables, ways: PacketTreeTables, state: TokenState, pace: Pace) -> bool:
    """True when some input has fewer tokens at its end than the unit's next firing takes.

    Where the packet that has the lacking tokens is on its last hop, the unit is looked at again when they are there.
    """
    flows, firing = network.flows, state.fired[u]
    for k in range(network.input_start[u], network.input_start[u + 1]):
        f = network.inputs[k]
        if firing % flows[f, col.F_TAKES_EVERY]:
            continue
        h, moved, resource = ways.last_hop[f], 0, -1
        if h >= 0 and pace.carrying[ways.carriers[h]] == h:
            resource = ways.carriers[h]
            moved = _count(resource, cycle, ways, pace, state.counters)
        lacking = (
            flows[f, col.F_TAKES] - state.counters[flows[f, col.F_COUNTER] + flows[f, col.F_HOPS]] + state.consumed[f]
        )
        if lacking <= 0:
            continue
        if resource >= 0 and moved + lacking <= ways.hops[h, col.H_SIZE]:
            there = pace.since[resource] + (moved + lacking) * ways.resources[resource, col.R_PACE]
            if pace.asked[u] != there:
                pace.asked[u] = there
                push(pace.agenda, there, agendas.FIRING, u)
        return True
    return False


@borrowing
def _blocked(
    u: int, firing: int, output_start: Words, outputs: Words, flows: Words, promised: Words, seen: Words
) -> bool:
    """True when some consumer has no room for what the unit's next firing puts out.

    Room counts what is promised: tokens that were put out, wherever they are, and those of firings under way. Takings
    are seen when their credits are back.
    """
    for k in range(output_start[u], output_start[u + 1]):
        f = outputs[k]
        if (firing + 1) % flows[f, col.F_PUTS_EVERY]:
            continue
        # A unit that feeds itself empties the buffer it fills.
        freed = flows[f, col.F_TAKES] if flows[f, col.F_LOOP] and firing % flows[f, col.F_TAKES_EVERY] == 0 else 0
        if promised[f] - seen[f] - freed + flows[f, col.F_PUTS] > flows[f, col.F_ROOM]:
            return True
    return False


@borrowing
def _begin(
    u: int, firing: int, salt: int, input_start: Words, inputs: Words, flows: Words, consumed: Words, rings: Words
) -> int:
    """Take a firing's tokens; returns its result.

    The result mixes the number of the firing and every token with the position of its operand, so that a lost,
    doubled or exchanged token changes everything behind it.
    """
    state = mix(salt, firing)
    for k in range(input_start[u], input_start[u + 1]):
        f = inputs[k]
        if firing % flows[f, col.F_TAKES_EVERY]:
            continue
        for j in range(flows[f, col.F_TAKES] if flows[f, col.F_PART] >= 0 else 0):
            cell = flows[f, col.F_RING] + ((consumed[f] + j) & flows[f, col.F_MASK])
            state = mix(state, rings[cell] + k - input_start[u])
        consumed[f] += flows[f, col.F_TAKES]
    return state


@borrowing
def _put(
    u: int, fired: int, value: int, output_start: Words, outputs: Words, flows: Words, counters: Words, rings: Words
) -> None:
    """Put the tokens of a completed firing at the first hop of each outgoing flow."""
    for k in range(output_start[u], output_start[u + 1]):
        f = outputs[k]
        if fired % flows[f, col.F_PUTS_EVERY]:
            continue
        first = counters[flows[f, col.F_COUNTER]]
        for j in range(flows[f, col.F_PUTS]):
            rings[flows[f, col.F_RING] + ((first + j) & flows[f, col.F_MASK])] = token(value, j, flows[f, col.F_PART])
        counters[flows[f, col.F_COUNTER]] += flows[f, col.F_PUTS]


@borrowing
def _crowded(u: int, firing: int, ways: PacketTreeTables, waiting: Words) -> bool:
    """True when the packets of some tree that the unit's next firing feeds cannot leave the unit fast enough."""
    for k in range(ways.unit_start[u], ways.unit_start[u + 1]):
        t = ways.of_unit[k]
        if (firing + 1) % ways.trees[t, col.T_EVERY] == 0 and waiting[t] >= ways.waiting:
            return True
    return False


@borrowing
def _mark_after(h: int, ways: PacketTreeTables, agenda: TokenAgenda) -> None:
    """Mark the resources that packets cross after hop h."""
    for k in range(ways.after_start[h], ways.after_start[h + 1]):
        mark_resource(agenda, ways.carriers[ways.after[k]])


@borrowing
def _release(q: int, cycle: int, ways: PacketTreeTables, pace: Pace) -> None:
    """Let go of the front packet of a queue: all branches have taken it, and it is through."""
    h = pace.packets[q, pace.front[q], 0]
    pace.used[q] -= ways.hops[h, col.H_SIZE]
    pace.length[q] -= 1
    pace.front[q] = (pace.front[q] + 1) % pace.packets.shape[1]
    pace.gone[q, 0] = 0
    pace.gone[q, 1] = 0
    for k in range(ways.after_start[h], ways.after_start[h + 1]):
        pace.taken[ways.after[k]] = 0
    for k in range(ways.feeder_start[q], ways.feeder_start[q + 1]):
        mark_resource(pace.agenda, ways.feeders[k])
    if pace.length[q] > 0:
        front = pace.packets[q, pace.front[q]]
        if front[1] <= cycle:
            _mark_after(front[0], ways, pace.agenda)
        else:
            push(pace.agenda, front[1], agendas.ARRIVAL, q)


@borrowing
def _leave(t: int, ways: PacketTreeTables, pace: Pace) -> None:
    """Let go of the first packet that waits in the unit of a tree."""
    pace.waiting[t] -= 1
    pace.root_gone[t, 0] = 0
    pace.root_gone[t, 1] = 0
    for k in range(ways.first_start[t], ways.first_start[t + 1]):
        pace.taken[ways.firsts[k]] = 0
        mark_resource(pace.agenda, ways.carriers[ways.firsts[k]])
    mark_unit(pace.agenda, ways.trees[t, col.T_UNIT])


@borrowing
def _happen(cycle: int, network: TokenTables, ways: PacketTreeTables, pace: Pace) -> bool:
    """Let the events of a cycle happen, up to firings and packets that may begin; returns whether a packet left."""
    agenda, moved = pace.agenda, False
    while agendas.next_cycle(agenda) == cycle:
        number = agendas.pop(agenda)
        first = agenda.first
        if number < first[agendas.RELEASE]:
            mark_unit(agenda, number)
        elif number < first[agendas.ARRIVAL]:
            _release(number - first[agendas.RELEASE], cycle, ways, pace)
            moved = True
        elif number < first[agendas.ROOT]:
            q = number - first[agendas.ARRIVAL]
            _mark_after(pace.packets[q, pace.front[q], 0], ways, agenda)
        elif number < first[agendas.RESOURCE]:
            _leave(number - first[agendas.ROOT], ways, pace)
            moved = True
        elif number < first[agendas.CREDIT]:
            mark_resource(agenda, number - first[agendas.RESOURCE])
        else:
            f = number - first[agendas.CREDIT]
            slot = cycle % pace.credits.shape[1]
            pace.seen[f] += pace.credits[f, slot]
            pace.credits[f, slot] = 0
            if network.senders[f] >= 0:
                mark_unit(agenda, network.senders[f])
    return moved


@borrowing
def _there(h: int, cycle: int, ways: PacketTreeTables, pace: Pace) -> bool:
    """Whether a packet waits for hop h: it is the first of the queue before it and has not gone this way yet."""
    before = ways.hops[h, col.H_BEFORE]
    if pace.taken[h]:
        return False
    if before < 0:
        return bool(pace.waiting[-1 - before] > 0)
    q = ways.hops[before, col.H_QUEUE]
    if pace.length[q] == 0:
        return False
    front = pace.packets[q, pace.front[q]]
    return bool(front[0] == before and front[1] <= cycle)


@borrowing
def _row(resource: int, stream: int, h: int, ways: PacketTreeTables, pace: Pace) -> int:
    """The cycles that a resource takes to open the row of a stream's next packet, none where it is open already."""
    channel = ways.resources[resource, col.R_CHANNEL]
    if ways.row == 0 or channel < 0:
        return 0
    number = pace.crossed[h] // ways.row
    pace.crossed[h] += ways.hops[h, col.H_SIZE]
    bank = (stream + number) % ways.row_banks
    if pace.opened[channel, bank, 0] == h and pace.opened[channel, bank, 1] == number:
        return 0
    pace.opened[channel, bank, 0] = h
    pace.opened[channel, bank, 1] = number
    return int(ways.row_opening)


@borrowing
def _start(resource: int, h: int, cycle: int, ways: PacketTreeTables, pace: Pace) -> None:
    """Begin to carry the packet that waits for hop h; its place in the queue behind is taken at once.

    The cycle is the one in which its row is open, where the resource is a DRAM channel with rows.
    """
    size, speed = ways.hops[h, col.H_SIZE], ways.resources[resource, col.R_PACE]
    pace.carrying[resource] = h
    pace.since[resource] = cycle
    pace.taken[h] = 1
    through = cycle + size * speed
    pace.counted[resource] = 0
    pace.agenda.sizes[agendas.BUSY] += 1
    push(pace.agenda, through, agendas.RESOURCE, resource)
    before = ways.hops[h, col.H_BEFORE]
    if before < 0:
        t = -1 - before
        pace.root_gone[t, 0] += 1
        pace.root_gone[t, 1] = max(pace.root_gone[t, 1], through)
        if pace.root_gone[t, 0] == ways.first_start[t + 1] - ways.first_start[t]:
            push(pace.agenda, pace.root_gone[t, 1], agendas.ROOT, t)
    else:
        q = ways.hops[before, col.H_QUEUE]
        pace.gone[q, 0] += 1
        pace.gone[q, 1] = max(pace.gone[q, 1], through)
        if pace.gone[q, 0] == ways.hops[before, col.H_BRANCHES]:
            push(pace.agenda, pace.gone[q, 1], agendas.RELEASE, q)
    behind = ways.hops[h, col.H_QUEUE]
    if behind >= 0:
        # Slow resources send a packet on when they have all of it, links its first token at once.
        first = (cycle + 1 if speed == 1 else through) + ways.resources[resource, col.R_LATENCY]
        at = (pace.front[behind] + pace.length[behind]) % pace.packets.shape[1]
        pace.packets[behind, at, 0] = h
        pace.packets[behind, at, 1] = first
        if pace.length[behind] == 0:
            push(pace.agenda, first, agendas.ARRIVAL, behind)
        pace.length[behind] += 1
        pace.used[behind] += size


@borrowing
def _turn(resource: int, cycle: int, ways: PacketTreeTables, pace: Pace) -> None:
    """Let a free resource begin the packet whose turn it is among those that wait for it and have room behind it."""
    row = ways.resources[resource]
    begin = ways.share_start[resource]
    sharing = ways.share_start[resource + 1] - begin
    phase = (
        (cycle + row[col.R_REST_PHASE]) % row[col.R_REST_EVERY] if row[col.R_REST_EVERY] > 0 else row[col.R_REST_CYCLES]
    )
    for k in range(sharing):
        at = (pace.turn[resource] + k) % sharing
        h = ways.shares[begin + at]
        if not _there(h, cycle, ways, pace):
            continue
        if phase < row[col.R_REST_CYCLES]:
            rested = cycle + row[col.R_REST_CYCLES] - phase
            if pace.rested[resource] != rested:
                pace.rested[resource] = rested
                push(pace.agenda, rested, agendas.RESOURCE, resource)
            return
        q = ways.hops[h, col.H_QUEUE]
        if q < 0 or pace.used[q] + ways.hops[h, col.H_SIZE] <= ways.capacity[q]:
            pace.turn[resource] = (at + 1) % sharing
            _start(resource, h, cycle + _row(resource, at, h, ways, pace), ways, pace)
            return


@borrowing
def _carry(cycle: int, network: TokenTables, ways: PacketTreeTables, pace: Pace, counters: Words) -> None:
    """Marked resources whose packet is through are free, and free ones begin the next."""
    agenda = pace.agenda
    marked = agenda.sizes[agendas.RESOURCES]
    agenda.sizes[agendas.RESOURCES] = 0
    for k in range(marked):
        resource = agenda.resources[k]
        agenda.resource_marked[resource] = 0
        h = pace.carrying[resource]
        if h >= 0 and _count(resource, cycle, ways, pace, counters) == ways.hops[h, col.H_SIZE]:
            pace.carrying[resource] = -1
            agenda.sizes[agendas.BUSY] -= 1
        if pace.carrying[resource] < 0:
            _turn(resource, cycle, ways, pace)
            h = pace.carrying[resource]
            if h >= 0:
                _announce(h, network, ways, pace)


@borrowing
def _announce(h: int, network: TokenTables, ways: PacketTreeTables, pace: Pace) -> None:
    """Have the idle units looked at whose tokens a packet at hop h brings."""
    for k in range(ways.counter_start[h], ways.counter_start[h + 1]):
        u = network.takers[ways.counters[k]]
        if u >= 0 and pace.until[u] < 0:
            mark_unit(pace.agenda, u)


@borrowing
def _give(u: int, firing: int, cycle: int, network: TokenTables, pace: Pace) -> None:
    """Send the credits of what a firing has taken."""
    for k in range(network.input_start[u], network.input_start[u + 1]):
        f = network.inputs[k]
        if firing % network.flows[f, col.F_TAKES_EVERY] == 0:
            back = cycle + network.flows[f, col.F_CREDIT]
            slot = back % pace.credits.shape[1]
            if pace.credits[f, slot] == 0:
                push(pace.agenda, back, agendas.CREDIT, f)
            pace.credits[f, slot] += network.flows[f, col.F_TAKES]


@borrowing
def _settle(u: int, cycle: int, goal: int, state: TokenState, pace: Pace) -> None:
    """Count what a unit has done since it was last looked at."""
    step = cycle - pace.settled[u]
    pace.settled[u] = cycle
    if pace.until[u] >= 0:
        state.usage[u, col.BUSY] += step
    elif state.fired[u] < goal:
        state.usage[u, pace.idle[u]] += step


@borrowing
def _end(
    u: int, cycle: int, goal: int, network: TokenTables, ways: PacketTreeTables, state: TokenState, pace: Pace
) -> None:
    """End the firing of a unit: put its tokens, and its packets before the first resources of its trees."""
    fired = state.fired[u]
    _put(
        u, fired, state.results[u, fired - 1], network.output_start, network.outputs, network.flows, state.counters,
        state.rings,
    )  # fmt: skip
    for k in range(ways.unit_start[u], ways.unit_start[u + 1]):
        t = ways.of_unit[k]
        if fired % ways.trees[t, col.T_EVERY] == 0:
            pace.waiting[t] += 1
            for j in range(ways.first_start[t], ways.first_start[t + 1]):
                mark_resource(pace.agenda, ways.carriers[ways.firsts[j]])
    pace.until[u] = -1
    repeats = network.units[u, col.U_REPEATS]
    if fired % repeats == 0:
        state.finished[u, fired // repeats - 1] = cycle
    if fired >= goal:
        pace.agenda.sizes[agendas.LEFT] -= 1


@borrowing
def _fire(u: int, cycle: int, network: TokenTables, ways: PacketTreeTables, state: TokenState, pace: Pace) -> bool:
    """End the firing of a unit that is due, and begin the next if it can; returns whether one began."""
    units, input_start, inputs, output_start, outputs, flows, _, _ = network
    _, consumed, rings, results, _, _, fired = state
    goal = units[u, col.U_GOAL]
    _settle(u, cycle, goal, state, pace)
    if pace.until[u] == cycle:
        _end(u, cycle, goal, network, ways, state, pace)
    if pace.until[u] >= 0 or fired[u] >= goal:
        return False
    if _starved(u, cycle, network, ways, state, pace):
        pace.idle[u] = col.STARVED
        return False
    blocked = _blocked(u, fired[u], output_start, outputs, flows, pace.promised, pace.seen)
    if blocked or _crowded(u, fired[u], ways, pace.waiting):
        pace.idle[u] = col.STALLED
        return False
    results[u, fired[u]] = _begin(u, fired[u], units[u, col.U_SALT], input_start, inputs, flows, consumed, rings)
    _give(u, fired[u], cycle, network, pace)
    for k in range(output_start[u], output_start[u + 1]):
        if (fired[u] + 1) % flows[outputs[k], col.F_PUTS_EVERY] == 0:
            pace.promised[outputs[k]] += flows[outputs[k], col.F_PUTS]
    fired[u] += 1
    pace.until[u] = cycle + units[u, col.U_WORK]
    push(pace.agenda, pace.until[u], agendas.FIRING, u)
    return True


@borrowing
def _fire_marked(cycle: int, network: TokenTables, ways: PacketTreeTables, state: TokenState, pace: Pace) -> bool:
    """Let the marked units fire; returns whether one began."""
    agenda, began = pace.agenda, False
    marked = agenda.sizes[agendas.UNITS]
    agenda.sizes[agendas.UNITS] = 0
    for k in range(marked):
        u = agenda.units[k]
        agenda.unit_marked[u] = 0
        began = _fire(u, cycle, network, ways, state, pace) or began
    return began


@compile_kernel(_nrt=False)
def run_tokens(
    first: int, max_cycles: int, network: TokenTables, ways: PacketTreeTables, state: TokenState, pace: Pace
) -> int:
    """Run until every unit has reached its goal or nothing moves any more; returns the cycles.

    Fills ``results[unit, firing]``, ``finished[unit, iteration]`` (the cycle) and ``usage[unit]`` of the state; its
    ``fired`` and its counters show where a deadlock stands. O(packets * hops * log(units + hops)).

    A run that stops at ``max_cycles`` is continued by a call whose ``first`` is the cycle that was returned, with the
    same state and pace. A call that returns ``first`` itself has come to its end: nothing is left, or nothing moves.
    """
    agenda, cycle, looked = pace.agenda, first, False
    while cycle < max_cycles and agenda.sizes[agendas.LEFT] > 0:
        moved = _happen(cycle, network, ways, pace)
        moved = _fire_marked(cycle, network, ways, state, pace) or moved
        _carry(cycle, network, ways, pace, state.counters)
        if agenda.sizes[agendas.LEFT] == 0:
            break
        soonest = agendas.next_cycle(agenda)
        if agenda.sizes[agendas.UNITS] > 0:
            soonest = cycle + 1
        elif agenda.sizes[agendas.BUSY] > 0:
            # Tokens move in every cycle, so that someone who asks for a cycle gets it.
            soonest = max(cycle + 1, min(soonest, max_cycles))
        if soonest < agendas.NEVER:
            looked = False
            cycle = soonest
            continue
        if looked:
            break
        # Before a run is called stuck, everything is looked at once more.
        agendas.mark_all(agenda)
        looked = True
        cycle += 1 if moved else 0
    past = cycle + (agenda.sizes[agendas.LEFT] == 0)
    for resource in range(len(ways.resources)):
        if pace.carrying[resource] >= 0:
            _count(resource, past, ways, pace, state.counters)
    for u in range(len(network.units)):
        _settle(u, cycle, network.units[u, col.U_GOAL], state, pace)
    return cycle
