"""The mappability data set: random graphs and parts of kernels, labelled by the width mapper's ladder of starts.

A label is the fewest columns that a fixed ladder of starts finds (``mappers.rows.search.narrowest``), or that it
finds none. The ladder is counted in moves, not in seconds, so a label is the same on every machine. One row a graph in
a store: a killed run goes on where it was.

Most graphs are labelled for one array, the *main* one. For each of the *other* arrays there are further graphs of some
of the same families, with numbers of their own: an estimator that is trained on them too knows arrays by their shape.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from gridloom.archs import build
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg, Edge, Node
from gridloom.dfg.ops import OP_TABLE
from gridloom.errors import OptionError
from gridloom.learn.mappability.graphs import OVERFULL, draw, style_of
from gridloom.mappers.rows.problem import CONST, LOAD, OP, STORE, flatten
from gridloom.mappers.rows.search import LAST_NARROW, LONG_FIT, LONG_NARROW, Starts, narrowest
from gridloom.run import ExecutorSpec, Job, Store, ask, canonical_json, run_stored
from gridloom.run.work import Work

#: Version of generator, ladder and row; a change makes stored rows answers to another question.
VERSION: Final = "3"
STORE_NAME: Final = "mappability.sqlite"
#: The name under which labels are stored. It is part of their keys, so it stays when this module moves.
QUESTION: Final = "gridloom.learn.mappability_data.label"

#: Names of ops, as the rows number them.
OPS: Final = tuple(sorted(OP_TABLE["cma24"]))
_NUMBER: Final = {name: k for k, name in enumerate(OPS)}

#: Graphs of the main array have numbers below this, those of the other arrays have higher ones.
OTHER_NUMBERS: Final = 100_000

#: Overfull families for each usual one: about half of all graphs are mappable then, as among those published.
_OVERFULL_SHARE: Final = 0.75


@dataclass(frozen=True, kw_only=True)
class Others:
    """What is labelled beside the main array: arrays, and of how many families how many graphs for each."""

    arrays: tuple[str, ...] = ()
    families: int = 100
    graphs: int = 1


@dataclass(frozen=True, kw_only=True)
class Row:
    """A labelled graph."""

    family: int
    number: int
    shape: str
    arch: str
    #: Op number (``OPS``) and constant of each node; ends and operand of each edge.
    ops: tuple[int, ...]
    values: tuple[int, ...]
    edges: tuple[tuple[int, int, int], ...]
    #: Ops, constants, loads, stores.
    counts: tuple[int, int, int, int]
    bound: int
    #: The fewest columns found; None: not mappable.
    width: int | None
    #: ``bound``, ``proof``, ``found`` or ``exhausted``; see ``Narrowest``.
    decided: str
    conflicts: int
    moves: int
    cpu: float


@lru_cache(maxsize=16)
def array(spec: str) -> Arch:
    """The array of a spec, built once."""
    return build(spec)


def label(asked: dict[str, Any]) -> dict[str, Any]:
    """Draw a graph and label it: the row as plain data. About 1.1 CPU seconds on average, 80 at most."""
    dfg = draw(int(asked["family"]), int(asked["number"]))
    arch = array(str(asked["arch"]))
    graph = flatten(dfg, arch)
    began = time.process_time()
    found = narrowest(Starts(graph, arch), arch.cols, fit=LONG_FIT, narrow=LONG_NARROW, last=LAST_NARROW)
    ops, values, edges = encode(dfg)
    return {
        "ops": ops,
        "values": values,
        "edges": [end for edge in edges for end in edge],
        "counts": [graph.count(group) for group in (OP, CONST, LOAD, STORE)],
        "bound": found.bound,
        "width": found.width,
        "decided": found.decided,
        "conflicts": found.conflicts,
        "moves": found.moves,
        "cpu": round(time.process_time() - began, 4),
    }


def encode(dfg: Dfg) -> tuple[list[int], list[int], list[tuple[int, int, int]]]:
    """A graph as numbers: op and constant of each node, (source, target, operand) of each edge."""
    ops = [_NUMBER.get(node.op, _NUMBER["nop"]) for node in dfg.nodes]
    values = [int(node.value or 0) for node in dfg.nodes]
    index = dfg.index
    edges = [(index[e.source], index[e.target], e.operand) for e in dfg.edges if e.carries_value]
    return ops, values, edges


def decode(row: Row) -> Dfg:
    """The graph of a row."""
    names = [f"n{k}" for k in range(len(row.ops))]
    nodes = tuple(
        Node(id=name, op=OPS[op], value=value if OPS[op] == "const" else None)
        for name, op, value in zip(names, row.ops, row.values, strict=True)
    )
    edges = tuple(Edge(source=names[a], target=names[b], operand=k) for a, b, k in row.edges)
    return Dfg(name=f"random_{row.family}_{row.number}", domain="cma24", nodes=nodes, edges=edges)


def jobs(families: int, graphs: int, arch: str, others: Others = Others()) -> Iterator[Job[Any]]:
    """The questions of a data set: all families first, usual and overfull ones, then the next graph of each.

    Those of the other arrays follow, one array after the other for each family, so that what is there of them when a
    run is stopped is of all of them alike.
    """
    for number in range(graphs):
        for family in (*range(families), *overfull_families(families)):
            yield _question(family, number, arch)
    chosen = {spec: some_families(spec, families, others.families) for spec in others.arrays}
    for k in range(others.graphs):
        for at_once in zip(*chosen.values(), strict=True):
            for spec, family in zip(chosen, at_once, strict=True):
                yield _question(family, _first_number(spec) + k, spec)


def overfull_families(families: int) -> range:
    """The overfull families beside so many usual ones."""
    return range(OVERFULL, OVERFULL + int(families * _OVERFULL_SHARE))


def _question(family: int, number: int, arch: str) -> Job[Any]:
    return ask(QUESTION, {"family": family, "number": number, "arch": arch}, version=VERSION)


def some_families(spec: str, families: int, count: int) -> list[int]:
    """The families whose graphs are labelled for an array beside the main one, in the order of the questions.

    Others for each array, and drawn from all; a larger ``count`` only adds to them. Overfull ones come last.
    """
    rng = random.Random(f"mappability families {array(spec).rows} {array(spec).cols}")
    usual, overfull = list(range(families)), list(overfull_families(families))
    rng.shuffle(usual)
    rng.shuffle(overfull)
    count = min(count, families)
    return [*usual[:count], *overfull[: len(overfull_families(count))]]


def _first_number(spec: str) -> int:
    """By shape, so that a graph of one array is not one of another, whichever arrays there are besides."""
    return OTHER_NUMBERS * array(spec).rows + 1000 * array(spec).cols


def is_main(row: Row) -> bool:
    """Whether a row is of the array that the data set is mainly about."""
    return row.number < OTHER_NUMBERS


def make(families: int, graphs: int, arch: str, work: Work, others: Others = Others()) -> dict[str, Any]:
    """Make what is missing of a data set in ``work.folder``, the main array first; returns the counts."""
    path = work.folder / STORE_NAME
    count = min(others.families, families)
    total = (families + len(overfull_families(families))) * graphs
    total += (count + len(overfull_families(count))) * others.graphs * len(others.arrays)
    with Store(path) as store:

        def told(progress: Any) -> None:
            work.progress(f"{progress.done} of {total} graphs", progress.done / total)

        def until_over() -> Iterator[Job[Any]]:
            for job in jobs(families, graphs, arch, others):
                if work.over():
                    return
                yield job

        done = run_stored(label, until_over(), store, executor=ExecutorSpec.parse(jobs=work.jobs), progress=told)
    return {"computed": done.computed, "failed": done.failed, **summary(read(path))}


def read(path: Path) -> list[Row]:
    """The labelled graphs of a store, ordered by array, family and number; OptionError when there is none."""
    if not path.exists():
        raise OptionError(
            "there is no data set; make one with `gridloom train mappability --make-data`", where=str(path)
        )
    with Store(path, readonly=True) as store:
        rows = [_row(row.asked["parameters"], row.value) for row in store.rows() if _is_label(row.asked, row.status)]
    return sorted(rows, key=lambda row: (row.arch, row.family, row.number))


def _is_label(asked: dict[str, Any], status: str) -> bool:
    return status == "done" and asked["version"] == VERSION and asked["function"] == QUESTION


def _row(asked: Any, value: Any) -> Row:
    flat = value["edges"]
    return Row(
        family=asked["family"],
        number=asked["number"],
        shape=style_of(asked["family"]).shape,
        arch=asked["arch"],
        ops=tuple(value["ops"]),
        values=tuple(value["values"]),
        edges=tuple((flat[k], flat[k + 1], flat[k + 2]) for k in range(0, len(flat), 3)),
        counts=(value["counts"][0], value["counts"][1], value["counts"][2], value["counts"][3]),
        bound=value["bound"],
        width=value["width"],
        decided=value["decided"],
        conflicts=value["conflicts"],
        moves=value["moves"],
        cpu=value["cpu"],
    )


def data_hash(rows: Iterable[Row]) -> str:
    """SHA-256 over graphs and labels, the CPU times left out: what a model card names."""
    digest = hashlib.sha256()
    for row in rows:
        kept = [row.arch, row.family, row.number, row.ops, row.values, row.edges, row.width, row.decided, row.moves]
        digest.update(canonical_json(kept).encode())
    return digest.hexdigest()


def summary(rows: list[Row]) -> dict[str, Any]:
    """Counts, shares and cost of a data set, in all and of each array."""
    return {
        "version": VERSION,
        "families": len({row.family for row in rows}),
        **_counts(rows),
        "cpu_seconds_a_label": round(sum(row.cpu for row in rows) / max(1, len(rows)), 3),
        "sha256": data_hash(rows),
        "arrays": {spec: _counts([row for row in rows if row.arch == spec]) for spec in sorted({r.arch for r in rows})},
    }


def _counts(rows: list[Row]) -> dict[str, Any]:
    open_rows = [row for row in rows if row.decided != "bound"]
    mapped = [row for row in open_rows if row.width is not None]
    return {
        "graphs": len(rows),
        "undecided_by_bound": len(open_rows),
        "mappable": len(mapped),
        "mappable_share": round(len(mapped) / max(1, len(open_rows)), 4),
        "at_bound": sum(row.width == row.bound for row in mapped),
        "cpu_seconds": round(sum(row.cpu for row in rows), 1),
    }
