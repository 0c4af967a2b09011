"""Labels without their graphs, a file of a few bytes for each: graphs are drawn again from their numbers.

The package holds such a file, so that the shipped weights can be measured and networks trained without labelling. What
counting and rows decide is not stored either, since it is computed in no time. A check sum of each graph finds out
where the generator, or a kernel that parts are taken from, has changed since.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from gridloom.errors import OptionError
from gridloom.learn import weights
from gridloom.run import canonical_json
from gridloom.targets.rows.learned import data
from gridloom.targets.rows.learned.data import LabelledGraph, array, encode
from gridloom.targets.rows.learned.random_graphs import draw
from gridloom.targets.rows.mappers.problem import flatten
from gridloom.targets.rows.mappers.screening import columns_by_rows, low_constants, screen_by_counts, width_bound

NAME: Final = "mappability-labels"
FILE: Final = f"{NAME}.npz"


def labels_path() -> Path:
    """Return where the labels of the package are."""
    return weights.weights_path(NAME)


def pack(path: Path, rows: Sequence[LabelledGraph]) -> None:
    """Write the labels of rows to a file. Linear."""
    archs = sorted({row.arch for row in rows})
    arrays = {
        "family": np.array([row.family for row in rows], dtype=np.int32),
        "number": np.array([row.number for row in rows], dtype=np.int32),
        "arch": np.array([archs.index(row.arch) for row in rows], dtype=np.uint8),
        "width": np.array([row.width or 0 for row in rows], dtype=np.uint8),
        "conflicts": np.array([min(255, row.conflicts) for row in rows], dtype=np.uint8),
        "sum": np.array([_check_sum(row.ops, row.values, row.edges) for row in rows], dtype=np.uint16),
    }
    weights.save(path, arrays, {"model": NAME, "version": data.VERSION, "archs": archs})


def _check_sum(*numbers: Any) -> int:
    return zlib.crc32(canonical_json(numbers).encode()) & 0xFFFF


def read(path: Path | None = None, *, only: Collection[str] | None = None) -> list[LabelledGraph]:
    """Return the rows of a file of labels, by default the package's; with ``only``, those of these arrays.

    About 4 ms per graph.

    OptionError for another file, for labels of another version, and where a graph is no longer what was labelled.
    """
    arrays, about = weights.load(path or labels_path())
    if about.get("model") != NAME or about.get("version") != data.VERSION:
        raise OptionError(
            "holds no labels of this version; make some with `gridloom train mappability --make-data`", where=str(path)
        )
    archs: list[str] = about["archs"]
    columns = ("family", "number", "arch", "width", "conflicts", "sum")
    rows = [
        _row(family, number, archs[arch], width, conflicts, check)
        for family, number, arch, width, conflicts, check in zip(
            *(arrays[name].tolist() for name in columns), strict=True
        )
        if only is None or archs[arch] in only
    ]
    return sorted(rows, key=lambda row: (row.arch, row.family, row.number))


def _row(family: int, number: int, spec: str, width: int, conflicts: int, check: int) -> LabelledGraph:
    """The row of a label: the graph is drawn again, and what decides it is found again."""
    dfg = draw(family, number)
    ops, values, edges = encode(dfg)
    if _check_sum(ops, values, edges) != check:
        raise OptionError(
            f"graph {number} of family {family} is no longer the one that was labelled: the generator or a kernel has "
            "changed; label again with `gridloom train mappability --make-data`"
        )
    arch = array(spec)
    graph = flatten(dfg, arch)
    least = columns_by_rows(graph, arch)
    decided = "found" if width else "exhausted"
    if screen_by_counts(graph, arch, arch.cols) is not None:
        decided = "bound"
    elif least is None or least > arch.cols or low_constants(graph, arch, arch.cols) is not None:
        decided = "proof"
    found = {"bound": width_bound(graph, arch), "width": width or None, "decided": decided, "conflicts": conflicts}
    asked = {"family": family, "number": number, "arch": spec}
    return data.row_of(asked, {**data.graph_numbers(dfg, graph), **found, "moves": 0, "cpu": 0.0})


def check_labels(rows: Iterable[LabelledGraph], count: int, seed: int) -> dict[str, Any]:
    """Label a random sample of rows again and return how many labels differ. About a CPU second per row."""
    searched = [row for row in rows if row.decided in ("found", "exhausted")]
    sample = random.Random(seed).sample(searched, min(count, len(searched)))
    differ = []
    for row in sample:
        again = data.label({"family": row.family, "number": row.number, "arch": row.arch})
        if again["width"] != row.width:
            differ.append({"family": row.family, "number": row.number, "label": row.width, "now": again["width"]})
    return {"relabelled": len(sample), "disagree": len(differ), "rows": differ}
