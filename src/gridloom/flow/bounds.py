"""What is known before any search: the MII, and a Failure where counting shows that there is no mapping.

A search that cannot succeed is the slowest way to say no. The bounds count tiles, pools and recurrences, and the
Failure names what is missing and what would help.
"""

from __future__ import annotations

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.mii import Mii, mii
from gridloom.mapping.model import Failure, as_proof


def lower_bound(dfg: Dfg, arch: Arch) -> Mii | None:
    """Return the MII of a graph on an array; None on arrays without an II."""
    return mii(dfg, arch) if arch.is_timed else None


def count_failure(dfg: Dfg, arch: Arch, ii: int | None = None) -> Failure | None:
    """Return why no mapper can succeed, where counting shows it; None where a search has to tell.

    The reasons are an op class that no tile has, too few tiles, and a recurrence that is too long for ``ii``, the II
    that was asked for. Static arrays are left to their mappers, which can name nodes. Costs the MII.
    """
    return None if arch.style == "static" else as_proof(_count_failure(dfg, arch, ii))


def _count_failure(dfg: Dfg, arch: Arch, ii: int | None) -> Failure | None:
    """The reason of :func:`count_failure`, on arrays that are not static."""
    bound = mii(dfg, arch)
    if bound.missing:
        return _missing_classes(arch, bound.missing)
    # A unit of an elastic array runs one node, as if there were one slot.
    slots = ii if arch.is_timed else 1
    if slots is None:
        return None
    if bound.res > slots:
        return Failure(
            constraint="tiles",
            demand=f"II {bound.res} ({bound.explanations[0]})",
            bound=f"II {slots}",
            levers=_more_room(dfg, arch, bound, slots),
        )
    if bound.rec > slots and arch.style == "modulo":
        needed = f"II {bound.total}"
        return Failure(constraint="recurrence", demand=needed, bound=f"II {slots}", levers=(needed,))
    return None


def _missing_classes(arch: Arch, missing: tuple[str, ...]) -> Failure:
    """Return the Failure of a graph with op classes that no tile has."""
    return Failure(
        constraint="op classes",
        demand=f"a tile for {' and for '.join(missing)}",
        bound=f"none on {arch.name}",
        levers=("an array that has them: gridloom list archs",),
    )


def _more_room(dfg: Dfg, arch: Arch, bound: Mii, slots: int) -> tuple[str, ...]:
    """Return what would give the graph enough slots: a larger II, or more columns."""
    levers = [f"II {bound.total}"] if arch.style == "modulo" else []
    placed = sum(dfg.op_class(node.id) not in arch.free and not op.timeless for node, op in zip(dfg.nodes, dfg.ops))
    short = placed - slots * len(arch.tiles)
    if short > 0 and arch.rows * arch.cols == len(arch.tiles):
        columns = -(-short // (slots * arch.rows))
        levers.append(f"{columns} column{'s' if columns > 1 else ''} more")
    return tuple(levers) or ("more tiles with these op classes",)
