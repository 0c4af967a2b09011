"""What an array can hold, counted before any search: ResMII, RecMII, and a Failure where the counts already say no.

The counts are lower bounds for every mapper: a subset of the op classes cannot need more slots than the tiles that have
one of them (Hall's condition over classes), a pool cannot serve more ops than its capacity, a recurrence cannot be
shorter than its latency. O(2^classes * tiles) with fewer than ten classes, plus RecMII.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from gridloom.arch.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.dfg.recurrence import recurrence_mii
from gridloom.mapping.model import Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The least II that resources and recurrences allow; None where II has no meaning or no II is enough."""

    res_mii: int | None
    rec_mii: int | None

    @property
    def mii(self) -> int | None:
        """The larger of the two."""
        return None if self.res_mii is None or self.rec_mii is None else max(self.res_mii, self.rec_mii)


@dataclass(frozen=True, slots=True)
class Need:
    """One countable demand: ``demand`` slots among ``supply`` units that offer one slot a cycle each."""

    what: str
    unit: str
    demand: int
    supply: int

    @property
    def ii(self) -> int | None:
        """The least II for which the demand fits."""
        return None if self.supply == 0 else -(-self.demand // self.supply)


def bounds(dfg: Dfg, arch: Arch) -> Bounds:
    """ResMII and RecMII of a graph on an array; both None on elastic arrays, which have no II."""
    if arch.style == "elastic":
        return Bounds(res_mii=None, rec_mii=None)
    rates = [need.ii for need in needs(dfg, arch)]
    known = [rate for rate in rates if rate is not None]
    return Bounds(res_mii=max([1, *known]) if len(known) == len(rates) else None, rec_mii=rec_mii(dfg, arch))


def rec_mii(dfg: Dfg, arch: Arch) -> int:
    """RecMII with the least latency that any tile of the array offers each op class."""
    classes = {node.id: dfg.op_class(node.id) for node in dfg.nodes}
    least = {name: _least_latency(arch, name) for name in set(classes.values())}
    return recurrence_mii(dfg, lambda node: least[classes[node]])


def needs(dfg: Dfg, arch: Arch) -> Iterator[Need]:
    """Every countable demand: subsets of op classes against the tiles that have one of them, then pools."""
    demand = _slots(dfg, arch)
    able = {name: frozenset(arch.tiles_for(name)) for name in demand}
    for size in range(1, len(demand) + 1):
        for subset in combinations(demand, size):
            tiles = frozenset[int]().union(*(able[name] for name in subset))
            total = sum(demand[name] for name in subset)
            yield Need(_class_words(subset, len(demand)), "tiles", total, len(tiles))
    yield from _pool_needs(arch, demand, able)


def count_failure(dfg: Dfg, arch: Arch, ii: int | None = None) -> Failure | None:
    """The demand that exceeds its supply most, as a Failure; None when every count fits.

    ``ii`` is the II that was asked for; static and elastic arrays have one slot a tile, whatever is asked.
    """
    slots = ii if arch.style == "modulo" else 1
    short = [need for need in needs(dfg, arch) if need.ii is None or (slots is not None and need.ii > slots)]
    if short:
        return _shortage(max(short, key=lambda need: _gravity(need, slots or 1)), arch, slots)
    recurrence = rec_mii(dfg, arch) if slots is not None and arch.style != "elastic" else 1
    if slots is not None and recurrence > slots:
        return _recurrence_failure(arch, slots, recurrence)
    return None


def _gravity(need: Need, slots: int) -> tuple[bool, int, int]:
    # Nothing at all is worse than too little; of equal gaps the one in the fewest words says it best.
    return need.supply == 0, need.demand - need.supply * slots, -len(need.what)


def _slots(dfg: Dfg, arch: Arch) -> dict[str, int]:
    """Op class -> issue slots that the graph needs, in the order of first appearance."""
    count = Counter(dfg.op_class(node.id) for node in dfg.nodes if not dfg.op(node.id).timeless)
    return {name: n * _least_occupancy(arch, name) for name, n in count.items() if name not in arch.free}


def _least_occupancy(arch: Arch, op_class: str) -> int:
    return min((arch.tiles[k].occupancy_of(op_class) for k in arch.tiles_for(op_class)), default=1)


def _least_latency(arch: Arch, op_class: str) -> int:
    if op_class in arch.free:
        return 0
    return min((arch.tiles[k].latency_of(op_class) for k in arch.tiles_for(op_class)), default=0)


def _pool_needs(arch: Arch, demand: dict[str, int], able: dict[str, frozenset[int]]) -> Iterator[Need]:
    for classes in {pool.classes: None for pool in arch.pools}:
        members = [pool for pool in arch.pools if pool.classes == classes]
        wanted = [name for name in demand if name in classes]
        tiles = frozenset[int]().union(*(able[name] for name in wanted))
        covered = frozenset[int]().union(*(pool.tiles for pool in members))
        # A tile outside of every pool serves its ops without a limit, so the pools bound nothing then.
        if wanted and tiles <= covered:
            total = sum(demand[name] for name in wanted)
            yield Need(f"pools for {' and '.join(wanted)}", "pool slots", total, sum(pool.capacity for pool in members))


def _class_words(subset: tuple[str, ...], classes: int) -> str:
    if len(subset) == classes:
        return "tiles"
    return f"tiles with {' or '.join(subset)}"


def _shortage(need: Need, arch: Arch, slots: int | None) -> Failure:
    bound = need.supply * (slots or 1)
    levers = []
    if arch.style == "modulo" and need.ii is not None:
        levers.append(f"II {need.ii}")
    if need.what == "tiles" and arch.rows > 0 and need.supply == arch.rows * arch.cols:
        columns = -(-(need.demand - bound) // (arch.rows * (slots or 1)))
        levers.append(f"{columns} column{'s' if columns > 1 else ''} more")
    elif need.unit == "tiles":
        levers.append(f"{-(-(need.demand - bound) // (slots or 1))} more {need.what}")
    else:
        levers.append("larger pools")
    return Failure(
        constraint=need.what,
        demand=f"{need.demand} {need.unit if slots in (None, 1) else 'slots'}",
        bound=f"{bound} at II {slots}" if arch.style == "modulo" and slots else str(bound),
        levers=tuple(levers),
    )


def _recurrence_failure(arch: Arch, slots: int, recurrence: int) -> Failure:
    lever = f"II {recurrence}" if arch.style == "modulo" else "a modulo-scheduled array such as torus"
    return Failure(
        constraint="recurrence",
        demand=f"II {recurrence} (RecMII)",
        bound=f"II {slots}",
        levers=(lever,),
    )
