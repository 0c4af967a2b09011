"""What an elastic array is made of beside its units: resources that carry vectors, and the queues behind them.

A *resource* takes one packet at a time: a link, a bank of a memory unit, a channel of the DRAM. It takes ``pace``
cycles per vector. Links come first, in the order of the array's links, then banks, then the ports by which reads enter
DRAM interfaces, then channels.

Reads are fetched ahead: a *reader* for each DRAM interface that runs an input asks for what the next firings send, as
long as the interface has room. Its packets cross the channel and the port; the input waits for them as for tokens.

A *queue* holds whole packets that have crossed a resource and wait for the next: the buffer at the end of each link
(same number as the link), and the reads under way of each DRAM interface.

Where DRAM has *rows*, what a stream reads or writes lies in one row after the other, row j of stream s (in the order of
turns) in bank (s + j) modulo the banks. A packet begins when the row of its first vector is open in its bank.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch, Kind
from gridloom.archs.spec import parameters
from gridloom.sim.reading import link_ends
from gridloom.targets.dataflow.families.rdu import RduParameters

Words = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class PacketFabric:
    """The resources and queues of an array as flat tables; -1: there is none."""

    #: How many links there are, and how many resources.
    links: int
    resources: int
    #: Resource of the array -> number of the link.
    link_number: Words
    #: Link -> the tiles that it leads from and to.
    link_from: Words
    link_to: Words
    #: Resource -> cycles per vector, and cycles on the way after the last one.
    pace: Words
    latency: Words
    #: Resource -> every how many cycles it rests, for how many, and in which phase it is in cycle 0; 0: it never rests.
    rest_every: Words
    rest_cycles: Words
    rest_phase: Words
    #: Tile -> its first bank; its DRAM channel; the port and the queue of its reads.
    bank: Words
    channel: Words
    port: Words
    reads: Words
    #: Vectors of reads under way that a DRAM interface has room for.
    ahead: int
    #: Banks of a memory unit.
    banks: int
    #: Queue -> vectors that it holds, and the resource behind which it lies.
    capacity: Words
    feeder: Words
    #: Vectors of a DRAM row (0: there are none), banks of a channel, cycles to open another row, the first channel.
    rows: tuple[int, int, int, int]
    #: Packets of one stream that wait in a unit for their first link at the most.
    waiting: int = 2


@lru_cache(maxsize=8)
def fabric_of(arch: Arch) -> PacketFabric:
    """Return the tables of an array of the family ``rdu``. Linear in its links; those of the last eight are kept."""
    p = parameters(RduParameters, arch.spec)
    resources = np.flatnonzero(arch.kind == Kind.LINK)
    links = len(resources)
    link_number = np.full(len(arch.kind), -1, dtype=np.int64)
    link_number[resources] = np.arange(links)
    ends = np.zeros((links, 2), dtype=np.int64)
    for resource, tiles in link_ends(arch).items():
        ends[link_number[resource]] = tiles
    memories = [t for t, tile in enumerate(arch.tiles) if tile.kind == "mu"]
    drams = [t for t, tile in enumerate(arch.tiles) if tile.kind == "dram"]
    channels = max(1, min(p.dram_channels, len(drams)))
    bank, channel, port, reads = (np.full(len(arch.tiles), -1, dtype=np.int64) for _ in range(4))
    bank[memories] = links + p.memory_ports * np.arange(len(memories))
    ports = links + p.memory_ports * len(memories)
    port[drams] = ports + np.arange(len(drams))
    first = ports + len(drams)
    channel[drams] = first + np.arange(len(drams)) % channels
    reads[drams] = links + np.arange(len(drams))
    total = first + channels
    pace, latency, every, cycles, phase = (np.zeros(total, dtype=np.int64) for _ in range(5))
    pace[:first], pace[first:] = 1, p.dram_cycles
    latency[first:] = p.dram_latency
    if p.refresh_cycles:
        every[first:], cycles[first:] = p.refresh_every, p.refresh_cycles
        # Channels are refreshed one after the other, the first one at the end of the first interval.
        phase[first:] = p.refresh_cycles + np.arange(channels) * (p.refresh_every // channels) % p.refresh_every
    return PacketFabric(
        links=links,
        resources=total,
        link_number=link_number,
        link_from=np.ascontiguousarray(ends[:, 0]),
        link_to=np.ascontiguousarray(ends[:, 1]),
        pace=pace,
        latency=latency,
        rest_every=every,
        rest_cycles=cycles,
        rest_phase=phase,
        bank=bank,
        channel=channel,
        port=port,
        reads=reads,
        ahead=p.dram_queue,
        banks=p.memory_ports,
        rows=(p.dram_row, p.dram_banks, p.row_cycles, first),
        capacity=np.array([p.switch_buffer] * links + [p.dram_queue] * len(drams), dtype=np.int64),
        feeder=np.concatenate([np.arange(links), channel[drams]]).astype(np.int64),
    )


def pack_rows(rows: Iterable[Sequence[int]]) -> tuple[Words, Words]:
    """Return rows of different lengths as CSR: where each row starts, and all rows one after the other.

    The second array has a cell to spare, so that it is never empty.
    """
    start, flat = [0], list[int]()
    for row in rows:
        flat += row
        start.append(len(flat))
    return np.array(start, dtype=np.int64), np.array([*flat, 0], dtype=np.int64)
