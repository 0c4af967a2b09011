"""Reasons why a graph cannot go on a modulo-scheduled array, or not at an II, found by counting before any search.

Each is a proof and names what is short, what was asked for, and what would help. The first four hold at every II.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from gridloom.dfg.recurrence import recurrence_mii
from gridloom.mapping.mii import Mii
from gridloom.mapping.model import Failure, as_proof
from gridloom.targets.modulo.mappers.banks import bank_bounds
from gridloom.targets.modulo.mappers.problem import WORD_BYTES, ModuloProblem
from gridloom.targets.modulo.mappers.schedule.iterative import recurrence
from gridloom.targets.modulo.mappers.stores import too_few_constants

_SHOWN = 8


def screen(problem: ModuloProblem, bound: Mii, ii: int | None) -> Failure | None:
    """The first reason why no mapping exists (at ``ii``, where one is asked for); None when counting finds none.

    ``bound`` is the MII, with pins where there are any. Without ``ii`` only what holds at every II is looked at.
    """
    found = _op_classes(problem) or _operands(problem) or _data_memory(problem) or _live_ins(problem)
    found = found or _contexts(problem, bound, ii) or too_few_constants(problem.dfg, problem.arch, problem.nodes)
    if found is None and ii is not None:
        found = _recurrence(problem, ii) or _buses(problem, ii) or _banks(problem, ii) or _slots(problem, bound, ii)
    return as_proof(found)


def with_pins(bound: Mii, problem: ModuloProblem) -> Mii:
    """The bound on the II with the nodes that are pinned to one tile: they take a slot each."""
    count = Counter(problem.pinned[k] for k in problem.nodes if k in problem.pinned)
    tile, most = max(count.items(), key=lambda item: item[1], default=(0, 0))
    if most <= bound.res:
        return bound
    return replace(bound, res=most, explanations=(f"{most} nodes pinned to tile {problem.arch.tiles[tile].name!r}",))


def with_regions(bound: Mii, problem: ModuloProblem) -> Mii:
    """The bound on the II with the nodes that share a region: they take a slot each on its tiles."""
    count = Counter(problem.regions[k] for k in problem.nodes if k in problem.regions)
    most, nodes, tiles = max(((-(-n // len(region)), n, len(region)) for region, n in count.items()), default=(0, 0, 1))
    if most <= bound.res:
        return bound
    return replace(bound, res=most, explanations=(f"{nodes} nodes within a region of {tiles} tiles",))


def with_banks(bound: Mii, problem: ModuloProblem) -> Mii:
    """The bound on the II with what the memory banks start per cycle, as the arrays lie in them."""
    most, why = max(bank_bounds(problem.dfg, problem.arch, problem.banks), default=(0, ""))
    return bound if most <= bound.res else replace(bound, res=most, explanations=(why,))


def _named(names: list[str], most: int = 3) -> str:
    """The first few names, with dots where there are more.

    >>> _named(["a", "b", "c", "d"])
    'a, b, c, ...'
    """
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def _op_classes(problem: ModuloProblem) -> Failure | None:
    """A failure for the first op class, or set of them, that no tile has."""
    dfg, arch = problem.dfg, problem.arch
    wanting: dict[str, list[str]] = {}
    for k in problem.nodes:
        needed = dfg.required_classes(dfg.nodes[k].id)
        if any(needed <= tile.classes for tile in arch.tiles):
            if not any(tile.runs(dfg.nodes[k].op, needed) for tile in arch.tiles):
                return _no_op(problem, k)
        else:
            wanting.setdefault(" and ".join(sorted(needed)), []).append(dfg.nodes[k].id)
    if not wanting:
        return None
    name, nodes = next(iter(sorted(wanting.items())))
    streams = name in ("input", "output")
    lever = "streams turned into loads and stores" if streams else f"an array with a PE for {name}"
    return Failure(
        constraint=f"no PE has op class {name}",
        demand=f"{len(nodes)} ({_named(nodes)})",
        bound=f"0 on {arch.name}",
        levers=(lever,),
    )


def _no_op(problem: ModuloProblem, position: int) -> Failure:
    """The failure for an op that no PE has, though some have its class."""
    op = problem.dfg.nodes[position].op
    nodes = [problem.dfg.nodes[k].id for k in problem.nodes if problem.dfg.nodes[k].op == op]
    return Failure(
        constraint=f"no PE has op {op}",
        demand=f"{len(nodes)} ({_named(nodes)})",
        bound=f"0 on {problem.arch.name}",
        levers=(f"an array with a PE for {op}",),
    )


def _operands(problem: ModuloProblem) -> Failure | None:
    """A failure for an operand beyond those that the smallest tile has."""
    most = min(tile.operands for tile in problem.arch.tiles)
    for e in problem.edges:
        edge = problem.dfg.edges[e]
        if edge.operand >= most:
            needed = 1 + max(problem.dfg.edges[k].operand for k in problem.edges)
            return Failure(
                constraint=f"operands of node {edge.target!r}",
                demand=f"{edge.operand + 1} operands",
                bound=f"{most} on {problem.arch.name}",
                levers=(f"operands={needed}",),
            )
    return None


def _data_memory(problem: ModuloProblem) -> Failure | None:
    """A failure when the arrays of the graph do not fit the data memory; spills and live-ins are not counted here."""
    limit = problem.arch.data_memory
    words = sum(array.length for array in problem.dfg.arrays)
    if limit is None or words * WORD_BYTES <= limit:
        return None
    largest = max(problem.dfg.arrays, key=lambda array: array.length)
    return Failure(
        constraint="data memory",
        demand=f"{words * WORD_BYTES} bytes for {', '.join(array.name for array in problem.dfg.arrays[:_SHOWN])}",
        bound=f"{limit} bytes",
        levers=(f"data_memory={words * WORD_BYTES}", f"a smaller array {largest.name!r}"),
    )


def _live_ins(problem: ModuloProblem) -> Failure | None:
    """A failure where live-ins outnumber registers: without memory every live-in takes one that does not rotate."""
    files = problem.arch.register_files
    room = sum(len(file.registers) - (0 if file.adjustable else file.rotating) for file in files)
    if problem.structure.memory >= 0 or len(problem.liveins) <= room:
        return None
    names = [problem.dfg.nodes[k].id for k in problem.liveins]
    return Failure(
        constraint="registers that keep live-ins",
        demand=f"{len(names)} ({_named(names)})",
        bound=f"{room} on {problem.arch.name}",
        levers=(f"regs={-(-len(names) // max(1, len(files)))}" if files else "regs", "memory=all"),
    )


def _contexts(problem: ModuloProblem, bound: Mii, ii: int | None) -> Failure | None:
    """A failure when the II, or its bound, exceeds the contexts of a tile."""
    room = min((tile.contexts for tile in problem.arch.tiles if tile.contexts is not None), default=None)
    needed = bound.total if ii is None else ii
    if room is None or needed <= room:
        return None
    return Failure(
        constraint="contexts of a PE",
        demand=f"{needed} slots" + (f" ({bound.explanations[0]})" if ii is None and bound.explanations else ""),
        bound=f"{room} slots",
        levers=(f"contexts={needed}", "a larger array"),
    )


def _recurrence(problem: ModuloProblem, ii: int) -> Failure | None:
    """A failure when a recurrence is too long for the II; it names the cycle and the least II that the cycle allows."""
    cycle = recurrence(len(problem.nodes), problem.dependences, ii)
    if not cycle:
        return None
    names = [problem.dfg.nodes[problem.nodes[n]].id for n in cycle]
    shown = names if len(names) <= _SHOWN else [*names[: _SHOWN - 1], "..."]
    inside = set(cycle)
    least = ii + 1
    while recurrence(len(problem.nodes), [d for d in problem.dependences if {d.source, d.target} <= inside], least):
        least += 1
    return Failure(
        constraint=f"recurrence {' -> '.join([*shown, names[0]])}",
        demand=f"II >= {least}",
        bound=f"II {ii}",
        levers=(f"II {max(least, recurrence_mii(problem.dfg))}",),
    )


def _buses(problem: ModuloProblem, ii: int) -> Failure | None:
    """A failure for more memory ops than all buses can start in a period; where there is only one bus, it is named."""
    dfg, arch = problem.dfg, problem.arch
    for classes in sorted({pool.classes for pool in arch.pools}, key=sorted):
        pools = [pool for pool in arch.pools if pool.classes == classes]
        able = {t for t, tile in enumerate(arch.tiles) if tile.classes & classes}
        if able - {t for pool in pools for t in pool.tiles}:
            continue
        needed = sum(1 for k in problem.nodes if dfg.op_class(dfg.nodes[k].id) in classes)
        room = sum(min(pool.capacity, len(able & set(pool.tiles))) for pool in pools)
        if needed > room * ii:
            name = pools[0].name if len(pools) == 1 else f"{len(pools)} buses ({_named([p.name for p in pools])})"
            return Failure(
                constraint=f"memory bus {name}",
                demand=f"{needed} slots",
                bound=f"{room * ii} at II {ii}",
                levers=(f"II {-(-needed // room)}", "more memory buses"),
            )
    return None


def _banks(problem: ModuloProblem, ii: int) -> Failure | None:
    """A failure for the bank whose accesses need the highest II, where that is above the one that is asked for."""
    most, why = max(bank_bounds(problem.dfg, problem.arch, problem.banks), default=(0, ""))
    if most <= ii:
        return None
    return Failure(
        constraint=why.partition(" starts ")[0],
        demand=why.partition(" starts ")[2],
        bound=f"II {ii}",
        levers=(f"II {most}", "more ports", "arrays in other banks"),
    )


def _slots(problem: ModuloProblem, bound: Mii, ii: int) -> Failure | None:
    """A failure when the ops need more issue slots than the tiles have at the II."""
    if bound.res <= ii:
        return None
    count = Counter(problem.dfg.op_class(problem.dfg.nodes[k].id) for k in problem.nodes)
    return Failure(
        constraint="issue slots",
        demand=bound.explanations[0] if bound.explanations else f"{sum(count.values())} slots",
        bound=f"II {ii}",
        levers=(f"II {bound.total}", "a larger array"),
    )
