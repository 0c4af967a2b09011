"""Labelled pairs in one file: source, array, features, and the lowest II found; the package holds such a file.

Drawn loops can be drawn again from their numbers. Loops of C files and of other groups need a compiler or files that
the package does not have; so that figures can be checked without them, the file holds the features of all pairs.
``check_labels`` draws a sample again, computes its features and labels once more and says how many differ.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from gridloom.errors import GridloomError, OptionError
from gridloom.learn import weights
from gridloom.run import Store
from gridloom.targets.modulo.learned import data
from gridloom.targets.modulo.learned.features import NAMES, Floats, of_pair
from gridloom.targets.modulo.learned.random_loops import array

NAME: Final = "initiation-labels"
FILE: Final = f"{NAME}.npz"


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelledLoop:
    """A loop on an array with its label: the lowest II that was found."""

    source: str
    arch: str
    values: Floats
    ii: int
    mii: int

    @property
    def group(self) -> str:
        """Where the loop comes from."""
        return data.group_of(self.source)


def labels_path() -> Path:
    """Return where the labels of the package are."""
    return weights.weights_path(NAME)


def of_store(path: Path) -> list[LabelledLoop]:
    """Return the pairs of a store for which a mapping was found, with their features, computed now.

    Pairs whose source is no longer what was labelled are left out.
    """
    pairs = []
    with Store(path, readonly=True) as store:
        rows = [row for row in store.rows() if row.status == "done" and row.asked["version"] == data.VERSION]
    for row in rows:
        asked: Any = row.asked["parameters"]
        value: Any = row.value
        arch = array(asked["arch"])
        try:
            dfg = data.fit_source(asked["source"], arch)
        except GridloomError:
            continue
        if value["ii"] and data.check_sum(dfg) == value["check"]:
            found = of_pair(dfg, arch)
            pairs.append(LabelledLoop(**asked, values=found.values, ii=value["ii"], mii=found.mii.total))
    return sorted(pairs, key=lambda pair: (pair.source, pair.arch))


def pack(path: Path, pairs: Sequence[LabelledLoop]) -> None:
    """Write pairs to a file. Linear."""
    archs = sorted({pair.arch for pair in pairs})
    number = {text: k for k, text in enumerate(archs)}
    arrays = {
        "values": np.array([pair.values for pair in pairs], dtype=np.float32),
        "arch": np.array([number[pair.arch] for pair in pairs], dtype=np.uint16),
        "ii": np.array([pair.ii for pair in pairs], dtype=np.uint16),
    }
    about = {"model": NAME, "version": data.VERSION, "features": list(NAMES), "archs": archs}
    weights.save(path, arrays, {**about, "sources": [pair.source for pair in pairs]})


def read(path: Path | None = None) -> list[LabelledLoop]:
    """Return the pairs of a file, by default the package's; OptionError for another file or other features."""
    arrays, about = weights.load(path or labels_path())
    if about.get("model") != NAME or about.get("version") != data.VERSION or about.get("features") != list(NAMES):
        raise OptionError(
            "holds no labels of this version; make some with `gridloom train initiation --make-data`", where=str(path)
        )
    return [
        LabelledLoop(source=source, arch=about["archs"][arch], values=values, ii=ii, mii=int(values[0]))
        for source, arch, values, ii in zip(
            about["sources"],
            arrays["arch"].tolist(),
            arrays["values"].astype(np.float64),
            arrays["ii"].tolist(),
            strict=True,
        )
    ]


def check_labels(pairs: Iterable[LabelledLoop], count: int, seed: int) -> dict[str, Any]:
    """Draw and label a random sample of drawn loops again; return how many features and labels differ."""
    drawn = [pair for pair in pairs if pair.group == "drawn"]
    sample = random.Random(seed).sample(drawn, min(count, len(drawn)))
    differ = []
    for pair in sample:
        arch = array(pair.arch)
        again = data.label({"source": pair.source, "arch": pair.arch})
        values = of_pair(data.fit_source(pair.source, arch), arch).values
        same = bool(np.allclose(values, pair.values, rtol=1e-5, atol=1e-5))
        if again["ii"] != pair.ii or not same:
            row = {"source": pair.source, "arch": pair.arch, "label": pair.ii, "now": again["ii"]}
            differ.append({**row, "same_features": same})
    return {"relabelled": len(sample), "disagree": len(differ), "rows": differ}
