"""The tables of a run token by token: units, flows, trees and resources as flat arrays, and what a run changes.

Rates are in the flow table: a firing takes ``F_TAKES`` tokens in every ``F_TAKES_EVERY``-th firing of the consumer,
and puts ``F_PUTS`` in every ``F_PUTS_EVERY``-th of the producer. ``F_MASK`` is the size of the ring less 1,
``F_LOOP`` is 1 where a unit feeds itself, ``F_CREDIT`` the cycles of a credit's way back, and ``F_PART`` the part of
the producer's result that the flow carries; -1: what is read from DRAM, whose values no one sees.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridloom.targets.dataflow.machine.token_agenda import TokenAgenda, first_agenda

Words = NDArray[np.int64]

# Columns of the flow table.
F_PUTS, F_TAKES, F_ROOM, F_HOPS, F_COUNTER, F_RING, F_MASK, F_LOOP = range(8)
F_PUTS_EVERY, F_TAKES_EVERY, F_CREDIT, F_PART = range(8, 12)

# Columns of the unit table: cycles of a firing, firings of an iteration, what its values begin with, firings in all.
U_WORK, U_REPEATS, U_SALT, U_GOAL = range(4)

# Columns of the tree table: the unit that it begins at, every how many of its firings it gets a packet.
T_UNIT, T_EVERY = range(2)

# Columns of the hop table: the hop before (-1 - t: the root of tree t), the queue behind it (-1: none), tokens of a
# packet, branches after it, the resource that it crosses.
H_BEFORE, H_QUEUE, H_SIZE, H_BRANCHES, H_RESOURCE = range(5)

# Columns of the resource table; the last one is the number of a DRAM channel, -1 for what is none.
R_PACE, R_LATENCY, R_REST_EVERY, R_REST_CYCLES, R_REST_PHASE, R_CHANNEL = range(6)

# Columns of the usage table.
BUSY, STARVED, STALLED = range(3)


class TokenTables(NamedTuple):
    """Units and the flows between them; the inputs and outputs of a unit are lists of flows (CSR).

    No kernel writes to it.
    """

    units: Words
    input_start: Words
    inputs: Words
    output_start: Words
    outputs: Words
    flows: Words
    #: The unit that puts each flow's tokens, and the one that takes the tokens of each counter (-1: none).
    senders: Words
    takers: Words


class PacketTreeTables(NamedTuple):
    """The trees that packets follow. No kernel writes to it.

    ``shares`` lists the hops of each resource in the order of their turns, ``counters`` the counters of flows that each
    hop raises, ``after`` the hops that follow each hop, ``firsts`` those that each tree begins with, and ``of_unit``
    the trees of each unit, and ``feeders`` the resources that fill each queue (all CSR). ``carriers`` has the resource
    of each hop, ``last_hop`` the hop from which each flow's tokens arrive (-1: none).
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
    feeder_start: Words
    feeders: Words
    carriers: Words
    last_hop: Words
    #: Vectors that each queue holds; packets of a tree that wait in its unit at the most.
    capacity: Words
    waiting: int
    #: Vectors of a DRAM row (0: there are none), banks of a channel, cycles to open another row.
    row: int
    row_banks: int
    row_opening: int


class TokenState(NamedTuple):
    """What a run changes.

    A run begins where the arrays stand: counters hold the early tokens of loop-carried edges, and rings their values;
    tokens that count as taken before the first one has come are dropped where they arrive.
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
    #: For each unit the cycle up to which its usage is counted, and the last cycle for which it asked to be looked at;
    #: for each resource the tokens of its packet that are counted, and the cycle in which it has rested.
    settled: Words
    asked: Words
    counted: Words
    rested: Words
    #: For each hop the tokens that it has begun to carry over a channel with rows; for each channel and bank the hop
    #: whose row is open, and its number.
    crossed: Words
    opened: Words
    agenda: TokenAgenda


def first_pace(network: TokenTables, ways: PacketTreeTables, state: TokenState) -> Pace:
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
        # What is dropped at the end of a flow takes no room there.
        promised=state.counters[network.flows[:, F_COUNTER]] - state.consumed,
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
        settled=full(count),
        asked=full(count, -1),
        counted=full(resources),
        rested=full(resources, -1),
        crossed=full(len(ways.hops)),
        opened=full((1 + int(ways.resources[:, R_CHANNEL].max(initial=0)), ways.row_banks, 2), -1),
        agenda=first_agenda(
            count, queues, trees, resources, flows * longest, flows, int(np.count_nonzero(network.units[:, U_GOAL]))
        ),
    )
