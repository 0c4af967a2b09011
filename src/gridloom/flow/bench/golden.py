"""Golden results: a table of what a suite gave, and how much worse today's may be before it counts as a regression.

The table is CSV with one line per cell (source, array, seed), kept under version control, so that a change of results
is a change that a reviewer sees. Searches are random: a metric may move within a tolerance before it counts.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gridloom.errors import OptionError, SourceError

_CELL: Final = ("source", "arch", "seed")

#: Metrics of the table; less is better for every one of them.
METRICS: Final = ("ii", "latency", "wirelength", "longest_wire", "buffers_max", "buffers_total", "tiles_used")
COLUMNS: Final = (*_CELL, "status", *METRICS, "seconds")

#: What the last digit of a seeded search may do when the search itself changes.
DEFAULT_TOLERANCE: Final = 0.1

Key = tuple[str, str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenChange:
    """One number that left its tolerance, for the worse or for the better."""

    cell: Key
    metric: str
    golden: str
    found: str

    def __str__(self) -> str:
        source, arch, seed = self.cell
        return f"{source} on {arch}, seed {seed}: {self.metric} {self.found}, golden {self.golden}"


@dataclass(frozen=True, kw_only=True)
class GoldenComparison:
    """Today's rows compared with golden ones."""

    compared: int
    worse: tuple[GoldenChange, ...] = ()
    better: tuple[GoldenChange, ...] = ()
    #: metric -> sum of today's values over the sum of the golden ones, over cells that both map.
    ratios: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain JSON data."""
        return {
            "compared": self.compared,
            "worse": [str(change) for change in self.worse],
            "better": [str(change) for change in self.better],
            "ratios": dict(self.ratios),
        }


def flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a report as the columns of the table."""
    buffers = row.get("buffers") or {}
    values = {**row["cell"], **row, "buffers_max": buffers.get("max"), "buffers_total": buffers.get("total")}
    return {**{name: values.get(name) for name in COLUMNS}, **{name: row["cell"][name] for name in _CELL}}


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows of a report as CSV text: the golden file's format."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        cells = flat(row)
        writer.writerow({name: "" if value is None else value for name, value in cells.items()})
    return text.getvalue()


def read_golden(path: Path) -> dict[Key, dict[str, str]]:
    """Return the rows of a golden file by cell; OptionError names the line of a bad one."""
    from gridloom.text_file import read_text

    try:
        text = read_text(path)
    except SourceError as error:
        raise OptionError(error.message, where=error.where) from None
    reader = csv.DictReader(io.StringIO(text))
    missing = [name for name in (*_CELL, "status") if name not in _columns(reader, path)]
    if missing:
        raise OptionError(
            f"expected the columns {', '.join(COLUMNS)}; missing: {', '.join(missing)}", where=f"{path}:1"
        )
    rows: dict[Key, dict[str, str]] = {}
    for record in _records(reader, path):
        here = f"{path}:{reader.line_num}"
        key = (record["source"], record["arch"], _integer(record["seed"], "seed", here))
        if key in rows:
            raise OptionError(f"{key[0]} on {key[1]}, seed {key[2]} is given twice", where=here)
        for name in METRICS:
            if record.get(name):
                _integer(record[name], name, here)
        rows[key] = {name: record.get(name) or "" for name in COLUMNS}
    return rows


def _columns(reader: csv.DictReader[str], path: Path) -> list[str]:
    """Return the names in the first line; OptionError where it is no line of a table."""
    try:
        return list(reader.fieldnames or ())
    except csv.Error as error:
        raise OptionError(f"is no table: {error}", where=f"{path}:1") from None


def _records(reader: csv.DictReader[str], path: Path) -> Iterator[dict[str, str]]:
    """Yield the lines of a table; OptionError names one that is none, or that has too few columns."""
    rows = iter(reader)
    while True:
        try:
            record = next(rows, None)
        except csv.Error as error:
            raise OptionError(f"is no line of a table: {error}", where=f"{path}:{reader.line_num}") from None
        if record is None:
            return
        short = [name for name in (*_CELL, "status") if record[name] is None]
        if short:
            raise OptionError(f"has no {short[0]}", where=f"{path}:{reader.line_num}")
        yield record


def parse_tolerances(items: Sequence[str]) -> dict[str, float]:
    """Return ``["0.1", "wirelength=0.2"]`` as a tolerance for each metric; a lone number is for all of them.

    >>> tolerances = parse_tolerances(["0.2", "ii=0"])
    >>> tolerances["ii"], tolerances["latency"]
    (0.0, 0.2)
    """
    tolerances = dict.fromkeys(METRICS, DEFAULT_TOLERANCE)
    for item in items:
        name, equals, text = item.rpartition("=")
        if equals and name not in METRICS:
            raise OptionError(f"no metric is called {name!r}; known: {', '.join(METRICS)}", where="--tolerance")
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value < 1000:
            raise OptionError(f"expected a share such as 0.1, found {text!r}", where="--tolerance")
        tolerances |= {name: value} if equals else dict.fromkeys(METRICS, value)
    return tolerances


def compare(
    rows: Iterable[Mapping[str, Any]], golden: Mapping[Key, Mapping[str, str]], tolerances: Mapping[str, float]
) -> GoldenComparison:
    """Judge rows against golden ones, cell by cell.

    A metric may be worse by its tolerance (and by 1 where the tolerance is above 0, since counts are small); a cell
    that was mapped has to be mapped; a golden cell that is not among the rows is a regression.
    """
    today = {(row["cell"]["source"], row["cell"]["arch"], row["cell"]["seed"]): flat(row) for row in rows}
    worse: list[GoldenChange] = []
    better: list[GoldenChange] = []
    for key, old in golden.items():
        new = today.get(key)
        if new is None:
            worse.append(GoldenChange(cell=key, metric="cell", golden="there", found="missing"))
        elif new["status"] != old["status"]:
            side = better if new["status"] == "mapped" else worse
            side.append(GoldenChange(cell=key, metric="status", golden=old["status"], found=new["status"]))
        else:
            _compare_cell(key, new, old, tolerances, worse, better)
    return GoldenComparison(
        compared=sum(key in today for key in golden),
        worse=tuple(worse),
        better=tuple(better),
        ratios=_ratios(today, golden),
    )


def _compare_cell(
    key: Key,
    new: Mapping[str, Any],
    old: Mapping[str, str],
    tolerances: Mapping[str, float],
    worse: list[GoldenChange],
    better: list[GoldenChange],
) -> None:
    """Add the metrics of one cell that left their tolerance to ``worse`` and ``better``."""
    for name in METRICS:
        if old[name] == "" or new[name] is None:
            continue
        golden, value = int(old[name]), int(new[name])
        room = max(1.0, golden * tolerances[name]) if tolerances[name] > 0 else 0.0
        change = GoldenChange(cell=key, metric=name, golden=str(golden), found=str(value))
        if value > golden + room:
            worse.append(change)
        elif value < golden - room:
            better.append(change)


def _ratios(today: Mapping[Key, Mapping[str, Any]], golden: Mapping[Key, Mapping[str, str]]) -> dict[str, float]:
    """Return for each metric the sum of today's values over the golden one, over cells that both map."""
    ratios = {}
    for name in METRICS:
        both = [
            (int(today[key][name]), int(old[name]))
            for key, old in golden.items()
            if old[name] != "" and key in today and today[key][name] is not None
        ]
        total = sum(old for _, old in both)
        if total:
            ratios[name] = round(sum(new for new, _ in both) / total, 4)
    return ratios


def _integer(text: str, name: str, where: str) -> int:
    """Return a number of the table; OptionError names the column and the line."""
    try:
        return int(text)
    except ValueError:
        raise OptionError(f"{name}: expected a whole number, found {text!r}", where=where) from None
