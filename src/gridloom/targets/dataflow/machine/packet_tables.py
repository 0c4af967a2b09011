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
F_SOURCE: Final = 0
F_TARGET: Final = 1
F_PUTS: Final = 2
F_TAKES: Final = 3
F_PUTS_EVERY: Final = 4
F_TAKES_EVERY: Final = 5
F_ROOM: Final = 6
F_EARLY: Final = 7
F_CREDIT: Final = 8
# And what a run changes: tokens that firings have put out or will, tokens whose room the producer knows to be free,
# tokens taken, tokens that have come or are coming, the cycle in which the last packet began to come, and its pace.
F_PROMISED: Final = 9
F_FREED: Final = 10
F_TAKEN: Final = 11
F_COME: Final = 12
F_BEGAN: Final = 13
F_PACE: Final = 14
F_COLUMNS: Final = 16

# Columns of the unit table: cycles of a firing, firings of an iteration; then the cycle in which its firing ends (-1:
# idle), since when its present state lasts, what it lacks, its firings, the last cycle in which it was looked at; last
# the firings after which it begins no more.
U_WORK: Final = 0
U_REPEATS: Final = 1
U_UNTIL: Final = 2
U_SINCE: Final = 3
U_REASON: Final = 4
U_FIRED: Final = 5
U_LOOKED: Final = 6
U_GOAL: Final = 7
U_COLUMNS: Final = 8

# Columns of the table of resources: pace, latency, rests (every, cycles, phase); the cycle from which it is free, the
# packets that could cross it, since when there are so many, the last cycle in which it was marked, whose turn it is.
L_PACE: Final = 0
L_LATENCY: Final = 1
L_REST_EVERY: Final = 2
L_REST_CYCLES: Final = 3
L_REST_PHASE: Final = 4
L_FREE_AT: Final = 5
L_READY: Final = 6
L_SINCE: Final = 7
L_MARKED: Final = 8
L_TURN: Final = 9
L_COLUMNS: Final = 10

# Columns of the table of queues: vectors that it holds, the resource before it, where its ring begins; vectors that are
# in it or on their way, its front, its packets.
Q_CAPACITY: Final = 0
Q_FEEDER: Final = 1
Q_RING: Final = 2
Q_USED: Final = 3
Q_FRONT: Final = 4
Q_COUNT: Final = 5
Q_COLUMNS: Final = 6

# Cells of the description of DRAM rows: vectors of a row (0: there are none), banks of a channel, cycles to open one,
# the first resource that is a channel.
R_VECTORS: Final = 0
R_BANKS: Final = 1
R_OPENING: Final = 2
R_FIRST: Final = 3

# Columns of the tree table: every how many firings of its unit it gets a packet.
T_EVERY: Final = 0

# Columns of the usage table of units, and of that of resources.
BUSY: Final = 0
STARVED: Final = 1
STALLED: Final = 2
CARRIED: Final = 0
WAITED: Final = 1

# Numbers of the run: the cycle, the first free cell, events that wait, units to look at and resources to look at in
# this cycle, packets that reach their queue in the next cycle, what the run came to (-1: it goes on).
N_CYCLE: Final = 0
N_FREE: Final = 1
N_EVENTS: Final = 2
N_LOOKS: Final = 3
N_MARKS: Final = 4
N_LEAVING: Final = 5
N_STATUS: Final = 6
N_COUNT: Final = 8

# What a run comes to.
GOES_ON: Final = -1
DONE: Final = 0
DEADLOCK: Final = 1
OUT_OF_TIME: Final = 2
OUT_OF_CELLS: Final = 3

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
