"""Stores of runs as the explorer shows them: rows with their figures, arrays with their prices.

A row of ``bench`` or ``explore`` has no mapping in it, but everything that makes it again; a row of the studio's own
history has the mapping itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from gridloom.errors import GridloomError, OptionError
from gridloom.explore.hardware import Cost, cost
from gridloom.explore.points import figures
from gridloom.explore.space import OBJECTIVES
from gridloom.flow.inputs import read_arch
from gridloom.run import Store, StoredRow, canonical_json

#: Rows that the page shows, and arrays that are priced.
MOST_ROWS: Final = 5000
_MOST_ARRAYS: Final = 200
_ITERATIONS: Final = 1000

#: Figures of a row that the page can sort, filter and draw by.
FIGURES: Final = ("ii", "mii", "latency", "period", "throughput", "wirelength", "tiles_used", "routing_tiles",
                  "occupancy", "seconds")  # fmt: skip


def rows_of(path: Path, allowed: Callable[[str], str]) -> dict[str, Any]:
    """The rows of a store, and one entry for each array with the figures of ``explore``.

    ``allowed`` refuses arrays that the working folder does not have. StoreError for what is no store. Costs a pass over
    its rows and the building of its arrays.
    """
    found: list[dict[str, Any]] = []
    groups: dict[str, tuple[Any, list[Mapping[str, Any]]]] = {}
    total = 0
    with Store(path, readonly=True) as store:
        for row in store.rows():
            total += 1
            if len(found) < MOST_ROWS:
                found.append(_shown(row))
            asked = _parameters(row)
            if isinstance(row.value, dict) and "status" in row.value and asked.get("arch") is not None:
                key = canonical_json(asked["arch"])
                groups.setdefault(key, (asked["arch"], []))[1].append(row.value)
    arrays = [_array(arch, rows, allowed) for arch, rows in list(groups.values())[:_MOST_ARRAYS]]
    return {
        "file": path.name,
        "rows": found,
        "total": total,
        "arrays": arrays,
        "figures": list(FIGURES),
        #: Which figures are better when they are larger.
        "more": [name for name, more in OBJECTIVES.items() if more],
    }


def row_of(path: Path, key: str) -> StoredRow:
    """One row of a store; OptionError where it is not there."""
    with Store(path, readonly=True) as store:
        row = store.get(key)
    if row is None:
        raise OptionError(f"{path.name} has no row {key[:20]!r}")
    return row


def _parameters(row: StoredRow) -> Mapping[str, Any]:
    """What a row was asked."""
    asked = row.asked.get("parameters") if isinstance(row.asked, dict) else None
    return asked if isinstance(asked, dict) else {}


def _shown(row: StoredRow) -> dict[str, Any]:
    """A row as the table shows it."""
    asked = _parameters(row)
    value = row.value if isinstance(row.value, dict) else {}
    arch = asked.get("arch")
    shown: dict[str, Any] = {
        "key": row.key,
        "status": value.get("status", row.status),
        "source": str(asked.get("source", value.get("name", "")))[:300],
        "arch": str(arch if isinstance(arch, str) else _name(value.get("arch")))[:300],
        "mapper": str(value.get("mapper") or asked.get("mapper") or ""),
        "seed": asked.get("seed"),
        "finished": row.finished,
        "opens": bool(value.get("mapping")),
        "repeats": "source" in asked and "arch" in asked,
        "error": "" if row.error is None else f"{row.error.type}: {row.error.message}"[:300],
    }
    return shown | {name: value.get(name) for name in FIGURES}


def _name(arch: Any) -> str:
    """The name of the array in a record."""
    return str(arch.get("name", "")) if isinstance(arch, dict) else ""


def _array(arch: Any, rows: list[Mapping[str, Any]], allowed: Callable[[str], str]) -> dict[str, Any]:
    """The figures of an array over its rows, as ``explore`` computes them."""
    price: Cost | None = None
    name, tiles, broken = str(arch)[:300], None, ""
    try:
        built = read_arch(allowed(arch) if isinstance(arch, str) else arch)
        name, tiles = built.name, len(built.tiles)
        price = cost(built)
    except GridloomError as error:
        broken = str(error)[:300]
    try:
        values = figures(rows, price, iterations=_ITERATIONS, asked=len(rows))
    except (KeyError, TypeError, ValueError):
        values = {}
    return {"arch": arch, "name": name, "tiles": tiles, "count": len(rows), "figures": values, "broken": broken}
