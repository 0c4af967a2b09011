"""What claims share: a mapped cell as a row, grids of questions, tables by groups, and sentences about rivals."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from statistics import fmean
from typing import Any

import gridloom as gl
from benchmarks.claim import REPOSITORY, Row, Rows, published_folder
from gridloom.statistics import compare_pairs, geometric_mean

PUBLISHED = "published:"


def questions(**columns: Any) -> list[Row]:
    """Return a row for every combination of the columns' values; a value that is no list is the same in all rows."""
    lists = [value if isinstance(value, list | tuple) else [value] for value in columns.values()]
    return [dict(zip(columns, values)) for values in product(*lists)]


def source_of(source: str) -> str:
    """Return a SOURCE; ``published:`` stands for the folder of published graphs, ``examples/`` for ours."""
    if source.startswith("examples/"):
        return str(REPOSITORY / source)
    return str(published_folder() / source.removeprefix(PUBLISHED)) if source.startswith(PUBLISHED) else source


def fit_array(arch: str, source: str) -> str:
    """Return an ARCH whose size ``auto`` or ``fit`` is filled in: a smallest square, as suites have them."""
    from gridloom.flow.bench.fitting import fill_in_size

    return fill_in_size(arch, gl.load(source)) if (":auto" in arch or ":fit" in arch) else arch


def map_cell(asked: Row) -> Row:
    """Map a graph onto an array by ``mapper``, ``effort`` and ``seed``, confirm it, and return its figures.

    ``digest`` is a hash of placement, cycles, routes and FIFO depths.
    """
    source = source_of(asked["source"])
    result = gl.map(
        source,
        fit_array(asked["arch"], source),
        mapper=asked["mapper"],
        effort=asked.get("effort"),
        seed=asked["seed"],
        settings=asked.get("settings"),
        prove=asked.get("prove", False),
    )
    return describe_result(result)


def time_cell(asked: Row) -> Row:
    """Map a cell twice; return its figures and the CPU seconds of the second time, when kernels are compiled."""
    map_cell(asked)
    began = time.process_time()
    return {**map_cell(asked), "cpu": round(time.process_time() - began, 3)}


def describe_result(result: gl.Result) -> Row:
    """Return the figures of a result; None where there is no mapping."""
    found = result.to_dict()
    buffers = found.get("buffers") or {}
    return {
        "status": found["status"],
        "ii": found["ii"],
        "mii": found["mii"],
        "latency": found["latency"],
        "wirelength": found["wirelength"],
        "fifo": buffers.get("max"),
        "fifo_cycles": buffers.get("total"),
        "width": found["width"],
        "tiles": found["arch"]["tiles"],
        "used": found["tiles_used"],
        "nodes": found["dfg"]["nodes"],
        "optimal": found["optimal"],
        "bound": found["bound"],
        "digest": None if result.mapping is None else digest(result.mapping),
    }


def digest(mapping: gl.Mapping) -> str:
    """Return a hash of what a mapping says, without provenance, graph and array."""
    from gridloom.mapping import json_format

    data = json.loads(json_format.dumps(mapping))
    kept = {k: v for k, v in data.items() if k not in ("provenance", "gridloom", "version", "dfg", "arch")}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]


def mapped(rows: Rows) -> list[Mapping[str, Any]]:
    """Return the rows with a mapping."""
    return [row for row in rows if row.get("status", "mapped") == "mapped"]


def mean(column: str) -> Callable[[Rows], float | None]:
    """Return a function from rows to the mean of a column over those that have it."""

    def of(rows: Rows) -> float | None:
        values = [row[column] for row in rows if row.get(column) is not None]
        return round(fmean(values), 3) if values else None

    return of


def largest(column: str) -> Callable[[Rows], Any]:
    """Return a function from rows to the largest value of a column."""
    return lambda rows: max((row[column] for row in rows if row.get(column) is not None), default=None)


def over_mii(rows: Rows) -> float | None:
    """Return the geometric mean of MII / II over mapped rows."""
    return geometric_mean(row["mii"] / row["ii"] for row in mapped(rows) if row["mii"])


def at_mii(rows: Rows) -> int:
    """Return how many rows reach the MII."""
    return sum(row["ii"] == row["mii"] for row in mapped(rows))


def mapped_of(rows: Rows) -> str:
    """Return how many rows have a mapping, in words."""
    return f"{len(mapped(rows))} of {len(rows)}"


def group(rows: Rows, *keys: str) -> Iterator[tuple[tuple[Any, ...], list[Mapping[str, Any]]]]:
    """Yield the rows by the values of some columns, in the order of first use."""
    found: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(tuple(row.get(key) for key in keys), []).append(row)
    yield from found.items()


def table_by(*keys: str, **columns: Callable[[Rows], Any]) -> Callable[[Rows], list[Row]]:
    """Return a function from rows to a table with a line for each group and a function of its rows in each column."""
    titles = {name: name.replace("_", " ") for name in columns}
    return lambda rows: [
        dict(zip(keys, values)) | {titles[name]: function(part) for name, function in columns.items()}
        for values, part in group(rows, *keys)
    ]


def figures_of(**columns: Callable[[Rows], Any]) -> Callable[[Rows], Row]:
    """Return a function from rows to figures."""
    return lambda rows: {name: function(rows) for name, function in columns.items()}


def rivals(
    column: str, *, of: str = "mapper", cells: Sequence[str] = ("source", "arch", "seed"), more: bool = False
) -> Callable[[Rows], list[str]]:
    """Return a function from rows to a sentence for the first rival beside each of the others.

    Values are paired by the columns ``cells``, of which the first is drawn by the bootstrap. A cell that a rival does
    not map is lost.
    """

    def sentences(rows: Rows) -> list[str]:
        sides = {
            name: {tuple(row[c] for c in cells): row[column] if _solved(row, column) else None for row in part}
            for (name,), part in group(rows, of)
        }
        first, *others = sides
        return [
            f"{column}: {compare_pairs(sides[first], sides[other], more_is_better=more).sentence(first, other)}"
            for other in others
        ]

    return sentences


def _solved(row: Mapping[str, Any], column: str) -> bool:
    return row.get("status", "mapped") == "mapped" and row.get(column) is not None


def suite_sources(name: str) -> list[str]:
    """Return the SOURCEs of a suite once each."""
    from gridloom.flow.bench.suite import load_suite

    return list(dict.fromkeys(cell.source for cell in load_suite(name).cells()))


def first_of(values: Sequence[Any], count: int, quick: bool) -> list[Any]:
    """Return all values, or so many of them spread evenly for the quick variant."""
    step = max(1, len(values) // count)
    return list(values)[::step][:count] if quick else list(values)


def peer_rows(folder: str, file: str = "peer_results.csv") -> Iterable[Row]:
    """Yield the rows of a table that other groups' tools gave."""
    import csv

    with (published_folder() / folder / file).open(encoding="utf-8", newline="") as stream:
        yield from csv.DictReader(stream)
