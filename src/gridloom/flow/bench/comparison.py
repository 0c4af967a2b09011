"""Comparisons of the mappers of a report, and of peers with stored results: one row for each array and mapper.

Cells are compared in pairs: the same source, array and seed. A mapper's ratio is the geometric mean of its value over
the first mapper's, over cells that both map; its interval is a bootstrap over sources (:mod:`gridloom.statistics`).
Wins, ties and losses count failures: a cell that one of the two alone maps is its win. The geometric mean of a
mapper is over the cells that all mappers map, so that means are comparable. Peers enter by name, with the II that they
published for a source and a size of array, which meets every seed of ours.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import fmean
from typing import Any, Final, Literal

from gridloom.errors import OptionError
from gridloom.statistics import bootstrap_interval, compare_pairs, geometric_mean

Row = Mapping[str, Any]
Cell = tuple[str, str, int]
TableStyle = Literal["md", "csv", "latex"]

#: Metrics that mappers are compared by; less is better for every one of them.
METRICS: Final = (
    "ii", "period", "latency", "wirelength", "longest_wire", "buffers", "tiles_used", "routing_tiles", "seconds",
)  # fmt: skip
#: The name of the block over all arrays.
ALL: Final = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class MapperComparison:
    """How a mapper does on an array, beside the first mapper of the comparison."""

    arch: str
    mapper: str
    metric: str
    cells: int
    mapped: int
    failed: int
    #: Over the cells that all mappers map; None where there is none, or where a value is 0.
    geometric_mean: float | None = None
    #: Geometric mean of this mapper's value over the first one's, over ``pairs`` cells; None for the first mapper.
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    pairs: int | None = None
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None
    p_value: float | None = None
    verdict: str = ""
    #: Seconds of search in all.
    seconds: float | None = None


def compare_mappers(rows: Sequence[Row], metric: str | None = None) -> list[MapperComparison]:
    """Return the comparison for each array and mapper, and over all arrays where there are several.

    The first mapper of the rows is what the others are compared with. ``metric`` is one of :data:`METRICS`; None takes
    the II, or what tells mappers apart on arrays without one. Costs 2,000 passes over the cells for each row.
    """
    values = _values(rows, chosen := metric or default_metric(rows), peers=metric in (None, "ii"))
    check_metric(metric)
    seconds = _values(rows, "seconds", peers=False)
    archs = list(dict.fromkeys(str(row["cell"]["arch"]) for row in rows))
    return [
        _compare(arch, mapper, chosen, part, seconds.get(mapper, {}))
        for arch in [*archs, *([ALL] if len(archs) > 1 else [])]
        for part in [{name: _on(arch, cells) for name, cells in values.items()}]
        for mapper in part
        if part[mapper]
    ]


def check_metric(metric: str | None) -> None:
    """OptionError for a metric that mappers are not compared by."""
    if metric is not None and metric not in METRICS:
        raise OptionError(f"no metric is called {metric!r}; known: {', '.join(METRICS)}", where="--metric")


def default_metric(rows: Sequence[Row]) -> str:
    """Return what mappers are compared by where the user does not say it: the first metric with different values."""
    for metric in ("ii", "period", "wirelength"):
        if len({_value(row, metric) for row in rows if row["status"] == "mapped"} - {None}) > 1:
            return metric
    return "ii"


def _value(row: Row, metric: str) -> float | None:
    """Return a row's metric; None where it has none."""
    if row["status"] != "mapped" and metric != "seconds":
        return None
    found = (row["buffers"] or {}).get("total") if metric == "buffers" else row.get(metric)
    return None if found is None else float(found)


def _values(rows: Sequence[Row], metric: str, *, peers: bool) -> dict[str, dict[Cell, float | None]]:
    """Return for each mapper the value of each cell, None for a failure; peers after the mappers."""
    ours: dict[str, dict[Cell, float | None]] = {}
    theirs: dict[str, dict[Cell, float | None]] = {}
    for row in rows:
        cell = (str(row["cell"]["source"]), str(row["cell"]["arch"]), int(row["cell"]["seed"]))
        ours.setdefault(str(row["mapper"]), {})[cell] = _value(row, metric)
        for name, value in (row.get("peers") or {}).items() if peers and metric == "ii" else ():
            theirs.setdefault(str(name), {})[cell] = float(value) if isinstance(value, int) else None
    # A peer of the name of one of our mappers is another run.
    return ours | {f"{name} (published)" if name in ours else name: cells for name, cells in theirs.items()}


def _on(arch: str, cells: Mapping[Cell, float | None]) -> dict[Cell, float | None]:
    """Return the cells of an array, or all."""
    return {cell: value for cell, value in cells.items() if arch in (ALL, cell[1])}


def _compare(
    arch: str,
    mapper: str,
    metric: str,
    values: Mapping[str, Mapping[Cell, float | None]],
    seconds: Mapping[Cell, float | None],
) -> MapperComparison:
    """Compare one mapper with the first one on an array."""
    own, first = values[mapper], next(iter(values.values()))
    ran = [cells for cells in values.values() if set(cells) == set(first)]
    common = [cell for cell in first if cell in own and all(cells[cell] is not None for cells in ran)]
    shared = [value for cell in common if (value := own[cell]) is not None]
    mapped = sum(value is not None for value in own.values())
    searched = [value for value in _on(arch, seconds).values() if value is not None]
    row: dict[str, Any] = {
        "arch": arch, "mapper": mapper, "metric": metric, "cells": len(own), "mapped": mapped,
        "failed": len(own) - mapped, "seconds": round(math.fsum(searched), 3) if searched else None,
        "geometric_mean": geometric_mean(shared) if len(shared) == len(common) and all(shared) else None,
    }  # fmt: skip
    if own is first:
        return MapperComparison(**row)
    found = compare_pairs(own, first)
    groups: dict[str, list[float]] = {}
    for cell, value in own.items():
        other = first.get(cell)
        if value and other:
            groups.setdefault(cell[0], []).append(math.log(value / other))
    logs = [value for group in groups.values() for value in group]
    low, high = bootstrap_interval(list(groups.values())) if logs else (math.nan, math.nan)
    if logs:
        row |= {"ratio": round(math.exp(fmean(logs)), 4), "ratio_low": round(math.exp(low), 4),
                "ratio_high": round(math.exp(high), 4)}  # fmt: skip
    return MapperComparison(
        **row, pairs=len(logs), wins=found.wins, ties=found.ties, losses=found.losses,
        p_value=round(found.p_value, 6), verdict=found.verdict,
    )  # fmt: skip


# -- tables -----------------------------------------------------------------------------------------------------------


def write_table(rows: Sequence[MapperComparison], style: TableStyle) -> str:
    """Return a comparison as Markdown, CSV with all fields, or a LaTeX ``tabular`` (package booktabs)."""
    if style == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, [field.name for field in fields(MapperComparison)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
        return text.getvalue()
    head, *body = table_cells(rows)
    if style == "md":
        texts = [head, ["---"] * len(head), *body]
        return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in texts)
    blocks = ["\\midrule\n" if k and rows[k].arch != rows[k - 1].arch else "" for k in range(len(rows))]
    lines = [block + _latex_line(line) for block, line in zip(blocks, body, strict=True)]
    columns = "ll" + "r" * (len(head) - 4) + "lr"
    return (
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{_latex_line(head)}\\midrule\n{''.join(lines)}\\bottomrule\n"
        "\\end{tabular}\n"
    )


def table_cells(rows: Sequence[MapperComparison]) -> list[list[str]]:
    """Return the texts of a comparison as a table, line by line; the first are the heads."""
    metric = rows[0].metric if rows else "ii"
    name = {"ii": "II"}.get(metric, metric.replace("_", " "))
    first = rows[0].mapper if rows else ""
    head = ["array", "mapper", "mapped", "failed", f"{name} (geom. mean)", f"ratio to {first}", "95 % interval"]
    head += ["wins", "ties", "losses", "p", "verdict", "seconds"]
    return [head, *(_cells(row) for row in rows)]


def _cells(row: MapperComparison) -> list[str]:
    """Return the texts of a row of a table; what has no value is empty."""
    interval = "" if row.ratio is None else f"{row.ratio_low:.3g} to {row.ratio_high:.3g}"
    texts = [row.arch, row.mapper, f"{row.mapped} of {row.cells}", str(row.failed), _number(row.geometric_mean)]
    texts += [_number(row.ratio), interval, *("" if v is None else str(v) for v in (row.wins, row.ties, row.losses))]
    return [*texts, "" if row.p_value is None else f"{row.p_value:.2g}", row.verdict, _number(row.seconds)]


def _number(value: float | None) -> str:
    """Return a number to four digits; empty for None."""
    return "" if value is None else f"{value:.4g}"


_LATEX: Final = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"} | {"~": r"\textasciitilde{}", "^": r"\^{}", "\\": r"\textbackslash{}"}
)


def _latex_line(cells: Iterable[str]) -> str:
    """Return a line of a tabular."""
    return " & ".join(cell.translate(_LATEX) for cell in cells) + " \\\\\n"
