"""MII: the least II that the demands on tiles and pools (ResMII) and the recurrences of a graph (RecMII) allow.

ResMII is a Hall bound: whatever set of op classes is taken, its ops must fit the tiles that can run at least one of
them. A class on its own gives the textbook figure; sets matter where classes compete for the few tiles that have them.

Live-ins count where registers cannot keep them all: each of the others is loaded at least once in every iteration,
which takes an issue slot of a memory tile and a cycle of its bus.

No modulo schedule is below the MII; that there is one at it is not said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.dfg.recurrence import recurrence_mii


@dataclass(frozen=True, slots=True, kw_only=True)
class Mii:
    """A lower bound on the II, and where it comes from."""

    res: int
    rec: int
    #: One sentence for each demand that reaches ``res``, and one for the recurrences where they reach ``total``.
    explanations: tuple[str, ...]
    #: Op classes that the graph needs and no tile has: no II will do.
    missing: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """The larger of the two bounds."""
        return max(self.res, self.rec)


def mii(dfg: Dfg, arch: Arch) -> Mii:
    """The MII of a graph on an array. Polynomial in graph and tiles, exponential in op classes with different tiles.

    Live-ins that sit in registers take no tile and do not count. On static arrays a ``res`` above 1 says that the graph
    does not fit.
    """
    bounds, missing = resource_bounds(dfg, arch)
    loads = unkept_live_ins(dfg, arch)
    res = max([1, *(bound.ii for bound in bounds)])
    rec = recurrence_mii(dfg, least_latencies(dfg, arch))
    reasons = [bound.reason for bound in bounds if bound.ii == res > 1]
    if loads and any("mem" in text for text in reasons):
        reasons.append(f"the registers have no room for {loads} of the live-ins, which are loaded in every iteration")
    if rec == max(res, rec) > 1:
        reasons.append(f"recurrences need II {rec}")
    return Mii(res=res, rec=rec, explanations=tuple(reasons), missing=missing)


class ClassBound(NamedTuple):
    """What counting says of some op classes: the II that they need, and why."""

    ii: int
    reason: str
    classes: tuple[str, ...]


def resource_bounds(dfg: Dfg, arch: Arch) -> tuple[list[ClassBound], tuple[str, ...]]:
    """Every bound that counting gives, and the op classes that no tile has.

    ``mii`` takes the largest of them; the others say how far away they are. Costs the same.
    """
    demand, missing = _demand(dfg, arch)
    loads = unkept_live_ins(dfg, arch)
    if loads:
        kept = min(arch.tiles[t].occupancy_of("mem") for t in arch.tiles_for("mem"))
        demand["mem"] = demand.get("mem", 0) + loads * kept
    bounds = [
        *_tile_bounds(demand, arch),
        *_pool_bounds(dfg, arch, loads),
        *_unit_bounds(demand, arch),
        *_bank_bounds(dfg, arch),
    ]
    return bounds, missing


def least_latencies(dfg: Dfg, arch: Arch) -> Callable[[str], int]:
    """Node -> the least cycles from its issue to its result on any tile that can run it; 0 for timeless nodes."""
    classes = {dfg.op_class(node.id) for node in dfg.nodes}
    least = {name: _least_latency(arch, name) for name in classes}
    return lambda node: 0 if dfg.op(node).timeless else least[dfg.op_class(node)]


def unkept_live_ins(dfg: Dfg, arch: Arch) -> int:
    """How many of the live-ins that are read have to be loaded in every iteration, since registers are too few.

    A register that keeps a live-in holds nothing else. 0 on arrays where live-ins need no register, and on those
    without memory, where more live-ins than registers have no mapping at all.
    """
    if not arch.has("registers") or not arch.tiles_for("mem"):
        return 0
    read = {edge.source for edge in dfg.edges if edge.kind == "data" and dfg.op_class(edge.target) not in arch.free}
    kept = sum(dfg.op_class(node.id) not in arch.free and op.timeless and node.id in read
               for node, op in zip(dfg.nodes, dfg.ops))  # fmt: skip
    room = sum(len(file.registers) - (0 if file.adjustable else file.rotating) for file in arch.register_files)
    return max(0, kept - room)


def _demand(dfg: Dfg, arch: Arch) -> tuple[dict[str, int], tuple[str, ...]]:
    """Op class -> slots its ops take in an iteration at least; and the classes that have no tile."""
    slots: dict[str, int] = {}
    missing: set[str] = set()
    least: dict[str, int] = {}
    for k, node in enumerate(dfg.nodes):
        name = dfg.op_class(node.id)
        if name in arch.free:
            continue
        if name not in least:
            least[name] = min((arch.tiles[t].occupancy_of(name) for t in arch.tiles_for(name)), default=0)
        if least[name]:
            slots[name] = slots.get(name, 0) + least[name]
        elif not dfg.ops[k].timeless:
            missing.add(name)
    return slots, tuple(sorted(missing))


def _tile_bounds(demand: dict[str, int], arch: Arch) -> Iterator[ClassBound]:
    """For each set of op classes the II that it needs on the tiles that have one of them, and why.

    By Hall's theorem these bounds together are exact for placing ops of one slot each on tiles, as long as nothing is
    routed. There are 2^k - 1 sets for k different sets of tiles.
    """
    # Classes that the same tiles have only ever matter together.
    alike: dict[frozenset[int], list[str]] = {}
    for name in sorted(demand):
        alike.setdefault(frozenset(arch.tiles_for(name)), []).append(name)
    for size in range(1, len(alike) + 1):
        for chosen in combinations(alike, size):
            names = sorted(name for tiles in chosen for name in alike[tiles])
            supply = len(frozenset[int]().union(*chosen))
            needed = sum(demand[name] for name in names)
            reason = f"{' + '.join(names)} take {needed} slots on {supply} tiles"
            yield ClassBound(-(-needed // supply), reason, tuple(names))


def _unit_bounds(demand: dict[str, int], arch: Arch) -> Iterator[ClassBound]:
    """For each op class that keeps its unit for several cycles the II below which it would meet itself, and why."""
    for name in sorted(demand):
        kept = min(arch.tiles[t].occupancy_of(name) for t in arch.tiles_for(name))
        if kept > 1:
            yield ClassBound(kept, f"{name} keeps its unit for {kept} cycles", (name,))


def _pool_bounds(dfg: Dfg, arch: Arch, loads: int) -> Iterator[ClassBound]:
    """For each set of classes that pools limit: the II that its ops (and ``loads`` of live-ins) need, and why.

    The supply per slot is what these pools can start together with the tiles that are in none of them; a pool starts
    no more than it has tiles.
    """
    for classes in sorted({pool.classes for pool in arch.pools}, key=sorted):
        able = {k for k, tile in enumerate(arch.tiles) if tile.classes & classes}
        supply = 0
        outside = set(able)
        for pool in arch.pools:
            if pool.classes == classes:
                supply += min(pool.capacity, len(able & set(pool.tiles)))
                outside -= set(pool.tiles)
        supply += len(outside)
        needed = sum(1 for node in dfg.nodes if dfg.op_class(node.id) in classes - arch.free)
        needed += loads if "mem" in classes else 0
        if needed and supply:
            reason = f"{' + '.join(sorted(classes))} ops need {needed} of {supply} bus cycles per slot"
            yield ClassBound(-(-needed // supply), reason, tuple(sorted(classes)))


def _bank_bounds(dfg: Dfg, arch: Arch) -> Iterator[ClassBound]:
    """The II that the accesses need whichever arrays lie in which banks: all of them, and those of one array."""
    if not arch.banks:
        return
    rooms = [min(bank.ports, len(bank.tiles)) for bank in arch.banks]
    count = Counter(node.array or "" for node in dfg.nodes if dfg.op_class(node.id) == "mem")
    total = sum(count.values())
    reason = f"{total} accesses start at {sum(rooms)} per cycle in {len(rooms)} banks"
    yield ClassBound(-(-total // sum(rooms)), reason, ("mem",))
    for name, number in sorted(count.items()):
        reason = f"{number} accesses to {name!r} start at {max(rooms)} per cycle in one bank"
        yield ClassBound(-(-number // max(rooms)), reason, ("mem",))


def _least_latency(arch: Arch, name: str) -> int:
    """The least cycles from issue to result on any tile that has the op class."""
    return min((arch.tiles[t].latency_of(name) for t in arch.tiles_for(name)), default=0 if name in arch.free else 1)
