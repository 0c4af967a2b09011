"""The tables of the packet simulator: what their columns are, what a run is told and what it leaves behind.

All state is in tables of 64-bit numbers, so that the compiled loop of `packet_kernel` allocates nothing.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.int64]

# Columns of the flow table: units at its ends, tokens that a firing puts and takes, every how many firings of producer
# and consumer that happens, room of the consumer's buffer, tokens there at the start, cycles of a credit's way back.
F_SOURCE, F_TARGET, F_PUTS, F_TAKES, F_PUTS_EVERY, F_TAKES_EVERY, F_ROOM, F_EARLY, F_CREDIT = range(9)
# And what a run changes: tokens that firings have put out or will, tokens whose room the producer knows to be free,
# tokens taken, tokens that have come or are coming, the cycle in which the last packet began to come, and its pace.
F_PROMISED, F_FREED, F_TAKEN, F_COME, F_BEGAN, F_PACE = range(9, 15)
F_COLUMNS: Final = 16

# Columns of the unit table: cycles of a firing, firings of an iteration; then the cycle in which its firing ends (-1:
# idle), since when its present state lasts, what it lacks, its firings, the last cycle in which it was looked at; last
# the firings after which it begins no more.
U_WORK, U_REPEATS, U_UNTIL, U_SINCE, U_REASON, U_FIRED, U_LOOKED, U_GOAL, U_COLUMNS = range(9)

# Columns of the table of resources: pace, latency, rests (every, cycles, phase); the cycle from which it is free, the
# packets that could cross it, since when there are so many, the last cycle in which it was marked, whose turn it is.
L_PACE, L_LATENCY, L_REST_EVERY, L_REST_CYCLES, L_REST_PHASE = range(5)
L_FREE_AT, L_READY, L_SINCE, L_MARKED, L_TURN, L_COLUMNS = range(5, 11)

# Columns of the table of queues: vectors that it holds, the resource before it, where its ring begins; vectors that are
# in it or on their way, its front, its packets.
Q_CAPACITY, Q_FEEDER, Q_RING, Q_USED, Q_FRONT, Q_COUNT, Q_COLUMNS = range(7)

# Cells of the description of DRAM rows: vectors of a row (0: there are none), banks of a channel, cycles to open one,
# the first resource that is a channel.
R_VECTORS, R_BANKS, R_OPENING, R_FIRST = range(4)

# Columns of the tree table: every how many firings of its unit it gets a packet.
T_EVERY: Final = 0

# Columns of the table of hops. First what a tree is: the resource that is crossed (-1: a root), the hop before, the
# first hop after it, the next hop after the same one, the queue behind it (-1: packets arrive), the vectors of a packet
# and the first flow that ends there.
H_LINK, H_PARENT, H_CHILD, H_NEXT, H_QUEUE, H_SIZE, H_FLOW = range(7)
# Then what a run changes: whether a packet is there that may cross now, how many of the next hops have not taken the
# front packet yet, the cycle in which the last of these is through with it; for roots the packets that wait; the
# vectors that have crossed it, where DRAM has rows.
H_READY, H_PENDING, H_END, H_WAITING, H_CROSSED, H_COLUMNS = range(7, 13)

# Columns of the usage table of units, and of that of resources.
BUSY, STARVED, STALLED = range(3)
CARRIED, WAITED = range(2)

# Numbers of the run: the cycle, the first free cell, events that wait, units to look at and resources to look at in
# this cycle, packets that reach their queue in the next cycle, what the run came to (-1: it goes on).
N_CYCLE, N_FREE, N_EVENTS, N_LOOKS, N_MARKS, N_LEAVING, N_STATUS = range(7)
N_COUNT: Final = 8

# What a run comes to.
GOES_ON: Final = -1
DONE, DEADLOCK, OUT_OF_TIME, OUT_OF_CELLS = range(4)

#: A cycle before all others.
LONG_AGO: Final = -(1 << 40)


class RunLimits(NamedTuple):
    """How far a run goes.

    ``first`` is less than ``last``. A run whose units reach their goals before ``last`` ends when nothing moves any
    more, like a deadlock.
    """

    #: The iterations between whose ends links and units are measured.
    first: int
    last: int
    #: Resources serve their packets in turn, or else always the first that waits.
    fair: bool
    max_cycles: int
    #: The wheel of events has 2 ** wheel_bits slots.
    wheel_bits: int
    #: Packets of a tree that wait in their unit at the most.
    waiting: int


class PacketNetwork(NamedTuple):
    """Units, flows, resources and queues with their state, and lists of flows and trees for each unit (CSR).

    Column names are above; the columns that a run changes are as `measure` sets them at the start.
    """

    units: Words
    flows: Words
    links: Words
    queues: Words
    input_start: Words
    inputs: Words
    output_start: Words
    outputs: Words
    tree_start: Words
    trees: Words
    #: What DRAM rows are like; channel, bank -> the open row as (stream, number), -1: none.
    rows: Words
    open_rows: Words


class RunRecord(NamedTuple):
    """What a run leaves behind. Usage is that of the time between the ends of iterations ``first`` and ``last``."""

    #: The cycle in which each iteration was done by all units, and how many units have done it.
    finish: Words
    done: Words
    #: Unit -> the cycle in which its first iteration was done, and its latest; -1: none yet.
    blocks: Words
    #: Cycles of units and resources by what they did.
    usage: Words
    link_usage: Words


class PacketAgenda(NamedTuple):
    """What is due: the wheel of events and its cells, and the lists of this cycle and the next."""

    numbers: Words
    head: Words
    cells: Words
    looks: Words
    marks: Words
    leaving: Words
    arriving: Words
    rings: Words
