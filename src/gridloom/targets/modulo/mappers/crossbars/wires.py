"""The crossbars of an array as wire states, read off its arcs: what the ``modulo`` mapper routes over within a cycle.

A wire is a link or a switch output. A *wire state* is a wire and the number of links that a value has crossed in the
cycle when it is there, up to what the array allows. States lead to states of the same cycle, so that their number is
that of the wires times the links per cycle; they are sorted such that each comes after all that lead to it.

The wire states of an array in the numbers of a ``Fabric``, for the registers that a search may use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

import numpy as np

from gridloom.archs.model import Arch, Kind
from gridloom.errors import OptionError
from gridloom.search.arrays import Float64s, Int64s, csr64

#: Links per cycle that are routed over where an array sets no limit.
_DEEPEST = 8

#: Prices of a link and of an inner wire of a crossbar in a slot.
_LINK_PRICE = 0.15
_SWITCH_PRICE = 0.02

#: ``{source: {target: latency}}`` over resources.
Arcs = Mapping[int, Mapping[int, int]]


@dataclass(frozen=True, kw_only=True, eq=False)
class CrossbarWires:
    """The wire states of an array. Resources stand for registers and output registers, numbers for states."""

    #: The wires; (wire, links crossed) of each state.
    resources: tuple[int, ...]
    states: tuple[tuple[int, int], ...]
    #: For each state the registers and output registers, and the states, that lead to it in the same cycle.
    storages: tuple[tuple[int, ...], ...]
    before: tuple[tuple[int, ...], ...]
    #: For each state the register file that it writes at the end of the cycle; -1: none.
    writes: tuple[int, ...]
    #: For each tile the states that all of its operand inputs read.
    readers: tuple[tuple[int, ...], ...]
    #: For each register file the states of its write ports.
    write_ports: tuple[tuple[int, ...], ...]
    #: The base price of each state, and the most states that a value crosses in a cycle.
    prices: tuple[float, ...]
    depth: int

    def resource(self, state: int) -> int:
        """The resource of a state."""
        return self.resources[self.states[state][0]]


def read_wires(arch: Arch, arcs: Arcs) -> CrossbarWires:
    """Return the wire states of an array with crossbars.

    OptionError for crossbars whose inner wires lead in a circle without a link. Linear in the arcs between wires times
    the links per cycle.
    """
    kinds: list[int] = arch.kind.tolist()
    resources = tuple(r for r, kind in enumerate(kinds) if kind in (Kind.LINK, Kind.SWITCH))
    into: dict[int, list[int]] = {r: [] for r in resources}
    for source, targets in arcs.items():
        for target, latency in targets.items():
            if target in into and latency == 0:
                into[target].append(source)
    ports = write_ports(arch, arcs)
    states = _states(arch, kinds, resources, into, set().union(*ports.values()))
    number = {state: k for k, state in enumerate(states)}
    index = {r: k for k, r in enumerate(resources)}
    storages, before = [], []
    for wire, crossed in states:
        r = resources[wire]
        earlier = crossed - (kinds[r] == Kind.LINK)
        stored = [s for s in into[r] if kinds[s] in (Kind.OUT, Kind.REG)]
        storages.append(tuple(stored) if earlier == 0 else ())
        ways = [(index[s], earlier) for s in into[r] if s in index]
        before.append(tuple(number[way] for way in ways if way in number))
    files = _files(arch, arcs, ports)
    return CrossbarWires(
        resources=resources,
        states=tuple(states),
        storages=tuple(storages),
        before=tuple(before),
        writes=tuple(files.get(resources[wire], -1) for wire, _ in states),
        readers=_readers(arch, arcs, resources, states),
        write_ports=tuple(
            tuple(number[index[r], 0] for r in sorted(ports.get(k, ()))) for k in range(len(arch.register_files))
        ),
        prices=tuple(_LINK_PRICE if kinds[resources[w]] == Kind.LINK else _SWITCH_PRICE for w, _ in states),
        depth=_longest(before) + bool(ports),
    )


def write_ports(arch: Arch, arcs: Arcs) -> dict[int, set[int]]:
    """For each register file that has them the switches that lead to all of its registers in the same cycle."""
    switches = [r for r, kind in enumerate(arch.kind.tolist()) if kind == Kind.SWITCH]
    found: dict[int, set[int]] = {}
    for k, file in enumerate(arch.register_files):
        ports = {s for s in switches if file.registers and all(arcs.get(s, {}).get(r) == 0 for r in file.registers)}
        if ports:
            found[k] = ports
    return found


def _states(
    arch: Arch, kinds: list[int], resources: tuple[int, ...], into: Mapping[int, list[int]], ports: set[int]
) -> list[tuple[int, int]]:
    """The states that a value can get to, layer by layer: links first, then switch outputs in their order.

    Write ports of register files are among them, though results and links of an earlier cycle lead there.
    """
    index = {r: k for k, r in enumerate(resources)}
    inner = [r for r in resources if kinds[r] == Kind.SWITCH]
    try:
        order = list(TopologicalSorter({r: [s for s in into[r] if s in inner] for r in inner}).static_order())
    except CycleError:
        raise OptionError(f"the switches of array {arch.name!r} lead in a circle without a link") from None
    found: set[tuple[int, int]] = set()
    states: list[tuple[int, int]] = []

    def add(r: int, crossed: int, earlier: int) -> None:
        """Add a state when something leads to it."""
        stored = earlier == 0 and (r in ports or any(kinds[s] in (Kind.OUT, Kind.REG) for s in into[r]))
        if stored or any((index[s], earlier) in found for s in into[r] if s in index):
            found.add((index[r], crossed))
            states.append((index[r], crossed))

    for r in order:
        add(r, 0, 0)
    for crossed in range(1, (arch.links_per_cycle or _DEEPEST) + 1):
        for r in resources:
            if kinds[r] == Kind.LINK:
                add(r, crossed, crossed - 1)
        for r in order:
            add(r, crossed, crossed)
    return states


def _files(arch: Arch, arcs: Arcs, ports: Mapping[int, set[int]]) -> dict[int, int]:
    """The register file that each wire writes: all of its registers, or its write ports, a cycle later."""
    written: dict[int, int] = {}
    for k, file in enumerate(arch.register_files):
        entries = ports.get(k) or file.registers
        for source, targets in arcs.items():
            if all(targets.get(r) == 1 for r in entries) and arch.kind[source] in (Kind.LINK, Kind.SWITCH):
                written.setdefault(source, k)
    return written


def _readers(
    arch: Arch, arcs: Arcs, resources: tuple[int, ...], states: list[tuple[int, int]]
) -> tuple[tuple[int, ...], ...]:
    """For each tile the states of the wires that lead to all of its operand inputs."""
    by_wire: dict[int, list[int]] = {}
    for k, (wire, _) in enumerate(states):
        by_wire.setdefault(resources[wire], []).append(k)
    table = []
    for row in arch.operand_inputs.tolist():
        wanted = {r for r in row if r >= 0}
        found = [r for r in resources if wanted and wanted <= arcs.get(r, {}).keys()]
        table.append(tuple(sorted(k for r in found for k in by_wire.get(r, ()))))
    return tuple(table)


def _longest(before: list[tuple[int, ...]]) -> int:
    """The most states on one way through a cycle."""
    length: list[int] = []
    for ways in before:
        length.append(1 + max((length[s] for s in ways), default=0))
    return max(length, default=0)


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
