"""The mappability data set: random graphs and parts of kernels, labelled by the mapper ``width``.

A label is the fewest columns that a fixed sequence of searches finds (``narrowest`` of ``mappers/search``), or that it
finds none. The searches are counted in moves, not in seconds, so a label is the same on every machine. The store has
one row per graph: a killed run continues where it was.

Most graphs are labelled for one array, the *main* one. For each of the *other* arrays there are further graphs of some
of the same families, with numbers of their own: an estimator that is trained on them too knows arrays by their shape.

Rows hold the graph itself as numbers, so features can change without labelling again. ``decided`` says how sure a label
is: ``bound`` and ``proof`` are certain that the graph does not fit; ``found`` gives a width that longer searches might
lower; ``exhausted`` counts as 'not mappable', although a longer search might find a mapping.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from gridloom.archs import build
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg, Edge, Node
from gridloom.dfg.ops import OP_TABLE
from gridloom.errors import OptionError
from gridloom.learn.labelling import label_missing
from gridloom.run import Job, JobOutcome, Store, ask, canonical_json
from gridloom.run.work import WorkFolder
from gridloom.targets.rows.learned.random_graphs import OVERFULL, draw, style_of
from gridloom.targets.rows.mappers.problem import CONST, LOAD, OP, STORE, RowGraph, flatten
from gridloom.targets.rows.mappers.search import LAST_NARROW, LONG_FIT, LONG_NARROW, Starts, narrowest

#: Version of generator, searches and row. After a change of it, rows stored before no longer count.
VERSION: Final = "4"
STORE_NAME: Final = "mappability.sqlite"
#: The name under which labels are stored. It is part of their keys, so it stays when this module moves.
QUESTION: Final = "gridloom.learn.mappability_data.label"

#: The ops in the order in which rows number them.
OPS: Final = tuple(sorted(OP_TABLE["cma24"]))
_NUMBER: Final = {name: k for k, name in enumerate(OPS)}

#: Graphs of the main array have numbers below this, those of the other arrays have higher ones.
OTHER_NUMBERS: Final = 100_000

#: Overfull families for each usual one: about half of all graphs are mappable then, as among those published.
_OVERFULL_SHARE: Final = 0.75


class Others(NamedTuple):
    """What is labelled beside the main array."""

    arrays: tuple[str, ...] = ()
    #: For each array: how many families, and how many graphs of each.
    families: int = 100
    graphs: int = 1


@dataclass(frozen=True, kw_only=True)
class LabelledGraph:
    """A labelled graph.

    ``counts[0]`` and so on are ops, constants, loads and stores; ``cpu`` is the only field that differs between
    machines.
    """

    family: int
    number: int
    shape: str
    arch: str
    #: The op number (position in ``OPS``) and the constant of each node; source, target and operand of each edge.
    ops: tuple[int, ...]
    values: tuple[int, ...]
    edges: tuple[tuple[int, int, int], ...]
    #: How many ops, constants, loads and stores it has.
    counts: tuple[int, int, int, int]
    #: The fewest columns by counting.
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
    """Return the array of a spec, built once."""
    return build(spec)


def label(asked: dict[str, Any]) -> dict[str, Any]:
    """Draw a graph, label it and return the row as plain data. About 1.1 CPU seconds on average, 80 at most."""
    dfg = draw(int(asked["family"]), int(asked["number"]))
    arch = array(str(asked["arch"]))
    graph = flatten(dfg, arch)
    began = time.process_time()
    narrow = narrowest(Starts(graph, arch), arch.cols, fit=LONG_FIT, narrow=LONG_NARROW, last=LAST_NARROW)
    return {
        **graph_numbers(dfg, graph),
        **{name: getattr(narrow, name) for name in ("bound", "width", "decided", "conflicts", "moves")},
        "cpu": round(time.process_time() - began, 4),
    }


def graph_numbers(dfg: Dfg, graph: RowGraph) -> dict[str, Any]:
    """Return what a row holds of a graph."""
    ops, values, edges = encode(dfg)
    counts = [graph.count(group) for group in (OP, CONST, LOAD, STORE)]
    return {"ops": ops, "values": values, "edges": [end for edge in edges for end in edge], "counts": counts}


def encode(dfg: Dfg) -> tuple[list[int], list[int], list[tuple[int, int, int]]]:
    """Return a graph as numbers: op and constant of each node, (source, target, operand) of each edge.

    Ops that the array does not know become ``nop``. Edges that only order nodes are left out.
    """
    ops = [_NUMBER.get(node.op, _NUMBER["nop"]) for node in dfg.nodes]
    values = [int(node.value or 0) for node in dfg.nodes]
    index = dfg.index
    edges = [(index[e.source], index[e.target], e.operand) for e in dfg.edges if e.carries_value]
    return ops, values, edges


def decode(row: LabelledGraph) -> Dfg:
    """Return the graph of a row, with nodes called ``n0``, ``n1`` and so on.

    :func:`encode` turns it into the same numbers.
    """
    names = [f"n{k}" for k in range(len(row.ops))]
    nodes = tuple(
        Node(id=name, op=OPS[op], value=value if OPS[op] == "const" else None)
        for name, op, value in zip(names, row.ops, row.values, strict=True)
    )
    edges = tuple(Edge(source=names[a], target=names[b], operand=k) for a, b, k in row.edges)
    return Dfg(name=f"random_{row.family}_{row.number}", domain="cma24", nodes=nodes, edges=edges)


def jobs(families: int, graphs: int, arch: str, others: Others = Others()) -> Iterator[Job[Any]]:
    """Yield the jobs of a data set: the first graph of all families, usual and overfull ones, then the next of each.

    The jobs of the other arrays follow, family by family for all arrays in turn, so that a run that is stopped has
    about as many rows of each of them.
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
    """Return the overfull families beside so many usual ones."""
    return range(OVERFULL, OVERFULL + int(families * _OVERFULL_SHARE))


def _question(family: int, number: int, arch: str) -> Job[Any]:
    return ask(QUESTION, {"family": family, "number": number, "arch": arch}, version=VERSION)


def some_families(spec: str, families: int, count: int) -> list[int]:
    """Return the families whose graphs are labelled for an array beside the main one, in the order of the jobs.

    They are drawn from all families and differ from array to array; a larger ``count`` only adds to them. Overfull ones
    come last.
    """
    rng = random.Random(f"mappability families {array(spec).rows} {array(spec).cols}")
    usual, overfull = list(range(families)), list(overfull_families(families))
    rng.shuffle(usual)
    rng.shuffle(overfull)
    # Other arrays use families that the main array has, so that folds by family hold for all arrays.
    count = min(count, families)
    return [*usual[:count], *overfull[: len(overfull_families(count))]]


def _first_number(spec: str) -> int:
    """The number of an array's first graph: by its shape, so that no two arrays share graphs."""
    return OTHER_NUMBERS * array(spec).rows + 1000 * array(spec).cols


def is_main(row: LabelledGraph) -> bool:
    """Return whether a row is of the main array."""
    return row.number < OTHER_NUMBERS


def make(
    families: int,
    graphs: int,
    arch: str,
    work: WorkFolder,
    others: Others = Others(),
    known: Iterable[LabelledGraph] = (),
) -> dict[str, Any]:
    """Label what is missing of a data set in ``work.folder``, the main array first, and return the counts.

    A run that is over returns the counts of what there is. ``work.jobs`` workers label in parallel. A new store begins
    with ``known``, so that these graphs are not labelled again.
    """
    path = work.folder / STORE_NAME
    count = min(others.families, families)
    total = (families + len(overfull_families(families))) * graphs
    total += (count + len(overfull_families(count))) * others.graphs * len(others.arrays)
    fresh = not path.exists()
    with Store(path) as store:
        for row in known if fresh else ():
            job = _question(row.family, row.number, row.arch)
            store.put(job, JobOutcome(job.key, "done", _value(row)))

        done = label_missing(label, jobs(families, graphs, arch, others), total, "graphs", store, work)
    return {"computed": done.computed, "failed": done.failed, **summary(read(path))}


def read(path: Path) -> list[LabelledGraph]:
    """Return the labelled graphs of a store by array, family and number; OptionError when there is no store."""
    if not path.exists():
        raise OptionError(
            "there is no data set; make one with `gridloom train mappability --make-data`", where=str(path)
        )
    with Store(path, readonly=True) as store:
        rows = [row_of(row.asked["parameters"], row.value) for row in store.rows() if _is_label(row.asked, row.status)]
    return sorted(rows, key=lambda row: (row.arch, row.family, row.number))


def _is_label(asked: dict[str, Any], status: str) -> bool:
    return status == "done" and asked["version"] == VERSION and asked["function"] == QUESTION


def row_of(asked: Any, value: Any) -> LabelledGraph:
    """Return the row of a stored answer."""
    flat = value["edges"]
    return LabelledGraph(
        family=asked["family"],
        number=asked["number"],
        shape=style_of(asked["family"]).shape,
        arch=asked["arch"],
        ops=tuple(value["ops"]),
        values=tuple(value["values"]),
        edges=tuple((flat[k], flat[k + 1], flat[k + 2]) for k in range(0, len(flat), 3)),
        counts=(value["counts"][0], value["counts"][1], value["counts"][2], value["counts"][3]),
        **{name: value[name] for name in ("bound", "width", "decided", "conflicts", "moves", "cpu")},
    )


def _value(row: LabelledGraph) -> dict[str, Any]:
    """The stored answer that a row is read from."""
    plain = ("ops", "values", "counts", "bound", "width", "decided", "conflicts", "moves", "cpu")
    return {**{name: getattr(row, name) for name in plain}, "edges": [end for edge in row.edges for end in edge]}


def data_hash(rows: Iterable[LabelledGraph]) -> str:
    """Return the SHA-256 over graphs and labels without the CPU times, which a model card names.

    Rows count in the order given, which :func:`read` fixes.
    """
    digest = hashlib.sha256()
    for row in rows:
        kept = [row.arch, row.family, row.number, row.ops, row.values, row.edges, row.width, row.decided]
        digest.update(canonical_json(kept).encode())
    return digest.hexdigest()


def summary(rows: list[LabelledGraph]) -> dict[str, Any]:
    """Return counts, shares and cost of a data set, in all and for each array."""
    return {
        "version": VERSION,
        "families": len({row.family for row in rows}),
        **_counts(rows),
        "cpu_seconds_a_label": round(sum(row.cpu for row in rows) / max(1, len(rows)), 3),
        "sha256": data_hash(rows),
        "arrays": {spec: _counts([row for row in rows if row.arch == spec]) for spec in sorted({r.arch for r in rows})},
    }


def _counts(rows: list[LabelledGraph]) -> dict[str, Any]:
    """Counts and CPU seconds of some rows."""
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
