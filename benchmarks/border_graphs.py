"""Graphs that counting and rows leave open on arrays of rows: what holds them back, and what tells them apart.

    python benchmarks/border_graphs.py constants               # do they map once their constants are dropped?
    python benchmarks/border_graphs.py starts --most 361       # what predicts whether long starts map them?

``constants`` takes the labelled graphs of the package for which no mapping was found and nothing is proved, leaves out
the edges from constants and makes three short starts of ``width``. ``starts`` takes graphs of the main array on their
narrowest columns, on one fewer, and on all where none was found, in random order. It makes two short starts and, where
they leave conflicts, up to six long ones; then it prints the AUC with which the network (trained without the family of
the graph) and the conflicts of the short starts rank those that long starts map above the others. Both are counted in
moves and the same on every machine: about half a CPU minute, and five.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gridloom.targets.rows.learned import data, labels, training
from gridloom.targets.rows.learned import samples as samples_module
from gridloom.targets.rows.learned.data import LabelledGraph
from gridloom.targets.rows.learned.features import on_columns
from gridloom.targets.rows.learned.model import MappabilityConfig
from gridloom.targets.rows.learned.random_graphs import draw
from gridloom.targets.rows.mappers.problem import CONST, RowGraph, flatten
from gridloom.targets.rows.mappers.screening import columns_by_rows, low_constants
from gridloom.targets.rows.mappers.search import PUSH_TURNS, TURNS, Heat, Starts, seed_of

_GO = np.zeros(1, dtype=np.uint8)
#: Efforts of the two short starts, and how many long ones follow.
_SHORT = (0.25, 1.0)
_LONG = 6
_FOLDS = 5


def main() -> None:
    """Run the measurement that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("constants", "starts"))
    parser.add_argument("--most", type=int, default=10_000, help="graphs at most")
    asked = parser.parse_args()
    report = constants(asked.most) if asked.what == "constants" else starts(asked.most)
    sys.stdout.write(report + "\n")


def constants(most: int) -> str:
    """Return how many of the graphs without mapping or proof map once their constants are dropped."""
    rows = [row for row in labels.read() if row.decided == "exhausted"][:most]
    mapped = 0
    for row in rows:
        arch = data.array(row.arch)
        search = Starts(_without_constants(flatten(draw(row.family, row.number), arch)), arch)
        efforts = zip((0.5, 1.0, 1.0), TURNS, strict=True)
        mapped += any(_conflicts(search, arch.cols, k + 1, *effort) == 0 for k, effort in enumerate(efforts))
    return f"{len(rows)} graphs without mapping or proof: {mapped} map without their constants"


def _without_constants(graph: RowGraph) -> RowGraph:
    kept = graph.group[graph.source] != CONST
    arrays = {name: getattr(graph, name)[kept] for name in ("edges", "source", "target", "operand")}
    return replace(graph, **arrays)


def _conflicts(search: Starts, columns: int, seed: int, inner: float, heat: Heat) -> int:
    layout = search.start(columns, seed, search.moves(inner), None, _GO, _GO, heat)
    return 0 if layout is None else layout.conflicts


@dataclass(frozen=True)
class Question:
    """A graph on some columns: the conflicts that short starts left, and whether a long one mapped it."""

    row: LabelledGraph
    columns: int
    short: tuple[int, ...]
    mapped: bool


def starts(most: int) -> str:
    """Return how well network and short starts predict which of the questions left open long starts answer yes."""
    rows = labels.read()
    asked = [question for question in _questions(rows, most) if min(question.short) > 0]
    logits = _held_out_logits(rows, asked)
    truths = [question.mapped for question in asked]
    network = auc([logits[question.row.family, question.row.number, question.columns] for question in asked], truths)
    fewest = auc([-float(min(question.short)) for question in asked], truths)
    second = auc([-float(question.short[1]) for question in asked], truths)
    told = f"{len(asked)} left open by short starts, {sum(truths)} mapped by long ones"
    return f"{told}; AUC: network {network:.3f}, fewest conflicts {fewest:.3f}, conflicts of the second {second:.3f}"


def _questions(rows: Sequence[LabelledGraph], most: int) -> Iterator[Question]:
    pairs: list[tuple[LabelledGraph, int]] = []
    for row in rows:
        if data.is_main(row) and row.counts[0] >= 12 and row.decided in ("found", "exhausted"):
            widest = data.array(row.arch).cols
            pairs.append((row, row.width or widest))
            if row.width is not None and row.width > row.bound:
                pairs.append((row, row.width - 1))
    random.Random(5).shuffle(pairs)
    for row, columns in pairs[:most]:
        arch = data.array(row.arch)
        graph = flatten(draw(row.family, row.number), arch)
        least = columns_by_rows(graph, arch)
        if least is None or least > columns or low_constants(graph, arch, columns) is not None:
            continue
        search = Starts(graph, arch)
        short = tuple(_conflicts(search, columns, seed_of(3, k), inner, TURNS[1]) for k, inner in enumerate(_SHORT))
        mapped = min(short) > 0 and any(
            _conflicts(search, columns, seed_of(3, 2 + k), 4.0, PUSH_TURNS[k % 3]) == 0 for k in range(_LONG)
        )
        yield Question(row, columns, short, mapped)


def _held_out_logits(rows: Sequence[LabelledGraph], asked: Sequence[Question]) -> dict[tuple[int, int, int], float]:
    """The network's logits for the questions; the network of a fold is trained on the other folds."""
    unseen = MappabilityConfig().unseen.split()
    samples = samples_module.samples_of([row for row in rows if row.arch not in unseen])
    folds = samples_module.folds_of(samples, _FOLDS, 0)
    columns: dict[tuple[int, int], list[int]] = {}
    for question in asked:
        columns.setdefault((question.row.family, question.row.number), []).append(question.columns)
    logits = {}
    for k, held in enumerate(folds):
        rest = [sample for j, fold in enumerate(folds) if j != k for sample in fold]
        network = training.train_network(rest, samples_module.NetworkSettings(), k, lambda: False)
        for sample in held:
            key = (sample.row.family, sample.row.number)
            for width in columns.get(key, []) if data.is_main(sample.row) else []:
                narrowed = replace(sample.graph, global_features=on_columns(sample.graph, width))
                logits[(*key, width)] = network.predict(narrowed).logit
    return logits


def auc(scores: Sequence[float], truths: Sequence[bool]) -> float:
    """Return the share of pairs of a true and a false case that the scores put in the right order; ties count half."""
    true = np.array([s for s, t in zip(scores, truths, strict=True) if t])
    false = np.array([s for s, t in zip(scores, truths, strict=True) if not t])
    if not len(true) or not len(false):
        return float("nan")
    above = (true[:, None] > false[None, :]).mean() + 0.5 * (true[:, None] == false[None, :]).mean()
    return float(above)


if __name__ == "__main__":
    main()
