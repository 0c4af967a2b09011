"""What would lower a bound, or map what failed: changes of graph and array, each tried before it is offered.

A change is tried by counting where a bound binds: the changed problem has a lower MII, or the change is not offered.
Where several bounds bind at once, one change for each is tried together. Above the bounds only a search can tell, so
changes of the array are tried by short searches. Costs an MII for each change, or a search.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from gridloom.archs import build
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg, Edge
from gridloom.dfg.recurrence import recurrence_mii
from gridloom.errors import GridloomError
from gridloom.flow.why.reasons import Reason, find_reasons
from gridloom.mapping.mii import least_latencies, mii

#: So many changes are made together at most.
_TOGETHER: Final = 4
#: So many tiles, columns, ports or bus cycles are added at most.
_MOST: Final = 8
#: An II that no graph has, for problems without a mapping at any II.
_NEVER: Final = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Lever:
    """A change, what it gives, and how that was tried."""

    change: str
    #: What comes of it: "MII 3", "II 4", "mapped".
    gain: str
    tried: Literal["bound", "search"]

    def __str__(self) -> str:
        return f"{self.change}: {self.gain}"

    def to_dict(self) -> dict[str, str]:
        """The lever as plain JSON data."""
        return asdict(self)


class Variant(NamedTuple):
    """A graph on an array as a change leaves them, and nodes whose operation is thought away."""

    dfg: Dfg
    arch: Arch
    skipped: frozenset[str] = frozenset()

    @property
    def mii(self) -> int:
        """The MII; no II at all where some op has no tile."""
        bound = mii(self.dfg, self.arch)
        if bound.missing:
            return _NEVER
        latency = least_latencies(self.dfg, self.arch)
        return max(bound.res, recurrence_mii(self.dfg, lambda node: 0 if node in self.skipped else latency(node)))


class Change(NamedTuple):
    """A change in words, and the problem that it makes of another."""

    words: str
    apply: Callable[[Variant], Variant]
    #: True where it builds the array anew, so that it comes before changes of its tiles.
    rebuilds: bool = False


def find_levers(dfg: Dfg, arch: Arch, limit: int | None = None, most: int = 6) -> list[Lever]:
    """The changes that lower the MII of a graph on an array, to ``limit`` where one is given; tried by counting.

    The most effective come first.
    """
    problem = Variant(dfg, arch)
    bound = problem.mii
    if bound == 1:
        return []
    # Where an op has no tile, any II will do.
    goal = limit or bound - 1
    binding = _binding(problem, goal)
    changes = [change for reason in binding for change in _changes(problem, reason, goal)]
    rows = _together(problem, goal) if len(binding) > 1 else {}
    rows |= {change.words: change.apply(problem).mii for change in changes}
    helpful = sorted(((after, words) for words, after in rows.items() if after <= goal), key=lambda row: row[0])
    gain = "fits, by counting" if arch.style == "static" else "MII {}"
    return [Lever(change=words, gain=gain.format(after), tried="bound") for after, words in helpful[:most]]


def _binding(problem: Variant, goal: int) -> list[Reason]:
    """The bounds that do not allow the goal; a recurrence that is shortened is not among them."""
    return [
        reason
        for reason in find_reasons(problem.dfg, problem.arch)
        if reason.kind == "missing" or (reason.ii > goal and not (reason.kind == "recurrence" and problem.skipped))
    ]


def _together(problem: Variant, goal: int) -> dict[str, int]:
    """Changes that reach the goal together, each aimed at the largest bound that those before it leave, and the MII."""
    changed, words = problem, list[str]()
    for _ in range(_TOGETHER):
        binding = _binding(changed, goal)
        change = next(_changes(changed, binding[0], goal), None) if binding else None
        if change is None:
            break
        # An array that is built anew has none of the changes that were made before.
        words = [change.words] if change.rebuilds else [*words, change.words]
        changed = change.apply(changed)
    return {" and ".join(words): changed.mii}


def _changes(problem: Variant, reason: Reason, goal: int) -> Iterator[Change]:
    """The changes that are aimed at one bound, the least of each kind that moves it below the goal."""
    if reason.kind == "recurrence":
        yield from _recurrence_changes(problem, reason)
        return
    arch = problem.arch
    side = max(arch.rows, arch.cols)
    lacking = len(_lacking(arch, frozenset(reason.classes)))
    candidates = (
        [_give_classes(reason.classes, count) for count in range(1, lacking + 1)],
        [_widen_buses(frozenset(reason.classes), count) for count in range(1, _MOST + 1)],
        [_add_ports(count) for count in range(1, _MOST + 1)] if arch.banks else [],
        [_pipeline(name) for name in reason.classes],
        [_resize(_plural(more, "column"), rows=arch.rows, cols=arch.cols + more) for more in range(1, _MOST + 1)],
        [_resize(f"{n} rows and {n} columns", rows=n, cols=n) for n in range(side + 1, side + _MOST + 1)],
        [_resize(_plural(more, "tile"), tiles=len(arch.tiles) + more) for more in range(1, 4 * len(arch.tiles))],
    )
    for row in candidates:
        change = _find_least(row, lambda change: _is_moved(problem, reason, change, goal))
        if change is not None:
            yield change


def _find_least(row: Sequence[Change], is_enough: Callable[[Change], bool]) -> Change | None:
    """The least of some growing changes that is enough; None where none is. Tries a logarithm of them."""
    low, high = 0, 1
    while high <= len(row) and not is_enough(row[high - 1]):
        low, high = high, 2 * high
    place = bisect_left(row, True, lo=low, hi=min(high, len(row)), key=is_enough)
    return row[place] if place < min(high, len(row)) else None


def _is_moved(problem: Variant, reason: Reason, change: Change, goal: int) -> bool:
    """Whether a change takes one bound away or lowers it to the goal, whatever the others do."""
    changed = change.apply(problem)
    if changed.arch is problem.arch:
        return False
    left = [other for other in find_reasons(changed.dfg, changed.arch) if other.classes == reason.classes]
    return all(other.kind != "missing" and other.ii <= goal for other in left)


def _plural(count: int, noun: str) -> str:
    return f"one more {noun}" if count == 1 else f"{count} more {noun}s"


def _lacking(arch: Arch, wanted: frozenset[str]) -> list[int]:
    """The processing elements that do not run all of some op classes."""
    return [t for t, tile in enumerate(arch.tiles) if not wanted <= tile.classes and tile.kind == "pe"]


def _give_classes(classes: Sequence[str], count: int) -> Change:
    """Let so many more tiles run the op classes."""
    wanted = frozenset(classes)

    def apply(problem: Variant) -> Variant:
        lacking = _lacking(problem.arch, wanted)
        if len(lacking) < count:
            return problem
        # Tiles that do the least get them: a tile that has another scarce class is kept free.
        able = set(sorted(lacking, key=lambda t: len(problem.arch.tiles[t].classes))[:count])
        tiles = [replace(tile, classes=tile.classes | wanted) if t in able else tile
                 for t, tile in enumerate(problem.arch.tiles)]  # fmt: skip
        return problem._replace(arch=replace(problem.arch, tiles=tuple(tiles)))

    return Change(f"{_plural(count, 'tile')} with {' and '.join(classes)}", apply)


def _widen_buses(classes: frozenset[str], count: int) -> Change:
    """Let every pool of these op classes start so many more per slot."""

    def apply(problem: Variant) -> Variant:
        pools = problem.arch.pools
        wider = tuple(replace(pool, capacity=pool.capacity + count) if pool.classes == classes else pool
                      for pool in pools)  # fmt: skip
        return problem if wider == pools else problem._replace(arch=replace(problem.arch, pools=wider))

    return Change(f"{_plural(count, 'bus cycle')} per slot and bus", apply)


def _add_ports(count: int) -> Change:
    """Let every bank of the data memory start so many more accesses per cycle."""

    def apply(problem: Variant) -> Variant:
        banks = tuple(replace(bank, ports=bank.ports + count) for bank in problem.arch.banks)
        return problem._replace(arch=replace(problem.arch, banks=banks))

    return Change(f"{_plural(count, 'port')} per bank", apply)


def _pipeline(name: str) -> Change:
    """Let the units of an op class take an op in every cycle."""

    def apply(problem: Variant) -> Variant:
        if all(tile.occupancy_of(name) == 1 for tile in problem.arch.tiles if name in tile.classes):
            return problem
        tiles = tuple(replace(tile, occupancy={**tile.occupancy, name: 1}) for tile in problem.arch.tiles)
        return problem._replace(arch=replace(problem.arch, tiles=tiles))

    return Change(f"pipelined units for {name}", apply)


def _resize(words: str, **sides: int) -> Change:
    """Build the array with other sides, or with more tiles where it has no sides."""

    def apply(problem: Variant) -> Variant:
        larger = rebuild(problem.arch, **sides)
        return problem if larger is None else problem._replace(arch=larger)

    return Change(words, apply, rebuilds=True)


@lru_cache(maxsize=128)
def rebuild(arch: Arch, **changes: int | str) -> Arch | None:
    """The array of the same description with other parameters; None where its family does not take them."""
    try:
        return build({**{key: value for key, value in arch.spec.items() if key != "name"}, **changes})
    except GridloomError:
        return None


# -- recurrences ------------------------------------------------------------------------------------------------------


def _recurrence_changes(problem: Variant, reason: Reason) -> Iterator[Change]:
    """What shortens a recurrence: faster units, independent accesses, one operation less."""
    dfg, arch = problem.dfg, problem.arch
    chain = [dfg.nodes[k].id for k in reason.nodes]
    for name in sorted({dfg.op_class(node) for node in chain}):
        least = min((arch.tiles[t].latency_of(name) for t in arch.tiles_for(name)), default=0)
        if least > 1:
            yield Change(f"{name} in {least - 1} of its {least} cycles", _hasten(name, least - 1))
    orders = [dfg.edges[e] for e in reason.edges if dfg.edges[e].kind == "order"]
    if orders:
        arrays = {dfg.node(node).array for edge in orders for node in (edge.source, edge.target)} - {None}
        names = " and ".join(sorted(str(name) for name in arrays)) or "memory"
        words = f"accesses to {names} that are declared independent (restrict, if they are)"
        yield Change(words, _free_accesses(frozenset(arrays)))
    for node in dict.fromkeys(chain):
        if not dfg.op(node).timeless and dfg.op_class(node) != "mem":
            yield Change(f"the recurrence without {node!r}, by another formulation of the source", _skip(node))


def _hasten(name: str, cycles: int) -> Callable[[Variant], Variant]:
    def apply(problem: Variant) -> Variant:
        tiles = tuple(replace(tile, latency={**tile.latency, name: min(cycles, tile.latency_of(name))})
                      for tile in problem.arch.tiles)  # fmt: skip
        return problem._replace(arch=replace(problem.arch, tiles=tiles))

    return apply


def _free_accesses(arrays: frozenset[str | None]) -> Callable[[Variant], Variant]:
    """Drop the order of accesses to these arrays."""

    def is_free(dfg: Dfg, edge: Edge) -> bool:
        return edge.kind == "order" and bool({dfg.node(edge.source).array, dfg.node(edge.target).array} & arrays)

    def apply(problem: Variant) -> Variant:
        dfg = problem.dfg
        return problem._replace(dfg=replace(dfg, edges=tuple(edge for edge in dfg.edges if not is_free(dfg, edge))))

    return apply


def _skip(node: str) -> Callable[[Variant], Variant]:
    return lambda problem: problem._replace(skipped=problem.skipped | {node})


# -- above the bounds -------------------------------------------------------------------------------------------------


def variations(arch: Arch) -> Iterator[tuple[str, Arch]]:
    """Arrays like this one with a little more of what a search may be short of; parameters it does not have are passed.

    A column and a row more, twice the registers, deeper FIFOs, inputs that start one after the other.
    """
    spec = arch.spec
    changes: list[tuple[str, dict[str, int | str]]] = [
        ("one more column", {"rows": arch.rows, "cols": arch.cols + 1}),
        ("one more row", {"rows": arch.rows + 1, "cols": arch.cols}),
    ]
    if arch.has("registers"):
        registers = 2 * max([2, *(len(file.registers) for file in arch.register_files)])
        changes.append((f"{registers} registers per file", {"regs": registers}))
    if arch.style == "static" and arch.tiles and (depth := arch.tiles[0].fifo) is not None:
        changes += [(f"FIFOs of depth {more}", {"fifo": more}) for more in (depth + 1, depth + 4)]
    if arch.inputs == "aligned":
        changes.append(("skewed inputs", {"inputs": "skewed"}))
    for words, change in changes:
        if any(spec.get(key) != value for key, value in change.items()):
            other = rebuild(arch, **change)
            if other is not None and other.fingerprint != arch.fingerprint:
                yield words, other
