"""The mappers of the static grids against each other: the same processor time for each, on the same arrays.

    python benchmarks/spatial_rivals.py run rows.jsonl --seconds 2 --seeds 1 2 3
    python benchmarks/spatial_rivals.py run wires.jsonl --mappers {anneal,divide}:objective=wirelength
    python benchmarks/spatial_rivals.py table rows.jsonl

``run`` maps the 37 graphs of the NeoSA evaluation with skewed inputs, inputs and results on the border, on the smallest
squares with room, one thread for each run. A limit is seconds of this process's own time, so that other work on the
machine takes nothing from anyone; kernels are compiled before. Rows go to the file as they come, and what is there is
not run again. Every mapping is verified and simulated. ``table`` counts on how many cells the first mapper's deepest
FIFO is shallower and its wires are shorter than another's, by medians over seeds; a cell that is not mapped under each
seed is lost. Mean wirelengths are over the cells that all of them map.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from gridloom.flow.bench.fitting import fill_in_size
from gridloom.flow.request import Request
from gridloom.flow.run import run
from gridloom.frontend.kernels.neosa import GRAPHS
from gridloom.frontend.source import load_source
from gridloom.search import budget

MAPPERS = ("anneal", "genetic-grid", "divide", "neosa:schedule=released,instances=1000000")
TOPOLOGIES = ("mesh", "chess")


class Cell(NamedTuple):
    """What one run is of."""

    mapper: str
    topology: str
    graph: str
    seed: int


class Figures(NamedTuple):
    """Medians over seeds; what is less is better."""

    deepest: float
    wirelength: float


def count_processor_time() -> None:
    """Let the clocks of all runs in this process count its processor time instead of the time of day."""
    budget.time = SimpleNamespace(monotonic=time.process_time)  # type: ignore[attr-defined, assignment]


def mapped(cell: Cell, seconds: float) -> dict[str, Any]:
    """Run a mapper once and return its row."""
    source = f"kernel:neosa-{cell.graph}"
    arch = fill_in_size(f"{cell.topology}:fit,inputs=skewed,io=border", load_source(source))
    name, _, options = cell.mapper.partition(":")
    settings = dict(option.split("=", 1) for option in options.split(",") if option)
    began = time.process_time()
    result = run(Request(source=source, arch=arch, mapper=name, settings=settings, seed=cell.seed, time_limit=seconds))
    spent = time.process_time() - began
    record = result.to_dict()
    good = record["status"] == "mapped" and all(record["verified"].values())
    return {
        **cell._asdict(),
        "arch": arch,
        "limit": seconds,
        "seconds": round(spent, 2),
        "deepest": record["buffers"]["max"] if good else None,
        "wirelength": record["wirelength"] if good else None,
    }


def run_all(asked: argparse.Namespace) -> None:
    """Run every cell that the file does not have."""
    count_processor_time()
    done = {cell_of(row) for row in read(asked.rows)} if asked.rows.exists() else set()
    cells = [
        Cell(mapper, topology, graph, seed)
        for seed in asked.seeds
        for topology in asked.topologies
        for graph in asked.graphs
        for mapper in asked.mappers
    ]
    for mapper in asked.mappers:
        mapped(Cell(mapper, "mesh", "matmul22", 1), 1.0)
    with asked.rows.open("a", encoding="utf-8") as file:
        for cell in cells:
            if cell not in done:
                file.write(json.dumps(mapped(cell, asked.seconds)) + "\n")
                file.flush()


def read(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def cell_of(row: dict[str, Any]) -> Cell:
    """Return the cell of a row."""
    return Cell(*(row[field] for field in Cell._fields))


def medians(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str, str], Figures | None]:
    """Return (mapper, topology, graph) -> medians over seeds, None where a seed has no mapping."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["mapper"], row["topology"], row["graph"]), []).append(row)
    return {
        key: None
        if any(row["deepest"] is None for row in group)
        else Figures(*(statistics.median(row[name] for row in group) for name in Figures._fields))
        for key, group in groups.items()
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table in Markdown: each mapper beside the first, by topology."""
    found = medians(rows)
    mappers = list(dict.fromkeys(row["mapper"] for row in rows))
    lines = [
        "| array | mapper | runs mapped | mean deepest FIFO | deepest | mean wirelength "
        "| first: shallower, deeper, equal | first: shorter, longer, equal | mean CPU s |",
        "|" + " --- |" * 9,
    ]
    for topology in dict.fromkeys(row["topology"] for row in rows):
        here = {(m, g): figures for (m, t, g), figures in found.items() if t == topology}
        common = [g for m, g in here if m == mappers[0] and all(here.get((other, g)) for other in mappers)]
        for mapper in mappers:
            runs = [row for row in rows if (row["mapper"], row["topology"]) == (mapper, topology)]
            if runs:
                lines.append(_line(topology, mapper, runs, here, mappers[0], common))
    return "\n".join(lines)


def _line(
    topology: str,
    mapper: str,
    runs: Sequence[dict[str, Any]],
    here: dict[tuple[str, str], Figures | None],
    first: str,
    common: Sequence[str],
) -> str:
    own = [figures for (m, _), figures in here.items() if m == mapper and figures is not None]
    both = [figures for g in common if (figures := here[mapper, g]) is not None]
    words = [
        topology,
        f"`{mapper}`",
        f"{sum(row['deepest'] is not None for row in runs)} of {len(runs)}",
        f"{statistics.fmean(f.deepest for f in own):.2f}" if own else "-",
        f"{max(f.deepest for f in own):g}" if own else "-",
        f"{statistics.fmean(f.wirelength for f in both):.1f}" if both else "-",
        *(_duel(first, mapper, here) if mapper != first else ("", "")),
        f"{statistics.fmean(row['seconds'] for row in runs):.2f}",
    ]
    return f"| {' | '.join(words)} |"


def _duel(first: str, other: str, here: dict[tuple[str, str], Figures | None]) -> tuple[str, ...]:
    """How often the first mapper is better, worse and equal: by FIFO, and by wires."""
    graphs = [graph for mapper, graph in here if mapper == first and (other, graph) in here]
    worst = Figures(float("inf"), float("inf"))
    words = []
    for name in Figures._fields:
        pairs = [(getattr(here[first, g] or worst, name), getattr(here[other, g] or worst, name)) for g in graphs]
        better, worse = sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
        words.append(f"{better}, {worse}, {len(pairs) - better - worse}")
    return tuple(words)


def main() -> None:
    """Run cells, or print the table of rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("run", "table"))
    parser.add_argument("rows", type=Path)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--seeds", type=int, nargs="*", default=[1])
    parser.add_argument("--graphs", nargs="*", default=list(GRAPHS))
    parser.add_argument("--topologies", nargs="*", default=list(TOPOLOGIES))
    parser.add_argument("--mappers", nargs="*", default=list(MAPPERS))
    asked = parser.parse_args()
    if asked.task == "run":
        run_all(asked)
    else:
        sys.stdout.write(table(read(asked.rows)) + "\n")


if __name__ == "__main__":
    main()
