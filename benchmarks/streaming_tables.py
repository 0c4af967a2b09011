"""The tables of docs/algorithms/ppo.md from the cells of evaluations, and the JSON file beside that page.

    gridloom eval ppo --set columns=rank+untrained+ppo+anneal --set cells=cells.jsonl --json
    python benchmarks/streaming_tables.py cells.jsonl --seconds 2 --json ppo-strict.json

Cells of other seconds in the same file are left out, except those of ``exact``. Of two outcomes of ``exact`` for a
graph the better one counts.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import mean
from typing import Any

from gridloom.targets.streaming.learned.evaluation import COLUMNS, summary
from gridloom.targets.streaming.learned.ground import Case, cases
from gridloom.targets.streaming.mappers.search import longest_path

Row = dict[str, Any]
SHOWN = ("ppo", "rank", "untrained", "random", "mlp", "gga", "anneal")
#: Graphs of up to so many nodes are small in the table.
SMALL = 40


def rows_of(lines: list[Row], seconds: float) -> list[Row]:
    """Return a row for each case with a list of outcomes by seed for each column, smaller arrays and graphs first."""
    rows = [_row(case, [line for line in lines if line["graph"] == case.source], seconds) for case in cases("strict")]
    return sorted((row for row in rows if best_known(row)), key=lambda row: (row["tiles"], row["nodes"]))


def _row(case: Case, lines: list[Row], seconds: float) -> Row:
    problem = case.problem()
    row: Row = {
        "graph": case.source,
        "arch": case.arch,
        "nodes": problem.size,
        "tiles": problem.tiles,
        "floor": longest_path(problem),
    }
    for column in SHOWN:
        found = {
            line["seed"]: line["outcome"] for line in lines if line["column"] == column and line["seconds"] == seconds
        }
        if found:
            row[column] = [found[seed] for seed in sorted(found)]
    exact = [line["outcome"] for line in lines if line["column"] == "exact" and line["outcome"]]
    if exact:
        best = min(exact, key=lambda o: (o["ii"], not o["proved"], o["cycles"]))
        row["exact"] = {**best, "bound": max(o["bound"] for o in exact if o["ii"] == best["ii"])}
    return row


def best_known(row: Row) -> tuple[int, int] | None:
    """Return the lowest II of any column and seed, with the fewest cycles at it; None where nothing was found."""
    found = [o for c in COLUMNS for o in (row[c] if isinstance(row.get(c), list) else [row.get(c)]) if o]
    return min(((o["ii"], o["cycles"]) for o in found), default=None)


def excess(rows: list[Row], column: str, seed: int | None = None) -> str:
    """Return the mean of the cycles above the best known over cells at its II, in percent."""
    found = []
    for row in rows:
        ii, cycles = best_known(row) or (0, 1)
        outcomes = row.get(column, []) if seed is None else row.get(column, [])[seed : seed + 1]
        found += [o["cycles"] / cycles - 1 for o in outcomes if o and o["ii"] == ii]
    return f"{100 * mean(found):.1f}" if found else "-"


def order(outcome: Row | None) -> tuple[int, int]:
    """Return what outcomes are compared by: the II, then the cycles; no placement comes last."""
    return (outcome["ii"], outcome["cycles"]) if outcome else (1 << 20, 0)


def duel(rows: list[Row], column: str, other: str) -> str:
    """Return in how many cells a column is better than another one, equal and worse, seed by seed."""
    pairs = [(order(a), order(b)) for row in rows for a, b in zip(row.get(column, []), row.get(other, []))]
    return " / ".join(str(sum(held)) for held in zip(*((a < b, a == b, a > b) for a, b in pairs))) if pairs else ""


def overview(rows: list[Row]) -> list[str]:
    """Return the table of all columns: what they find, and how they stand beside `anneal`."""
    stands = summary(rows)
    columns = [column for column in SHOWN if column in stands]
    small = [row for row in rows if row["nodes"] <= SMALL]
    large = [row for row in rows if row["nodes"] > SMALL]

    def line(name: str, cell: Any) -> str:
        return f"| {name} | " + " | ".join(str(cell(column)) for column in columns) + " |"

    def beside(column: str, key: str, scale: float = 100) -> str:
        value = stands[column].get(key)
        return "" if column == "anneal" or value is None else f"{scale * value:.1f} %"

    def seeds(column: str) -> str:
        count = max(len(row.get(column, [])) for row in rows)
        return ", ".join(excess(rows, column, seed) for seed in range(count)) + " %"

    def without(part: list[Row], column: str) -> int:
        return sum(o is None for row in part for o in row.get(column, []))

    return [
        line("", lambda c: f"`{c}`" if c in ("ppo", "mlp", "gga", "anneal") else c),
        "| --- " * (len(columns) + 1) + "|",
        line("cells", lambda c: stands[c]["cells"]),
        line("cells without a placement", lambda c: stands[c]["without"]),
        line("cells at the best known II", lambda c: stands[c]["at_best_ii"]),
        line("at or below the II of `anneal`", lambda c: beside(c, "not_worse")),
        line("below it (or `anneal` has none)", lambda c: "" if c == "anneal" else stands[c].get("lower_ii", "")),
        line("cycles of `anneal` above these, at equal II", lambda c: beside(c, "fewer_cycles")),
        line("better / equal / worse than the rank", lambda c: "" if c == "rank" else duel(rows, c, "rank")),
        line("cycles above the best known, at the best II", lambda c: excess(rows, c) + " %"),
        line("the same, by seed", seeds),
        line(
            f"{len(small)} graphs of up to {SMALL} nodes: cycles above the best known",
            lambda c: excess(small, c) + " %",
        ),
        line(
            f"{len(large)} graphs of more: without a placement; cycles above the best known",
            lambda c: f"{without(large, c)}; {excess(large, c)} %",
        ),
    ]


def each_graph(rows: list[Row]) -> list[str]:
    """Return the table of all graphs: II / cycles as the median over seeds; proved optima are bold."""
    columns = [column for column in SHOWN if any(column in row for row in rows)]
    lines = [
        "| graph | nodes | tiles | "
        + " | ".join(f"`{c}`" if c in ("ppo", "mlp", "gga", "anneal") else c for c in columns)
        + " | `exact` |",
        "| --- " * (len(columns) + 4) + "|",
    ]
    for row in rows:
        name = row["graph"].removeprefix("kernel:").replace("random_", "").replace(",domain=opaque", "")
        cells = " | ".join(_median(row.get(column, [])) for column in columns)
        lines.append(f"| {name} | {row['nodes']} | {row['tiles']} | {cells} | {_exact(row.get('exact'))} |")
    return lines


def _median(outcomes: list[Row | None]) -> str:
    if not outcomes:
        return ""
    ordered = sorted(outcomes, key=order)
    middle = ordered[len(ordered) // 2]
    return f"{middle['ii']} / {middle['cycles']}" if middle else "none"


def _exact(outcome: Row | None) -> str:
    if outcome is None:
        return ""
    text = f"{outcome['ii']} / {outcome['cycles']}"
    return f"**{text}**" if outcome["proved"] else f"{text} (bound {outcome['bound']})"


def main() -> None:
    """Print the tables, and write the rows where a file is named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cells", type=Path, nargs="+")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    lines = [json.loads(line) for path in args.cells for line in path.read_text(encoding="utf-8").splitlines()]
    rows = rows_of(lines, args.seconds)
    if args.json is not None:
        text = ",\n".join(json.dumps(row) for row in rows)
        args.json.write_text(f"[\n{text}\n]\n", encoding="utf-8")
    sys.stdout.write("\n".join([*overview(rows), "", *each_graph(rows), ""]))


if __name__ == "__main__":
    main()
