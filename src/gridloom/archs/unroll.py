"""The time-expanded resource graph: what routers and checkers see.

Node ``r * ii + s`` is resource ``r`` in slot ``s`` (cycle mod II). Successors are in CSR form with their latency in
flat cycles. Arcs out of a FU carry the latency of a *move*; an op's own result appears after the op's latency.

This is the modulo routing resource graph (MRRG) of the DRESC compiler: a modulo schedule repeats every II cycles, so
that a resource at cycle c and at cycle c + II is one and the same. Settings of the mapping are applied while the graph
is made: a pipeline bit that is on adds a cycle to the arcs it gates, and the hold arcs of rotating registers lead to
the next register of their file after the last slot.

A path through this graph gives slots only. Whoever needs flat cycles (the age of a value, the iterations that it lives)
sums the latencies along the path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gridloom.archs.model import Arch, Ints
from gridloom.errors import ArchError

#: Beyond this an II is a mistake, and its graph would not fit in memory.
MAX_UNROLLED_ARCS = 20_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class ResourceGraph:
    """An array unrolled over II slots, which :meth:`gridloom.archs.model.Arch.unroll` makes.

    The arrays are ``int32``; ``target`` and ``latency`` have one entry per arc and slot, sorted by source node and,
    within one, by target node. The graph is valid for its II and its settings only.
    """

    arch: Arch
    ii: int
    #: Validated settings with defaults filled in.
    settings: Mapping[str, Any]
    #: CSR over nodes: successors of node n are ``target[indptr[n]:indptr[n+1]]``.
    indptr: Ints
    target: Ints
    latency: Ints

    @property
    def nodes(self) -> int:
        """The number of nodes: one for each resource and slot."""
        return len(self.arch.kind) * self.ii

    @cached_property
    def predecessors(self) -> tuple[Ints, Ints, Ints]:
        """The same arcs backwards, in CSR form: the row starts, the sources and the latencies.

        It is made when it is first asked for, by a stable sort of the targets, for searches that go from a consumer
        back.
        """
        count = self.nodes
        sources = np.repeat(np.arange(count, dtype=np.int32), np.diff(self.indptr))
        order = np.argsort(self.target, kind="stable")
        indptr = np.zeros(count + 1, dtype=np.int32)
        np.cumsum(np.bincount(self.target, minlength=count), out=indptr[1:])
        return indptr, sources[order].astype(np.int32), self.latency[order]

    def latencies(self, source: int, slot: int, target: int) -> tuple[int, ...]:
        """Return the latencies of all arcs from ``source`` in ``slot`` to ``target``; empty where there is no arc.

        The ends are resources, not nodes. Linear in the arcs that leave the source.
        """
        node = source * self.ii + slot
        span = slice(self.indptr[node], self.indptr[node + 1])
        return tuple(self.latency[span][self.target[span] // self.ii == target].tolist())


def unroll(arch: Arch, ii: int, settings: Mapping[str, Any]) -> ResourceGraph:
    """Expand an array over ``ii`` slots under the given settings. O(arcs * II).

    ArchError for settings that the array does not have, for an II that its style does not have, and for a graph that
    would not fit in memory.
    """
    if ii < 1:
        raise ArchError(f"II must be at least 1, found {ii}")
    if arch.style != "modulo" and ii != 1:
        raise ArchError(f"array {arch.name!r} is {arch.style}: its II is 1, found {ii}")
    if len(arch.arc_source) * ii > MAX_UNROLLED_ARCS:
        raise ArchError(
            f"II {ii} makes {len(arch.arc_source) * ii} arcs of array {arch.name!r}; at most {MAX_UNROLLED_ARCS}"
        )
    chosen = check_settings(arch, settings)
    gates = _gate_bits(arch, chosen)
    latency = arch.arc_latency + np.where(arch.arc_gate >= 0, gates[arch.arc_gate], 0)
    slots = np.arange(ii, dtype=np.int32)
    goal = np.repeat(arch.arc_target[:, None], ii, axis=1)
    _rotate(arch, chosen, goal, ii)
    # No node has more than 2**31 - 1 as its number, since there are fewer arcs.
    node = goal * np.int32(ii) + (slots + latency[:, None]) % ii
    indptr, place = _places(arch, ii)
    target, cycles = np.empty(place.size, dtype=np.int32), np.empty(place.size, dtype=np.int32)
    target[place] = node
    cycles[place] = latency[:, None]
    _sort_targets(indptr, target, cycles)
    return ResourceGraph(
        arch=arch,
        ii=ii,
        settings=chosen,
        indptr=indptr,
        target=target,
        latency=cycles,
    )


def _places(arch: Arch, ii: int) -> tuple[Ints, Ints]:
    """Return the CSR offsets of all nodes, and where in it each arc [arc, slot] stands.

    Arcs are sorted by their source: the arcs of a resource in slot s follow those in slot s - 1, in their order.
    """
    count = np.bincount(arch.arc_source, minlength=len(arch.kind))
    first = np.cumsum(count) - count
    indptr = np.zeros(len(arch.kind) * ii + 1, dtype=np.int32)
    np.cumsum(np.repeat(count, ii), out=indptr[1:])
    own = np.arange(len(arch.arc_source)) + first[arch.arc_source] * (ii - 1)
    return indptr, own[:, None] + np.arange(ii) * count[arch.arc_source][:, None]


def _sort_targets(indptr: Ints, target: Ints, cycles: Ints) -> None:
    """Sort the arcs of each node by their targets, in place.

    They are sorted already, but for nodes with two arcs to one resource and for registers that rotate.
    """
    falls = np.flatnonzero(target[1:] < target[:-1]) + 1
    begins = np.zeros(len(target) + 1, dtype=np.bool_)
    begins[indptr] = True
    for node in np.unique(np.searchsorted(indptr, falls[~begins[falls]], side="right") - 1).tolist():
        arcs = slice(indptr[node], indptr[node + 1])
        order = np.argsort(target[arcs], kind="stable")
        target[arcs], cycles[arcs] = target[arcs][order], cycles[arcs][order]


def _gate_bits(arch: Arch, settings: Mapping[str, Any]) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Return the bits of all settings in the order of ``Arch.arc_gate``, and a 0 at the end.

    The last one is what index -1 (no gate) reads, so that the caller can look all arcs up without a test.
    """
    bits: list[int] = []
    for setting in arch.settings:
        bits.extend(int(bit) for bit in settings[setting.name])
    return np.array([*bits, 0], dtype=np.int32)


def _rotate(arch: Arch, settings: Mapping[str, Any], goal: Ints, ii: int) -> None:
    """Redirect the hold arcs of rotating registers: r_k of the last slot is r_(k-1) of the first slot after it.

    ``goal`` is the target of each arc in each slot and is changed in place. An arc from a resource to itself is a hold
    arc. Those of output registers and of registers that do not rotate map onto themselves.
    """
    turned = np.arange(len(arch.kind), dtype=np.int32)
    for file in arch.register_files:
        count = settings["rotating"].get(file.name, file.rotating)
        for k in range(count):
            turned[file.registers[k]] = file.registers[(k - 1) % count]
    hold = np.flatnonzero(arch.arc_source == arch.arc_target)
    goal[hold, ii - 1] = turned[arch.arc_target[hold]]


def check_settings(arch: Arch, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with defaults filled in; raise ArchError for one that the array does not have.

    Every array takes ``rotating`` (register file -> how many of its registers rotate), where it may be empty, and an
    array with banks takes ``banks`` (array of the program -> the bank in which it lies).

    >>> from gridloom.archs import build
    >>> check_settings(build("vpcma:3x2"), {"pipeline": [0, 1]})
    {'pipeline': [0, 1], 'rotating': {}}
    """
    known = {setting.name: setting for setting in arch.settings}
    chosen: dict[str, Any] = {name: [0] * setting.length for name, setting in known.items()}
    chosen["rotating"] = {}
    for name, value in settings.items():
        if name == "rotating":
            chosen["rotating"] = _check_rotating(arch, value)
        elif name == "banks" and arch.banks:
            chosen["banks"] = _check_banks(arch, value)
        elif name not in known:
            raise ArchError(f"array {arch.name!r} has no setting {name!r}; it has: {', '.join(chosen)}")
        else:
            chosen[name] = _check_bits(arch, known[name].length, name, value)
    return chosen


def _check_bits(arch: Arch, length: int, name: str, value: Any) -> list[int]:
    """Return the bits of a setting; ArchError unless they are a list of 0 and 1 of the right length."""
    if not isinstance(value, list | tuple) or len(value) != length or any(bit not in (0, 1) for bit in value):
        raise ArchError(f"setting {name!r} of array {arch.name!r} takes {length} bits, found {value!r}")
    return [int(bit) for bit in value]


def _check_banks(arch: Arch, value: Any) -> dict[str, str]:
    """Return the bank of each array of the program; ArchError for banks that the array does not have."""
    names = [bank.name for bank in arch.banks]
    if not isinstance(value, Mapping):
        raise ArchError(f"setting 'banks' takes a bank for each array of the program, found {value!r}")
    for array, bank in value.items():
        if bank not in names:
            raise ArchError(f"array {arch.name!r} has no bank {bank!r} for {array!r}; it has: {', '.join(names)}")
    return {str(array): str(bank) for array, bank in value.items()}


def _check_rotating(arch: Arch, value: Any) -> dict[str, int]:
    """Return how many registers of each file rotate; ArchError for files and numbers that the array does not have."""
    files = {file.name: file for file in arch.register_files}
    if not isinstance(value, Mapping):
        raise ArchError(f"setting 'rotating' takes a number for each register file, found {value!r}")
    for name, count in value.items():
        if name not in files:
            raise ArchError(f"array {arch.name!r} has no register file {name!r}")
        file = files[name]
        if not isinstance(count, int) or not 0 <= count <= len(file.registers):
            raise ArchError(f"register file {name!r} has {len(file.registers)} registers, found rotating {count!r}")
        if count != file.rotating and not file.adjustable:
            raise ArchError(f"register file {name!r} has {file.rotating} rotating registers and cannot be changed")
    return {name: int(count) for name, count in value.items()}
