"""What the II estimator sees: numbers about a loop on an array, and numbers about that pair at one II.

``of_pair`` gives the first kind once: counts against what the array has, the recurrences, slack, fan-out, how long
values live, how tiles are connected. ``at`` adds the second kind for a number of IIs: which share of slots, ports,
multipliers, links and registers the loop would take there. The estimator asks one question for each II, whether it is
reachable, so that all sizes of loops share the same questions.

All times are taken from the earliest and the latest schedule at the MII, in which recurrences close.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch, Kind
from gridloom.dfg.model import Dfg
from gridloom.mapping.mii import Mii, least_latencies, mii

Floats = NDArray[np.float64]

#: The numbers of a pair, in the order of the vector.
NAMES: Final = (
    "mii", "res", "rec", "nodes", "slots", "edges", "memory", "products", "liveins", "carried", "bound_nodes",
    "depth", "widest", "most_readers", "extra_readers", "crowded_readers", "mean_slack", "tight", "early_life",
    "late_life", "long_edges",
    "tiles", "rows_to_cols", "degree", "least_degree", "mean_hops", "registers", "memory_tiles", "memory_ports",
    "product_tiles", "wires", "holds", "crossbars", "shared_file", "hops_per_cycle", "spills",
)  # fmt: skip
#: The numbers that ``at`` adds for an II.
AT_NAMES: Final = (
    "above", "ratio", "above_rec", "above_res", "occupied", "free", "free_per_node", "free_per_edge", "memory_share",
    "memory_free", "product_share", "wire_share", "live_share", "readers_per_free", "livein_share", "stages",
)  # fmt: skip
_AT: Final = {name: k for k, name in enumerate(NAMES)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayNumbers:
    """What the features know of an array; one is made for each array and kept."""

    values: tuple[float, ...]
    tiles: int
    degree: float


@lru_cache(maxsize=256)
def array_numbers(arch: Arch) -> ArrayNumbers:
    """Return the numbers of an array. Costs its distances once: time quadratic in tiles."""
    tiles = sum(tile.kind == "pe" for tile in arch.tiles) or len(arch.tiles)
    ends = {(source, target) for source, target, _ in arch.links}
    out = np.zeros(len(arch.tiles))
    for source, _ in ends:
        out[source] += 1
    hops = arch.hops[: len(arch.tiles), : len(arch.tiles)]
    between = hops[hops > 0]
    memory = arch.tiles_for("mem")
    holding = arch.arc_source == arch.arc_target
    values = (
        tiles,
        arch.rows / max(1, arch.cols),
        float(out.mean()),
        float(out.min()),
        float(between.mean()) if between.size else 0.0,
        sum(len(file.registers) for file in arch.register_files) / tiles,
        len(memory),
        _ports(arch, memory),
        len(arch.tiles_for("mul")),
        int(np.count_nonzero(arch.kind == int(Kind.LINK))),
        float(np.any(holding & (arch.kind[arch.arc_source] == int(Kind.OUT)))),
        float(arch.has("crossbars")),
        float(len(arch.register_files) < tiles and bool(arch.register_files)),
        float(arch.links_per_cycle or 1),
        float(np.any(arch.kind == int(Kind.MEM))),
    )
    return ArrayNumbers(values=tuple(float(value) for value in values), tiles=tiles, degree=float(out.mean()))


def _ports(arch: Arch, memory: tuple[int, ...]) -> float:
    """How many memory accesses may start in a cycle."""
    if arch.banks:
        return sum(min(bank.ports, len(bank.tiles)) for bank in arch.banks)
    outside, ports = set(memory), 0
    for pool in arch.pools:
        if "mem" in pool.classes:
            ports += min(pool.capacity, len(set(memory) & set(pool.tiles)))
            outside -= set(pool.tiles)
    return ports + len(outside)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairNumbers:
    """The features of a loop on an array, and its MII."""

    mii: Mii
    values: Floats


def of_pair(dfg: Dfg, arch: Arch) -> PairNumbers:
    """Return the numbers of a pair. A few milliseconds for a loop of a hundred nodes, most of them for the MII."""
    bound = mii(dfg, arch)
    numbers = array_numbers(arch)
    graph = _graph_numbers(dfg, arch, bound.total, numbers.degree)
    return PairNumbers(
        mii=bound, values=np.array([bound.total, bound.res, bound.rec, *graph, *numbers.values], dtype=np.float64)
    )


def _graph_numbers(dfg: Dfg, arch: Arch, ii: int, degree: float) -> list[float]:
    """The numbers of a loop: what it asks for, and how its values spread over time and readers."""
    classes = [dfg.op_class(node.id) for node in dfg.nodes]
    placed = np.array([name not in arch.free and not op.timeless for name, op in zip(classes, dfg.ops)], dtype=bool)
    least = {
        name: min((arch.tiles[t].occupancy_of(name) for t in arch.tiles_for(name)), default=1) for name in {*classes}
    }
    slots = sum(least[name] for name, here in zip(classes, placed) if here)
    latency_of = least_latencies(dfg, arch)
    latency = np.array([latency_of(node.id) for node in dfg.nodes], dtype=np.int64)
    index = dfg.index
    table = [(index[e.source], index[e.target], e.distance, e.kind == "data") for e in dfg.edges]
    ends = np.array(table, dtype=np.int64).reshape(-1, 4)
    ends = ends[placed[ends[:, 0]] & placed[ends[:, 1]]]
    source, target, distance = ends[:, 0], ends[:, 1], ends[:, 2]
    weight = latency[source] - ii * distance
    early = _longest(source, target, weight, len(classes))
    tail = _longest(target, source, weight, len(classes))
    depth = float((early + tail)[placed].max(initial=0))
    late = depth - tail
    slack = (late - early)[placed]
    data = ends[:, 3] == 1
    readers = np.bincount(source[data], minlength=len(classes))
    life = [_lives(when, source[data], target[data], ii * distance[data]) for when in (early, late)]
    span = early[target] + ii * distance - early[source] - latency[source]
    levels = np.bincount(np.asarray(early[placed], dtype=np.int64)) if placed.any() else np.zeros(1)
    read = {e.source for e in dfg.edges if e.kind == "data"}
    kept = sum(
        op.timeless and name not in arch.free and node.id in read for node, op, name in zip(dfg.nodes, dfg.ops, classes)
    )
    names = np.array(classes)
    return [
        float(placed.sum()),
        float(slots),
        float(data.sum()),
        float(np.count_nonzero(names == "mem")),
        float(np.count_nonzero(names == "mul")),
        float(kept),
        float(np.count_nonzero(distance)),
        float(np.count_nonzero(_on_cycles(source, target, len(classes)))),
        depth,
        float(levels.max()),
        float(readers.max(initial=0)),
        float(np.maximum(readers - 1, 0).sum()),
        float(np.maximum(readers - degree - 1, 0).sum()),
        float(slack.mean()) if slack.size else 0.0,
        float(np.count_nonzero(slack == 0)),
        life[0],
        life[1],
        float(np.count_nonzero(span[data] > 1)) if data.any() else 0.0,
    ]


def _longest(source: NDArray[np.int64], target: NDArray[np.int64], weight: NDArray[np.int64], count: int) -> Floats:
    """The longest way to each node, 0 at least; cycles have no positive weight at the MII, so that it ends."""
    far = np.zeros(count, dtype=np.int64)
    for _ in range(count + 1):
        before = far.copy()
        np.maximum.at(far, target, before[source] + weight)
        if np.array_equal(far, before):
            break
    return far.astype(np.float64)


def _lives(when: Floats, source: NDArray[np.int64], target: NDArray[np.int64], later: NDArray[np.int64]) -> float:
    """For how many cycles values live in a schedule, from issue to last reader, all values together."""
    last = np.zeros(len(when))
    np.maximum.at(last, source, when[target] + later - when[source])
    return float(last.sum())


def _on_cycles(source: NDArray[np.int64], target: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
    """Which nodes are on a cycle: what is left after nodes without producers, or without readers, are taken away."""
    alive = np.ones(count, dtype=bool)
    for _ in range(count + 1):
        here = alive[source] & alive[target]
        fed, used = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        fed[target[here]] = True
        used[source[here]] = True
        left = alive & fed & used
        if np.array_equal(left, alive):
            break
        alive = left
    return alive


def at(values: Floats, iis: NDArray[np.int64]) -> Floats:
    """Return [II, feature]: the numbers of a pair with those that each II adds."""
    v = {name: float(values[k]) for name, k in _AT.items()}
    ii = iis.astype(np.float64)
    slots, free = v["tiles"] * ii, v["tiles"] * ii - v["slots"]
    memory = np.maximum(1.0, v["memory_ports"] * ii)
    room = (v["registers"] + 1) * v["tiles"] * ii
    life = 0.5 * (v["early_life"] + v["late_life"])
    added = np.stack(
        [
            ii - v["mii"],
            ii / v["mii"],
            ii - v["rec"],
            ii - v["res"],
            v["slots"] / slots,
            free,
            free / max(1.0, v["nodes"]),
            free / max(1.0, v["edges"]),
            v["memory"] / memory,
            memory - v["memory"],
            v["products"] / np.maximum(1.0, v["product_tiles"] * ii),
            v["edges"] / np.maximum(1.0, v["wires"] * ii),
            life / room,
            v["extra_readers"] / np.maximum(1.0, free + 1),
            v["liveins"] / max(1.0, v["registers"] * v["tiles"]) + 0 * ii,
            v["depth"] / ii,
        ],
        axis=1,
    )
    return np.concatenate([np.broadcast_to(values, (len(ii), len(values))), added], axis=1)
