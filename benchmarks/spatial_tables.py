"""Tables of the spatial suites as Markdown, from the rows that ``gridloom bench SUITE --json`` prints.

    gridloom bench neosa --json > neosa.json
    python benchmarks/spatial_tables.py fifo neosa.json
    python benchmarks/spatial_tables.py wins neosa.json --against published.csv
    python benchmarks/spatial_tables.py wins neosa.json --against neosa-mapper.json
    gridloom bench neosa-multipliers --json > multipliers.json
    python benchmarks/spatial_tables.py layouts multipliers.json

``fifo``: cells that are legal, and the mean over graphs of the median over seeds of the deepest FIFO. ``wins``: graphs
on which these rows have a shallower, a deeper or an equally deep FIFO than others: rows of another mapper, or a CSV
file with the columns benchmark, topology, layout and best_buffer. ``layouts``: how often a layout of multipliers needs
deeper FIFOs than multipliers everywhere, with k-means and the other graphs in separate columns.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

TOPOLOGIES = ("mesh", "onehop", "hex", "chess")
LAYOUTS = ("checkerboard", "columns", "borders")


class Cell(NamedTuple):
    """A graph on an array, whatever the seed."""

    graph: str
    topology: str
    inputs: str
    layout: str


Depths = Mapping[Cell, float]


def reconvergent(graph: str) -> bool:
    """Return True for graphs in which paths part and meet again: the others need no FIFO once inputs are skewed."""
    return graph.startswith(("K", "matmul"))


def kmeans(graph: str) -> bool:
    """Return True for the k-means graphs."""
    return graph.startswith("K")


def cell_of(row: Mapping[str, Any]) -> Cell:
    """Return the cell of a row, from its ARCH string."""
    topology, _, options = row["cell"]["arch"].partition(":")
    given = dict(option.split("=", 1) for option in options.split(",") if "=" in option)
    graph = row["cell"]["source"].removeprefix("kernel:neosa-").removeprefix("neosa/").removesuffix(".dot")
    return Cell(graph, topology, given.get("inputs", "aligned"), given.get("mul", "all"))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a report."""
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return rows


def medians(rows: Iterable[Mapping[str, Any]], pick: Callable[[Mapping[str, Any]], float]) -> dict[Cell, float]:
    """Return the median over seeds for each cell that is mapped under every seed."""
    found: dict[Cell, list[float | None]] = {}
    for row in rows:
        found.setdefault(cell_of(row), []).append(pick(row) if row["status"] == "mapped" else None)
    return {
        cell: statistics.median([v for v in values if v is not None])
        for cell, values in found.items()
        if None not in values
    }


def depth(row: Mapping[str, Any]) -> float:
    """Return the depth of the deepest FIFO of a row."""
    return float(row["buffers"]["max"])


def read_depths(path: Path) -> Depths:
    """Return depths by cell, from a report or from a table of published depths."""
    if path.suffix == ".json":
        return medians(read_rows(path), depth)
    layouts = {"homogeneous": "all"}
    with path.open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    found: dict[Cell, float] = {}
    for line in lines:
        topology = line["topology"].replace("-", "")
        # What was published leaves out the imbalance of inputs, as skewed inputs do.
        cell = Cell(_lower(line["benchmark"]), topology, "skewed", layouts.get(line["layout"], line["layout"]))
        found[cell] = min(found.get(cell, 1e9), float(line["best_buffer"]))
    return found


def _lower(name: str) -> str:
    return name if kmeans(name) else name.lower()


def markdown(header: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    rows = [list(header), ["---"] * len(header), *([str(value) for value in line] for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def fifo_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of legal cells and mean deepest FIFOs, by topology and kind of inputs."""
    depths = medians(rows, depth)
    wires = medians(rows, lambda row: float(row["wirelength"]))
    seconds = medians(rows, lambda row: float(row["seconds"]))
    lines = []
    for inputs in ("aligned", "skewed"):
        for topology in TOPOLOGIES:
            runs = [row for row in rows if cell_of(row)[1:3] == (topology, inputs)]
            cells = [cell for cell in depths if cell[1:3] == (topology, inputs)]
            if not runs or not cells:
                continue
            hard = [depths[cell] for cell in cells if reconvergent(cell.graph)]
            mapped = sum(row["status"] == "mapped" for row in runs)
            lines.append(
                [topology, inputs, f"{mapped} of {len(runs)}"]
                + [_mean([depths[cell] for cell in cells]), _mean(hard), max(depths[cell] for cell in cells)]
                + [_mean([wires[cell] for cell in cells]), _mean([seconds[cell] for cell in cells])]
            )
    header = ["array", "inputs", "runs mapped", "mean deepest FIFO", "of the 15 reconvergent", "deepest of all"]
    return markdown([*header, "mean wirelength", "mean seconds"], lines)


def _mean(values: Sequence[float]) -> str:
    return f"{statistics.fmean(values):.2f}" if values else "-"


def wins_table(ours: Depths, theirs: Depths) -> str:
    """Return a table of wins, losses and ties by topology with both means, then every cell that is lost."""
    lines: list[Sequence[object]] = []
    lost = []
    for inputs in ("aligned", "skewed"):
        for topology in TOPOLOGIES:
            cells = [c for c in ours if c[1:] == (topology, inputs, "all") and c in theirs]
            if not cells:
                continue
            worse = [c for c in cells if ours[c] > theirs[c]]
            better = sum(ours[c] < theirs[c] for c in cells)
            lost += [f"{c.graph} on {c.topology}, {c.inputs}: {ours[c]:g}, theirs {theirs[c]:g}" for c in worse]
            means = [_mean([ours[c] for c in cells]), _mean([theirs[c] for c in cells])]
            lines.append([topology, inputs, better, len(worse), len(cells) - better - len(worse), *means])
    header = ["array", "inputs", "shallower", "deeper", "equal", "mean", "theirs"]
    return "\n".join([markdown(header, lines), *(f"deeper: {cell}" for cell in lost)])


def layout_table(depths: Depths) -> str:
    """Return for each topology and layout how many graphs need a deeper FIFO than with multipliers everywhere."""
    parts = []
    for title, chosen in (("other graphs", False), ("k-means", True)):
        lines: list[Sequence[object]] = []
        for topology in TOPOLOGIES:
            words: list[object] = [topology]
            for layout in LAYOUTS:
                pairs = [
                    (value, depths[cell._replace(layout="all")])
                    for cell, value in depths.items()
                    if cell.topology == topology and cell.layout == layout and kmeans(cell.graph) == chosen
                    and cell._replace(layout="all") in depths
                ]  # fmt: skip
                worse, better = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
                words.append(f"{worse} worse, {better} better of {len(pairs)}")
            lines.append(words)
        parts.append(markdown([title, *LAYOUTS], lines))
    return "\n\n".join(parts)


def main() -> None:
    """Print the table that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=("fifo", "wins", "layouts"))
    parser.add_argument("rows", type=Path, help="what gridloom bench SUITE --json printed")
    parser.add_argument("--against", type=Path, help="other rows, or a table of published depths")
    asked = parser.parse_args()
    if asked.table == "fifo":
        text = fifo_table(read_rows(asked.rows))
    elif asked.table == "layouts":
        text = layout_table(read_depths(asked.rows))
    elif asked.against is None:
        parser.error("wins needs --against")
    else:
        text = wins_table(read_depths(asked.rows), read_depths(asked.against))
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
