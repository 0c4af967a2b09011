"""Token by token: the cycle loop of elastic arrays, and the untimed run it is compared with.

In a cycle, queues let go of packets that have left them, credits come back, units that are done put their packets out,
units with enough tokens and room begin, then each free resource (link, bank, DRAM channel) may begin a packet, and
every resource that has begun one moves its tokens on, one for each ``pace`` cycles.

The packets of a unit's output are the tokens that a firing puts. The queue behind a resource holds whole packets in
their order, each with the cycle from which its first token is there; a packet leaves it when all branches of its tree
have taken it. Tokens of a flow stay in order, so that one ring per flow holds their values and one counter per hop says
how far they are. What a cycle moves is seen by others in the next one. Cycles in which nothing can happen are skipped.

Rates are in the flow table: a firing takes ``F_TAKES`` tokens in every ``F_TAKES_EVERY``-th firing of the consumer,
and puts ``F_PUTS`` in every ``F_PUTS_EVERY``-th of the producer. ``F_MASK`` is the size of the ring less 1,
``F_LOOP`` is 1 where a unit feeds itself, ``F_CREDIT`` the cycles of a credit's way back, and ``F_PART`` the part of
the producer's result that the flow carries; -1: what is read from DRAM, whose values no one sees.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gridloom.dfg.semantics import mix
from gridloom.sim.elastic.packet_trees import borrowing

Words = NDArray[np.int64]

# Columns of the flow table.
F_PUTS: Final = 0
F_TAKES: Final = 1
F_ROOM: Final = 2
F_HOPS: Final = 3
F_COUNTER: Final = 4
F_RING: Final = 5
F_MASK: Final = 6
F_LOOP: Final = 7
F_PUTS_EVERY: Final = 8
F_TAKES_EVERY: Final = 9
F_CREDIT: Final = 10
F_PART: Final = 11

# Columns of the unit table.
U_WORK: Final = 0
U_REPEATS: Final = 1
U_SALT: Final = 2

# Columns of the tree table: the unit that it begins at, every how many of its firings it gets a packet.
T_UNIT: Final = 0
T_EVERY: Final = 1

# Columns of the hop table: the hop before (-1 - t: the root of tree t), the queue behind it (-1: none), tokens of a
# packet, branches after it, the resource that it crosses.
H_BEFORE: Final = 0
H_QUEUE: Final = 1
H_SIZE: Final = 2
H_BRANCHES: Final = 3
H_RESOURCE: Final = 4

# Columns of the resource table.
R_PACE: Final = 0
R_LATENCY: Final = 1
R_REST_EVERY: Final = 2
R_REST_CYCLES: Final = 3
R_REST_PHASE: Final = 4

# Columns of the usage table.
BUSY: Final = 0
STARVED: Final = 1
STALLED: Final = 2

_NEVER: Final = np.iinfo(np.int64).max
_PART_BITS: Final = 40


class Network(NamedTuple):
    """Units and the flows between them; the inputs and outputs of a unit are lists of flows (CSR).

    No kernel writes to it.
    """

    units: Words
    input_start: Words
    inputs: Words
    output_start: Words
    outputs: Words
    flows: Words


class Ways(NamedTuple):
    """The trees that packets follow. No kernel writes to it.

    ``shares`` lists the hops of each resource in the order of their turns, ``counters`` the counters of flows that each
    hop raises, ``after`` the hops that follow each hop, ``firsts`` those that each tree begins with, and ``of_unit``
    the trees of each unit (all CSR). ``queues`` lists the queues behind some hop.
    """

    trees: Words
    hops: Words
    resources: Words
    share_start: Words
    shares: Words
    counter_start: Words
    counters: Words
    after_start: Words
    after: Words
    first_start: Words
    firsts: Words
    unit_start: Words
    of_unit: Words
    queues: Words
    #: Vectors that each queue holds; packets of a tree that wait in its unit at the most.
    capacity: Words
    waiting: int


class TokenState(NamedTuple):
    """What a run changes.

    A run begins where the arrays stand: counters hold the early tokens of loop-carried edges, and rings their values.
    After a deadlock they show where each token is.
    """

    #: For each hop of each flow the tokens that have come so far; the tokens that each flow's consumer has taken.
    counters: Words
    consumed: Words
    #: The values of tokens under way, a ring for each flow.
    rings: Words
    #: results[unit, firing], finished[unit, iteration], usage[unit] and the firings of each unit.
    results: Words
    finished: Words
    usage: Words
    fired: Words


class Pace(NamedTuple):
    """What a run keeps from one cycle to the next beside its tokens, so that it can be continued where it stopped.

    ``until[u]`` is the cycle in which a unit's firing ends, -1 while it is idle, and ``idle[u]`` says why it is.
    ``promised`` counts the tokens that firings have put out or will, ``seen`` the tokens whose room the producer knows
    to be free: the two decide about room. ``credits[f, c % length]`` come back in cycle c.
    """

    until: Words
    idle: Words
    seen: Words
    promised: Words
    credits: Words
    #: For each tree the packets that wait in its unit; for each hop whether the front packet before it has taken it.
    waiting: Words
    taken: Words
    #: For each queue the vectors in it, its first packet and their number; packets are [hop, cycle from which it is
    #: there]. The last row of ``gone`` is for roots: branches taken, and the cycle in which the last one is through.
    used: Words
    front: Words
    length: Words
    packets: Words
    gone: Words
    root_gone: Words
    #: For each resource the hop whose packet it carries (-1: none), since when, and whose turn it is.
    carrying: Words
    since: Words
    turn: Words


def first_pace(network: Network, ways: Ways, state: TokenState) -> Pace:
    """Return the pace of a run that begins where the arrays of ``state`` stand."""
    count, flows = len(network.units), len(network.flows)
    longest = int(network.flows[:, F_CREDIT].max(initial=1)) + 1
    queues, resources, trees = len(ways.capacity), len(ways.resources), len(ways.trees)
    deepest = int(ways.capacity.max(initial=1))

    def full(shape: object, value: int = 0) -> Words:
        return np.full(shape, value, dtype=np.int64)  # type: ignore[call-overload, no-any-return]

    return Pace(
        until=full(count, -1),
        idle=full(count, STARVED),
        seen=full(flows),
        promised=state.counters[network.flows[:, F_COUNTER]],
        credits=full((flows, longest)),
        waiting=full(trees),
        taken=full(len(ways.hops)),
        used=full(queues),
        front=full(queues),
        length=full(queues),
        packets=full((queues, deepest, 2)),
        gone=full((queues, 2)),
        root_gone=full((trees, 2)),
        carrying=full(resources, -1),
        since=full(resources),
        turn=full(resources),
    )


@njit(cache=True, nogil=True)
def token(value: int, number: int, part: int = 0) -> int:
    """Token ``number`` of a part of the firing whose result is ``value``.

    Tokens of one firing differ, so that their order can be checked, and so do those of different parts.
    """
    return mix(value, number + (part << _PART_BITS))


@borrowing
def _starved(
    u: int, firing: int, input_start: Words, inputs: Words, flows: Words, counters: Words, consumed: Words
) -> bool:
    """True when some input has fewer tokens at its end than the unit's next firing takes."""
    for k in range(input_start[u], input_start[u + 1]):
        f = inputs[k]
        if firing % flows[f, F_TAKES_EVERY]:
            continue
        if counters[flows[f, F_COUNTER] + flows[f, F_HOPS]] - consumed[f] < flows[f, F_TAKES]:
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
        if (firing + 1) % flows[f, F_PUTS_EVERY]:
            continue
        # A unit that feeds itself empties the buffer it fills.
        freed = flows[f, F_TAKES] if flows[f, F_LOOP] and firing % flows[f, F_TAKES_EVERY] == 0 else 0
        if promised[f] - seen[f] - freed + flows[f, F_PUTS] > flows[f, F_ROOM]:
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
        if firing % flows[f, F_TAKES_EVERY]:
            continue
        for j in range(flows[f, F_TAKES] if flows[f, F_PART] >= 0 else 0):
            cell = flows[f, F_RING] + ((consumed[f] + j) & flows[f, F_MASK])
            state = mix(state, rings[cell] + k - input_start[u])
        consumed[f] += flows[f, F_TAKES]
    return state


@borrowing
def _put(
    u: int, fired: int, value: int, output_start: Words, outputs: Words, flows: Words, counters: Words, rings: Words
) -> None:
    """Put the tokens of a completed firing at the first hop of each outgoing flow."""
    for k in range(output_start[u], output_start[u + 1]):
        f = outputs[k]
        if fired % flows[f, F_PUTS_EVERY]:
            continue
        first = counters[flows[f, F_COUNTER]]
        for j in range(flows[f, F_PUTS]):
            rings[flows[f, F_RING] + ((first + j) & flows[f, F_MASK])] = token(value, j, flows[f, F_PART])
        counters[flows[f, F_COUNTER]] += flows[f, F_PUTS]


@borrowing
def _crowded(u: int, firing: int, ways: Ways, waiting: Words) -> bool:
    """True when the packets of some tree that the unit's next firing feeds cannot leave the unit fast enough."""
    for k in range(ways.unit_start[u], ways.unit_start[u + 1]):
        t = ways.of_unit[k]
        if (firing + 1) % ways.trees[t, T_EVERY] == 0 and waiting[t] >= ways.waiting:
            return True
    return False


@borrowing
def _let_go(cycle: int, ways: Ways, pace: Pace) -> bool:
    """Let go of the front packets that all branches have taken and that are through; returns whether one was."""
    moved = False
    for q in ways.queues:
        if pace.length[q] == 0:
            continue
        h = pace.packets[q, pace.front[q], 0]
        if pace.gone[q, 0] == ways.hops[h, H_BRANCHES] and pace.gone[q, 1] <= cycle:
            pace.used[q] -= ways.hops[h, H_SIZE]
            pace.length[q] -= 1
            pace.front[q] = (pace.front[q] + 1) % pace.packets.shape[1]
            pace.gone[q, 0] = 0
            pace.gone[q, 1] = 0
            moved = True
            for k in range(ways.after_start[h], ways.after_start[h + 1]):
                pace.taken[ways.after[k]] = 0
    for t in range(len(ways.trees)):
        branches = ways.first_start[t + 1] - ways.first_start[t]
        if pace.waiting[t] > 0 and branches > 0 and pace.root_gone[t, 0] == branches and pace.root_gone[t, 1] <= cycle:
            pace.waiting[t] -= 1
            pace.root_gone[t, 0] = 0
            pace.root_gone[t, 1] = 0
            moved = True
            for k in range(ways.first_start[t], ways.first_start[t + 1]):
                pace.taken[ways.firsts[k]] = 0
    return moved


@borrowing
def _there(h: int, cycle: int, ways: Ways, pace: Pace) -> bool:
    """Whether a packet waits for hop h: it is the first of the queue before it and has not gone this way yet."""
    before = ways.hops[h, H_BEFORE]
    if pace.taken[h]:
        return False
    if before < 0:
        return bool(pace.waiting[-1 - before] > 0)
    q = ways.hops[before, H_QUEUE]
    if pace.length[q] == 0:
        return False
    front = pace.packets[q, pace.front[q]]
    return bool(front[0] == before and front[1] <= cycle)


@borrowing
def _start(resource: int, h: int, cycle: int, ways: Ways, pace: Pace) -> None:
    """Begin to carry the packet that waits for hop h; its place in the queue behind is taken at once."""
    size, speed = ways.hops[h, H_SIZE], ways.resources[resource, R_PACE]
    pace.carrying[resource] = h
    pace.since[resource] = cycle
    pace.taken[h] = 1
    through = cycle + size * speed
    before = ways.hops[h, H_BEFORE]
    if before < 0:
        pace.root_gone[-1 - before, 0] += 1
        pace.root_gone[-1 - before, 1] = max(pace.root_gone[-1 - before, 1], through)
    else:
        q = ways.hops[before, H_QUEUE]
        pace.gone[q, 0] += 1
        pace.gone[q, 1] = max(pace.gone[q, 1], through)
    behind = ways.hops[h, H_QUEUE]
    if behind >= 0:
        # Slow resources send a packet on when they have all of it, links its first token at once.
        first = cycle + 1 if speed == 1 else through
        at = (pace.front[behind] + pace.length[behind]) % pace.packets.shape[1]
        pace.packets[behind, at, 0] = h
        pace.packets[behind, at, 1] = first + ways.resources[resource, R_LATENCY]
        pace.length[behind] += 1
        pace.used[behind] += size


@borrowing
def _carry(cycle: int, ways: Ways, pace: Pace, counters: Words) -> tuple[bool, bool]:
    """Each free resource begins a packet, in turn, and every busy one moves its tokens; returns (busy, resting).

    ``busy`` says that some resource carries something, ``resting`` that one rests while a packet waits for it.
    """
    busy = resting = False
    for resource in range(len(ways.resources)):
        row = ways.resources[resource]
        h = pace.carrying[resource]
        if h >= 0 and cycle >= pace.since[resource] + ways.hops[h, H_SIZE] * row[R_PACE]:
            pace.carrying[resource] = -1
        if pace.carrying[resource] < 0:
            begin = ways.share_start[resource]
            sharing = ways.share_start[resource + 1] - begin
            rests = row[R_REST_EVERY] > 0 and (cycle + row[R_REST_PHASE]) % row[R_REST_EVERY] < row[R_REST_CYCLES]
            for k in range(sharing):
                at = (pace.turn[resource] + k) % sharing
                h = ways.shares[begin + at]
                if not _there(h, cycle, ways, pace):
                    continue
                if rests:
                    resting = True
                    break
                q = ways.hops[h, H_QUEUE]
                if q < 0 or pace.used[q] + ways.hops[h, H_SIZE] <= ways.capacity[q]:
                    pace.turn[resource] = (at + 1) % sharing
                    _start(resource, h, cycle, ways, pace)
                    break
        h = pace.carrying[resource]
        if h >= 0:
            busy = True
            if (cycle + 1 - pace.since[resource]) % row[R_PACE] == 0:
                for k in range(ways.counter_start[h], ways.counter_start[h + 1]):
                    counters[ways.counters[k]] += 1
    return busy, resting


@borrowing
def _awaited(cycle: int, ways: Ways, pace: Pace) -> bool:
    """Whether a credit or a packet is on a way that takes longer than a cycle."""
    for f in range(len(pace.credits)):
        for k in range(pace.credits.shape[1]):
            if pace.credits[f, k] > 0:
                return True
    for q in ways.queues:
        if pace.length[q] > 0 and pace.packets[q, pace.front[q], 1] > cycle:
            return True
        if pace.gone[q, 1] > cycle:
            return True
    waits = False
    for t in range(len(pace.root_gone)):
        waits = waits or pace.root_gone[t, 1] > cycle
    return waits


@borrowing
def _give(u: int, firing: int, cycle: int, network: Network, credits: Words) -> None:
    """Send the credits of what a firing has taken."""
    for k in range(network.input_start[u], network.input_start[u + 1]):
        f = network.inputs[k]
        if firing % network.flows[f, F_TAKES_EVERY] == 0:
            back = (cycle + network.flows[f, F_CREDIT]) % credits.shape[1]
            credits[f, back] += network.flows[f, F_TAKES]


@borrowing
def _fire(u: int, cycle: int, iterations: int, network: Network, ways: Ways, state: TokenState, pace: Pace) -> bool:
    """End the firing of a unit that is due, and begin the next if it can; returns whether one began."""
    units, input_start, inputs, output_start, outputs, flows = network
    counters, consumed, rings, results, finished, _, fired = state
    until = pace.until
    if until[u] == cycle:
        _put(u, fired[u], results[u, fired[u] - 1], output_start, outputs, flows, counters, rings)
        for k in range(ways.unit_start[u], ways.unit_start[u + 1]):
            if fired[u] % ways.trees[ways.of_unit[k], T_EVERY] == 0:
                pace.waiting[ways.of_unit[k]] += 1
        until[u] = -1
        if fired[u] % units[u, U_REPEATS] == 0:
            finished[u, fired[u] // units[u, U_REPEATS] - 1] = cycle
    if until[u] >= 0 or fired[u] >= iterations * units[u, U_REPEATS]:
        return False
    if _starved(u, fired[u], input_start, inputs, flows, counters, consumed):
        pace.idle[u] = STARVED
        return False
    blocked = _blocked(u, fired[u], output_start, outputs, flows, pace.promised, pace.seen)
    if blocked or _crowded(u, fired[u], ways, pace.waiting):
        pace.idle[u] = STALLED
        return False
    results[u, fired[u]] = _begin(u, fired[u], units[u, U_SALT], input_start, inputs, flows, consumed, rings)
    _give(u, fired[u], cycle, network, pace.credits)
    for k in range(output_start[u], output_start[u + 1]):
        if (fired[u] + 1) % flows[outputs[k], F_PUTS_EVERY] == 0:
            pace.promised[outputs[k]] += flows[outputs[k], F_PUTS]
    fired[u] += 1
    until[u] = cycle + units[u, U_WORK]
    return True


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False, no_cfunc_wrapper=True)
def run_tokens(
    iterations: int, first: int, max_cycles: int, network: Network, ways: Ways, state: TokenState, pace: Pace
) -> int:
    """Run until every unit has done its part of ``iterations`` or nothing moves any more; returns the cycles.

    Fills ``results[unit, firing]``, ``finished[unit, iteration]`` (the cycle) and ``usage[unit]`` of the state; its
    ``fired`` and its counters show where a deadlock stands. O(cycles with events * (units + hops)).

    A run that stops at ``max_cycles`` is continued by a call whose ``first`` is the cycle that was returned, with the
    same state and pace. A call that returns ``first`` itself has come to its end: nothing is left, or nothing moves.
    """
    units, usage, fired, until = network.units, state.usage, state.fired, pace.until
    count = len(units)
    cycle = first
    while cycle < max_cycles:
        moved = _let_go(cycle, ways, pace)
        for f in range(len(pace.credits)):
            slot = cycle % pace.credits.shape[1]
            pace.seen[f] += pace.credits[f, slot]
            pace.credits[f, slot] = 0
        soonest = _NEVER
        left = False
        for u in range(count):
            moved = _fire(u, cycle, iterations, network, ways, state, pace) or moved
            if until[u] >= 0:
                soonest = min(soonest, until[u])
            left = left or until[u] >= 0 or fired[u] < iterations * units[u, U_REPEATS]
        busy, resting = _carry(cycle, ways, pace, state.counters)
        if not left:
            return cycle
        goes_on = moved or busy or resting or _awaited(cycle, ways, pace)
        if not goes_on and soonest == _NEVER:
            return cycle
        step = 1 if goes_on else soonest - cycle
        for u in range(count):
            if until[u] >= 0:
                usage[u, BUSY] += step
            elif fired[u] < iterations * units[u, U_REPEATS]:
                usage[u, pace.idle[u]] += step
        cycle += step
    return cycle


@njit(cache=True, nogil=True)
def run_untimed(
    iterations: int,
    repeats: Words,
    salts: Words,
    input_start: Words,
    input_edges: Words,
    edges: Words,
    early: Words,
    results: Words,
) -> bool:
    """What the graph means: fire each node as soon as its tokens exist, with no array and no limits.

    ``edges`` has (source node, tokens put, tokens taken, tokens there at the start, where they are in ``early``,
    every how many firings they are put, and taken, and their part). Fills ``results[node, firing]``; False when the
    graph stops by itself before the end. By the theory of Kahn process networks the values do not depend on the order
    of firing, so any order will do. O(firings * tokens), and a pass over all nodes for each round of firings.
    """
    count = len(repeats)
    fired = np.zeros(count, dtype=np.int64)
    moving = True
    while moving:
        moving = False
        for v in range(count):
            while fired[v] < iterations * repeats[v]:
                ready = True
                for k in range(input_start[v], input_start[v + 1]):
                    e = input_edges[k]
                    if fired[v] % edges[e, 6]:
                        continue
                    made = edges[e, 3] + fired[edges[e, 0]] // edges[e, 5] * edges[e, 1]
                    if made < (fired[v] // edges[e, 6] + 1) * edges[e, 2]:
                        ready = False
                        break
                if not ready:
                    break
                state = mix(salts[v], fired[v])
                for k in range(input_start[v], input_start[v + 1]):
                    e = input_edges[k]
                    if fired[v] % edges[e, 6]:
                        continue
                    for j in range(edges[e, 2]):
                        number = fired[v] // edges[e, 6] * edges[e, 2] + j
                        if number < edges[e, 3]:
                            value = early[edges[e, 4] + number]
                        else:
                            later = number - edges[e, 3]
                            firing = (later // edges[e, 1] + 1) * edges[e, 5] - 1
                            value = token(results[edges[e, 0], firing], later % edges[e, 1], edges[e, 7])
                        state = mix(state, value + k - input_start[v])
                results[v, fired[v]] = state
                fired[v] += 1
                moving = True
    return bool(np.all(fired >= iterations * repeats))
