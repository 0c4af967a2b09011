"""The wire states of an array in the numbers of a ``Fabric``, for the registers that a search may use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gridloom.archs.model import Arch
from gridloom.search.arrays import Float64s, Int64s, csr64
from gridloom.targets.modulo.mappers.crossbars.wires import CrossbarWires


class WireArrays(NamedTuple):
    """The wire states of an array in the numbers of a ``Fabric``, whose fields ``wire_...`` explain them."""

    states: int
    depth: int
    at: Int64s
    sources: Int64s
    group: Int64s
    price: Float64s
    file: Int64s
    #: CSR: the states of the write ports of each register file.
    port_at: Int64s
    port: Int64s
    #: For each tile the states that it reads.
    readers: tuple[tuple[int, ...], ...]


def no_wires(tiles: int, files: int) -> WireArrays:
    """The arrays of an array on which routes compete for no wires."""
    empty, at = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    ports = np.zeros(files + 1, dtype=np.int64)
    return WireArrays(0, 0, at, empty, empty, np.zeros(0), empty, ports, empty, ((),) * tiles)


def wire_arrays(arch: Arch, wires: CrossbarWires | None, files: Sequence[tuple[int, ...]]) -> WireArrays:
    """The wires as arrays, where ``files`` are the registers of each file that a search may use."""
    tiles = len(arch.tiles)
    if wires is None:
        return no_wires(tiles, len(files))
    storage = {int(out): t for t, out in enumerate(arch.out.tolist())}
    storage |= {r: tiles + k for k, r in enumerate(r for registers in files for r in registers)}
    first = tiles + sum(map(len, files))
    rows = [
        [storage[r] for r in stored if r in storage] + [first + w for w in before]
        for stored, before in zip(wires.storages, wires.before, strict=True)
    ]
    at, sources = csr64(rows)
    port_at, port = csr64([list(ports) for ports in wires.write_ports])
    return WireArrays(
        states=len(wires.states),
        depth=wires.depth,
        at=at,
        sources=sources,
        group=np.array([tiles + first + wire for wire, _ in wires.states], dtype=np.int64),
        price=np.array(wires.prices, dtype=np.float64),
        file=np.array([k if k >= 0 and files[k] else -1 for k in wires.writes], dtype=np.int64),
        port_at=port_at,
        port=port,
        readers=wires.readers,
    )
