"""Small arrays that belong to no target, for tests of what a target says to the arrays of others."""

from __future__ import annotations

from gridloom.archs import Arch, build

#: The text of a YAML file that describes :func:`static_grid`.
STATIC_GRID = "name: static-grid\nstyle: static\nrows: 4\ncols: 4\ntiles: {fifo: 4}\n"


def static_grid(rows: int = 4, cols: int = 4) -> Arch:
    """A static grid in which each tile has up to four neighbours."""
    return build({"name": "static-grid", "style": "static", "rows": rows, "cols": cols, "tiles": {"fifo": 4}})


def shared_in_time(rows: int = 4, cols: int = 4) -> Arch:
    """A modulo-scheduled torus with registers."""
    return build(
        {
            "name": "shared-in-time",
            "style": "modulo",
            "rows": rows,
            "cols": cols,
            "links": "torus",
            "tiles": {"registers": 4},
        }
    )
