"""Token by token: the cycle loop of elastic arrays, and the untimed run it is compared with.

In a cycle, units that are done put their tokens out, units with enough tokens and room begin, then each link takes
one token. The tokens that a firing puts on an edge are a packet: a link that has begun one carries it whole before it
takes the next flow's, in turn. Tokens of a flow stay in order, so that one ring per flow holds their values and one
counter per hop says how far they are: the tokens that wait at hop h are ``counters[h] - counters[h + 1]``. What a
cycle consumes or moves is seen by others in the next one. Cycles in which nothing can happen are skipped.

Rates are in the flow table: a firing takes ``F_TAKES`` tokens in every ``F_TAKES_EVERY``-th firing of the consumer,
and puts ``F_PUTS`` in every ``F_PUTS_EVERY``-th of the producer. ``F_MASK`` is the size of the ring less 1,
``F_LOOP`` is 1 where a unit feeds itself.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gridloom.dfg.semantics import mix

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

# Columns of the unit table.
U_WORK: Final = 0
U_REPEATS: Final = 1
U_SALT: Final = 2

# Columns of the usage table.
BUSY: Final = 0
STARVED: Final = 1
STALLED: Final = 2

_NEVER: Final = np.iinfo(np.int64).max


class Network(NamedTuple):
    """Units and the flows between them; the inputs and outputs of a unit are lists of flows (CSR).

    The packet-by-packet kernel takes the same tuple, with other columns in ``units`` and ``flows``. No kernel writes to
    it.
    """

    units: Words
    input_start: Words
    inputs: Words
    output_start: Words
    outputs: Words
    flows: Words


class LinkTable(NamedTuple):
    """CSR by link: the counters of the hops that cross it, and the tokens of a packet there.

    A hop crosses the link from counter ``hops[k]`` to the counter after it. Flows of a link take turns in this order.
    """

    start: Words
    hops: Words
    puts: Words


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
    ``promised`` counts the tokens that firings have put out or will, ``seen`` the tokens that had been taken when the
    cycle began: the two decide about room. For each link, ``turn`` is the flow that it looks at first and ``rest``
    the number of tokens that are left of the packet it has begun.
    """

    until: Words
    idle: Words
    seen: Words
    promised: Words
    turn: Words
    rest: Words


def first_pace(network: Network, links: LinkTable, state: TokenState) -> Pace:
    """Return the pace of a run that begins where the arrays of ``state`` stand."""
    count, crossed = len(network.units), max(len(links.start) - 1, 1)
    return Pace(
        until=np.full(count, -1, dtype=np.int64),
        idle=np.full(count, STARVED, dtype=np.int64),
        seen=state.consumed.copy(),
        promised=state.counters[network.flows[:, F_COUNTER]],
        turn=np.zeros(crossed, dtype=np.int64),
        rest=np.zeros(crossed, dtype=np.int64),
    )


@njit(cache=True, nogil=True)
def token(value: int, number: int) -> int:
    """Token ``number`` of a firing whose result is ``value``.

    Tokens of one firing differ, so that their order can be checked.
    """
    return mix(value, number)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _blocked(
    u: int, firing: int, output_start: Words, outputs: Words, flows: Words, promised: Words, seen: Words
) -> bool:
    """True when some consumer has no room for what the unit's next firing puts out.

    Room counts what is promised: tokens that were put out, wherever they are, and those of firings under way. Takings
    of this cycle are not seen yet.
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


@njit(cache=True, nogil=True)
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
        for j in range(flows[f, F_TAKES]):
            cell = flows[f, F_RING] + ((consumed[f] + j) & flows[f, F_MASK])
            state = mix(state, rings[cell] + k - input_start[u])
        consumed[f] += flows[f, F_TAKES]
    return state


@njit(cache=True, nogil=True)
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
            rings[flows[f, F_RING] + ((first + j) & flows[f, F_MASK])] = token(value, j)
        counters[flows[f, F_COUNTER]] += flows[f, F_PUTS]


@njit(cache=True, nogil=True)
def _move(
    link_start: Words, link_hops: Words, hop_puts: Words, turn: Words, rest: Words, counters: Words, moved: Words
) -> int:
    """Each link takes one waiting token, the flows in turn, a packet at a time; returns how many moved.

    ``moved`` gets the counters to raise. They are raised by the caller when all links have chosen, so that a token
    crosses one link per cycle.
    """
    count = 0
    for link in range(len(link_start) - 1):
        begin = link_start[link]
        sharing = link_start[link + 1] - begin
        if rest[link] > 0:
            hop = link_hops[begin + (turn[link] + sharing - 1) % sharing]
            if counters[hop] > counters[hop + 1]:
                moved[count] = hop + 1
                count += 1
                rest[link] -= 1
            continue
        for k in range(sharing):
            at = (turn[link] + k) % sharing
            hop = link_hops[begin + at]
            if counters[hop] > counters[hop + 1]:
                moved[count] = hop + 1
                count += 1
                turn[link] = (at + 1) % sharing
                rest[link] = hop_puts[begin + at] - 1
                break
    return count


@njit(cache=True, nogil=True)
def run_tokens(
    iterations: int, first: int, max_cycles: int, network: Network, links: LinkTable, state: TokenState, pace: Pace
) -> int:
    """Run until every unit has done its part of ``iterations`` or nothing moves any more; returns the cycles.

    Fills ``results[unit, firing]``, ``finished[unit, iteration]`` (the cycle) and ``usage[unit]`` of the state; its
    ``fired`` and its counters show where a deadlock stands. O(cycles with events * (units + hops)).

    A run that stops at ``max_cycles`` is continued by a call whose ``first`` is the cycle that was returned, with the
    same state and pace. A call that returns ``first`` itself has come to its end: nothing is left, or nothing moves.
    """
    units, input_start, inputs, output_start, outputs, flows = network
    link_start, link_hops, hop_puts = links
    counters, consumed, rings, results, finished, usage, fired = state
    until, idle, seen, promised, turn, rest = pace
    count = len(units)
    moved = np.zeros(max(len(link_start), 1), dtype=np.int64)
    cycle = first
    while cycle < max_cycles:
        started = False
        soonest = _NEVER
        left = False
        for u in range(count):
            if until[u] == cycle:
                _put(u, fired[u], results[u, fired[u] - 1], output_start, outputs, flows, counters, rings)
                until[u] = -1
                if fired[u] % units[u, U_REPEATS] == 0:
                    finished[u, fired[u] // units[u, U_REPEATS] - 1] = cycle
            if until[u] < 0 and fired[u] < iterations * units[u, U_REPEATS]:
                if _starved(u, fired[u], input_start, inputs, flows, counters, consumed):
                    idle[u] = STARVED
                elif _blocked(u, fired[u], output_start, outputs, flows, promised, seen):
                    idle[u] = STALLED
                else:
                    results[u, fired[u]] = _begin(
                        u, fired[u], units[u, U_SALT], input_start, inputs, flows, consumed, rings
                    )
                    for k in range(output_start[u], output_start[u + 1]):
                        if (fired[u] + 1) % flows[outputs[k], F_PUTS_EVERY] == 0:
                            promised[outputs[k]] += flows[outputs[k], F_PUTS]
                    fired[u] += 1
                    until[u] = cycle + units[u, U_WORK]
                    started = True
            if until[u] >= 0:
                soonest = min(soonest, until[u])
            left = left or until[u] >= 0 or fired[u] < iterations * units[u, U_REPEATS]
        moves = _move(link_start, link_hops, hop_puts, turn, rest, counters, moved)
        for k in range(moves):
            counters[moved[k]] += 1
        for f in range(len(flows)):
            seen[f] = consumed[f]
        if not left:
            return cycle
        if not started and moves == 0 and soonest == _NEVER:
            return cycle
        step = 1 if started or moves > 0 else soonest - cycle
        for u in range(count):
            if until[u] >= 0:
                usage[u, BUSY] += step
            elif fired[u] < iterations * units[u, U_REPEATS]:
                usage[u, idle[u]] += step
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
    every how many firings they are put, and taken). Fills ``results[node, firing]``; False when the graph stops by
    itself before the end. By the theory of Kahn process networks the values do not depend on the order of firing, so
    any order will do. O(firings * tokens), and a pass over all nodes for each round in which something fires.
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
                            value = token(results[edges[e, 0], firing], later % edges[e, 1])
                        state = mix(state, value + k - input_start[v])
                results[v, fired[v]] = state
                fired[v] += 1
                moving = True
    return bool(np.all(fired >= iterations * repeats))
