"""Arrays for the data of the II estimator, each drawn from a number: tori, presets, crossbars, described meshes.

What limits a loop differs from array to array: issue slots, registers, links, memory ports, or multipliers. Arrays are
small (at most 16 PEs), because a search on a large one takes minutes and there is room on it anyway.
"""

from __future__ import annotations

import json
import random
from functools import lru_cache
from typing import Any, Final

from gridloom.archs import build
from gridloom.archs.model import Arch

_SIZES: Final = ((2, 2), (2, 2), (2, 3), (2, 4), (3, 3), (3, 3), (3, 4), (4, 4), (4, 4))
_LINKS: Final[tuple[Any, ...]] = (
    ["mesh"],
    ["mesh"],
    ["mesh", "diagonal"],
    [{"pattern": "mesh", "along": "rows"}, {"pattern": "onehop", "along": "cols"}],
    ["onehop"],
)


def array_text(number: int) -> str:
    """Return the description of an array as JSON text, drawn from a number.

    >>> array_text(7) == array_text(7)
    True
    """
    rng = random.Random(f"array {number}")
    kind = rng.choices(("torus", "central", "preset", "hycube", "described"), (38, 8, 10, 12, 32))[0]
    rows, cols = rng.choice(_SIZES)
    makers = {"torus": _torus, "central": _central, "preset": _preset, "hycube": _hycube, "described": _described}
    return json.dumps(makers[kind](rng, rows, cols), sort_keys=True)


@lru_cache(maxsize=512)
def array(text: str) -> Arch:
    """Return the array of a description (JSON text, or an ARCH string), built once."""
    return build(json.loads(text) if text.startswith("{") else text)


def _memory(rng: random.Random) -> dict[str, Any]:
    """Which PEs access memory, and how many at a time."""
    where = rng.choice(("all", "all", {"region": {"cols": [0, 0]}}, {"region": {"rows": [0, 0]}}))
    return {"memory": where, "bus": rng.choice(("row", "row", "dedicated", None))}


def _torus(rng: random.Random, rows: int, cols: int) -> dict[str, Any]:
    return {
        "family": "torus",
        "rows": rows,
        "cols": cols,
        "regs": rng.choice((0, 1, 1, 2, 2, 4, 8)),
        "mul": rng.choice(("all", "all", "checkerboard", {"region": {"cols": [0, 0]}})),
        "latency": {"*": 1, "mul": rng.choice((1, 1, 2, 3))},
        "hold": rng.choice(("until-write", "until-write", "next")),
        **_memory(rng),
    }


def _central(rng: random.Random, rows: int, cols: int) -> dict[str, Any]:
    return {
        "family": "torus",
        "rows": rows,
        "cols": cols,
        "file": "central",
        "regs": rng.choice((4, 8, 16, 32)),
        **_memory(rng),
    }


def _preset(rng: random.Random, rows: int, cols: int) -> dict[str, Any]:
    return {"family": f"ramp-{rng.choice((1, 2, 3, 4, 5, 6, 7, 8))}"}


def _hycube(rng: random.Random, rows: int, cols: int) -> dict[str, Any]:
    return {
        "family": "hycube",
        "rows": rows,
        "cols": cols,
        "hops": rng.choice((1, 2, 4)),
        "regs": rng.choice((None, 1, 2, 4)),
        "bus": rng.choice(("row", "dedicated", None)),
    }


def _described(rng: random.Random, rows: int, cols: int) -> dict[str, Any]:
    tiles: list[dict[str, Any]] = [{"ops": ["alu"], "registers": rng.choice((0, 1, 2, 4))}]
    tiles.append({"where": rng.choice(({"col": 0}, {"row": 0}, "all")), "ops": {"add": "memory"}})
    tiles.append({"where": rng.choice(({"col": cols - 1}, {"row": rows - 1}, "all")), "ops": {"add": "mul"}})
    tiles[-1]["latency"] = {"mul": rng.choice((1, 2))}
    spec: dict[str, Any] = {
        "style": "modulo",
        "rows": rows,
        "cols": cols,
        "links": rng.choice(_LINKS),
        "tiles": tiles,
        "memory": {"ports": rng.choice(("row", "column", "tile", "none"))},
    }
    if rng.random() < 0.25:
        spec["buses"] = [rng.choice(("rows", "columns"))]
    return spec
