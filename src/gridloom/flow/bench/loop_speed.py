"""What a suite says about loops on modulo-scheduled arrays: II against MII, speed-ups, one mapper against another.

The speed-up of a loop is its cycles on a processor (:mod:`gridloom.flow.bench.processor`) over the II: long trip counts
are assumed, and the prologue is left out. Means are geometric, since ratios of different loops multiply.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, get_args

from gridloom.mapping.model import Cause
from gridloom.statistics import compare_pairs, geometric_mean

Row = Mapping[str, Any]


def loop_summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Return for each mapper and array the loops mapped and the geometric means of MII / II and of the speed-up.

    ``ratios`` compare the first mapper with the others. Rows are those of modulo arrays, with ``sequential`` set.
    """
    mappers = list(dict.fromkeys(str(row["mapper"]) for row in rows))
    mine = {name: [row for row in rows if row["mapper"] == name] for name in mappers}
    return {
        "mappers": {name: _by_array(found) for name, found in mine.items()},
        "ratios": {name: ratio(mine[mappers[0]], mine[name]) for name in mappers[1:]},
    }


def _by_array(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the figures of all rows, and those of each array."""
    archs = list(dict.fromkeys(row["cell"]["arch"] for row in rows))
    parts = {arch: _figures([row for row in rows if row["cell"]["arch"] == arch]) for arch in archs}
    return {"all": _figures(rows), **parts}


def _figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the counts and geometric means of some rows.

    ``with_processor`` is the mean speed-up when loops that do not map run on the processor. ``unmapped`` counts these
    loops by cause; ``search`` is what the mappers with routing strategies say of their working graphs, where they do.
    """
    mapped = [row for row in rows if row["status"] == "mapped"]
    # Rows stored before failures named their cause claim nothing.
    causes = [(row["failure"] or {}).get("cause", "exhausted") for row in rows if row["status"] != "mapped"]
    return {
        "cells": len(rows),
        "mapped": len(mapped),
        "mii_over_ii": geometric_mean(row["mii"] / row["ii"] for row in mapped),
        "speedup": geometric_mean(row["sequential"] / row["ii"] for row in mapped),
        "with_processor": geometric_mean(speed(row) for row in rows),
        "unmapped": {name: causes.count(name) for name in get_args(Cause) if name in causes},
        **_searches(mapped),
    }


def speed(row: Row) -> float:
    """Return how many times faster a loop runs than on the processor; 1 where it does not map and runs there."""
    return float(row["sequential"] / row["ii"]) if row["status"] == "mapped" else 1.0


def _searches(mapped: Sequence[Row]) -> dict[str, Any]:
    """Return the median sizes of working graphs, and in how many loops each strategy was used; {} where none says."""
    found = [row["search"] for row in mapped if row.get("search")]
    if not found:
        return {}
    names = sorted({name for one in found for name in one["strategies"]})
    return {
        "search": {
            "loops": len(found),
            "seconds": round(median(row["seconds"] for row in mapped), 3),
            **{key: median(one["graph"][key] for one in found) for key in ("ops", "inserted", "pairs", "placements")},
            "strategies": {name: sum(name in one["strategies"] for one in found) for name in names},
        }
    }


def ratio(first: Sequence[Row], second: Sequence[Row]) -> dict[str, Any]:
    """Return how many times faster loops run as the first maps them than as the second does.

    ``speedup`` is over the cells that both map, ``with_processor`` over all cells, where a loop that does not map runs
    on the processor. ``energy`` is the first mapper's energy over the second's on cells that both map: power and clock
    belong to the array, so E = P x C x D is in the ratio of the cycles C. ``comparison`` says whether the IIs differ by
    more than chance; a loop that one mapper does not map is lost.
    """
    a, b = _by_cell(first), _by_cell(second)
    cells = sorted(a.keys() & b.keys())
    both = [cell for cell in cells if a[cell]["status"] == b[cell]["status"] == "mapped"]
    return {
        "cells": len(both),
        "speedup": geometric_mean(b[cell]["ii"] / a[cell]["ii"] for cell in both),
        "energy": geometric_mean(a[cell]["ii"] / b[cell]["ii"] for cell in both),
        "all_cells": len(cells),
        "with_processor": geometric_mean(speed(a[cell]) / speed(b[cell]) for cell in cells),
        "comparison": compare_pairs({k: a[k]["ii"] for k in cells}, {k: b[k]["ii"] for k in cells}).to_dict(),
    }


def _by_cell(rows: Iterable[Row]) -> dict[tuple[str, str, int], Row]:
    """Return the rows by source, array and seed."""
    return {tuple(row["cell"].values()): row for row in rows}
