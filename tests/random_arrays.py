"""Random descriptions of small arrays, as somebody would write them: links, buses, crossbars, tiles, memory."""

from __future__ import annotations

import random
from typing import Any

PATTERNS = ("mesh", "torus", "onehop", "diagonal", "hex", "chess", "row", "column")


def description(seed: int) -> dict[str, Any]:
    """The description of a random array of 2 to 12 tiles; the same one for the same seed."""
    rng = random.Random(seed)
    style = rng.choice(("static", "modulo", "modulo"))
    rows, cols = rng.choice(((1, 3), (2, 2), (2, 3), (3, 2), (3, 3), (2, 4), (3, 4)))
    if style == "static":
        rows, cols = rng.choice(((3, 3), (3, 4), (4, 4), (4, 3)))
    data: dict[str, Any] = {"name": f"random-{seed}"}
    if rng.random() < 0.25:
        base = f"{rng.choice(('mesh', 'onehop', 'hex', 'chess'))}" if style == "static" else "torus"
        data["extends"] = f"{base}:{rows}x{cols}"
        if rng.random() < 0.5:
            data["links"] = _links(rng, rows, cols)
    else:
        data |= {"style": style, "rows": rows, "cols": cols, "links": ["mesh", *_links(rng, rows, cols)]}
    data["tiles"] = _tiles(rng, style, rows, cols)
    if style == "static":
        data["inputs"] = rng.choice(("aligned", "skewed"))
        return data
    if rng.random() < 0.3:
        data["live_ins"] = "immediate"
    if rng.random() < 0.3:
        data["buses"] = _buses(rng, rows, cols)
    at_ports = False
    if rng.random() < 0.3:
        at_ports = rng.random() < 0.4
        data["bypass"] = {"hops": rng.randint(1, 4), **({"ports": True} if at_ports else {})}
    if at_ports:
        data["tiles"].append({"registers": 0})
    elif rng.random() < 0.2:
        where = _where(rng, rows, cols)
        data["tiles"].append({"where": where, "registers": 0})
        data["files"] = [{"name": "shared", "count": rng.randint(1, 6), "where": where, **_file_ports(rng)}]
    data["memory"] = _memory(rng, rows, cols)
    return data


def _links(rng: random.Random, rows: int, cols: int) -> list[Any]:
    """Some more links: patterns, parts of patterns, single links."""
    entries: list[Any] = []
    for _ in range(rng.randint(0, 2)):
        kind = rng.random()
        if kind < 0.4:
            entries.append(rng.choice(PATTERNS))
        elif kind < 0.7:
            entries.append({"pattern": rng.choice(PATTERNS), "along": rng.choice(("rows", "cols"))})
        else:
            a, b = rng.sample([(r, c) for r in range(rows) for c in range(cols)], 2)
            entries.append({"from": list(a), "to": list(b), "both": rng.random() < 0.5})
    return entries


def _buses(rng: random.Random, rows: int, cols: int) -> Any:
    """Buses along rows or columns, and single ones."""
    single = {"name": "spine", "where": _where(rng, rows, cols), "from": _where(rng, rows, cols)}
    return rng.choice(("rows", "columns", ["rows", "columns"], {"along": "rows", "count": 2}, single, ["rows", single]))


def _file_ports(rng: random.Random) -> dict[str, Any]:
    """Ports of a register file, in about half of all cases."""
    ports = {"reads": rng.randint(1, 3), "writes": rng.randint(1, 2)}
    return {name: count for name, count in ports.items() if rng.random() < 0.4}


def _where(rng: random.Random, rows: int, cols: int) -> Any:
    """A selector that names some tiles."""
    return rng.choice(
        (
            "all",
            "checkerboard",
            "corners",
            "borders",
            {"row": rng.randrange(rows)},
            {"col": rng.randrange(cols)},
            [rng.randrange(rows), rng.randrange(cols)],
            {"rows": [0, rows - 1], "cols": rng.randrange(cols)},
            {"tiles": [[rng.randrange(rows), rng.randrange(cols)] for _ in range(2)]},
        )
    )


def _tiles(rng: random.Random, style: str, rows: int, cols: int) -> list[dict[str, Any]]:
    """Entries about tiles: everybody can add, some things are only here and there."""
    first: dict[str, Any] = {"latency": {"mul": rng.randint(1, 3)}}
    if style == "modulo":
        registers = {"count": rng.randint(2, 5), **_file_ports(rng)}
        first |= {"registers": registers, "hold": rng.choice(("until-write", "until-write", "next"))}
    else:
        first["fifo"] = rng.choice((None, None, 3, 8, [6, 3, 4], [None, 4, 0]))
    if rng.random() < 0.25:
        first["constants"] = rng.randint(2, 6)
    entries = [first]
    for _ in range(rng.randint(0, 3)):
        entry: dict[str, Any] = {"where": _where(rng, rows, cols)}
        kind = rng.random()
        if kind < 0.3:
            entry["latency"] = {"*": rng.randint(1, 2), "mul": rng.randint(1, 4)}
        elif kind < 0.5 and style == "modulo":
            entry["occupancy"] = {"mul": rng.randint(2, 3)}
        elif kind < 0.7 and style == "modulo":
            count = rng.randint(1, 6)
            rotating = rng.choice(("free", rng.randint(0, count)))
            entry["registers"] = {"count": count, "rotating": rotating, **_file_ports(rng)}
        elif kind < 0.8 and style == "static":
            entry["fifo"] = rng.choice((rng.randint(1, 6), [rng.randint(0, 6) for _ in range(3)]))
        elif kind < 0.85:
            entry["constants"] = rng.choice((None, rng.randint(1, 4)))
        else:
            entry["ops"] = {"remove": rng.choice((["mul"], ["div", "fp"], ["xor", "min"], ["sub"]))}
        entries.append(entry)
    return entries


def _memory(rng: random.Random, rows: int, cols: int) -> dict[str, Any]:
    """Ports for rows, columns or tiles, a list of them, or banks."""
    kind = rng.random()
    if kind < 0.4:
        return {"ports": rng.choice(("row", "column", "tile", "none"))}
    if kind < 0.6:
        return {"ports": [{"name": "left", "where": {"col": 0}, "count": rng.randint(1, 2)}]}
    banks: list[dict[str, Any]] = [{"name": "wide", "ports": rng.randint(1, 3)}]
    if rng.random() < 0.6:
        banks.append({"name": "side", "where": {"col": 0}, "ports": rng.randint(1, 2), "bytes": 512})
    if rng.random() < 0.3:
        banks[0]["latency"] = rng.randint(1, 3)
    return {"banks": banks}
