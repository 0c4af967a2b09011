"""A question without any target: the capacity of a pair is its number ``size``, or none where it is above the most."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.learn.labels import Labelled
from gridloom.learn.reach import Doubles, ReachQuestion, Seen


class ToyQuestion(ReachQuestion):
    """A graph of ``size`` ops needs as many units of capacity, and an array has eight."""

    name = "toy"
    version = "1"
    names = ("size", "noise")
    scoped: ClassVar = {"ops": "size"}
    downwards = frozenset({"ops"})
    metric = "width"

    def __init__(self, always: bool = False) -> None:
        self.always = always  # type: ignore[misc]

    def suits(self, arch: Arch) -> bool:
        return True

    def read(self, source: str, arch: Arch) -> Dfg:
        b = DfgBuilder(source)
        value = b.input("x")
        for _ in range(int(source.split(":")[1])):
            value = b.add("add", value, b.const(1))
        b.output(value, "y")
        return b.build()

    def is_drawn(self, source: str) -> bool:
        return source.startswith("toy:")

    def family(self, source: str) -> str:
        return source.split(":")[2]

    def search(self, dfg: Dfg, arch: Arch) -> tuple[int | None, str]:
        size = sum(node.op == "add" for node in dfg.nodes)
        return (size, "found") if size <= 8 else (None, "exhausted")

    def look(self, dfg: Dfg, arch: Arch) -> Seen:
        return Seen(values=np.array([sum(node.op == "add" for node in dfg.nodes), 0.0]))

    def span(self, values: Doubles) -> tuple[int, int]:
        return 1, 8

    def at(self, values: Doubles, capacities: NDArray[np.int64]) -> Doubles:
        size = np.broadcast_to(values, (len(capacities), 2))
        return np.concatenate([size, (capacities - values[0])[:, None]], axis=1)

    def strata(self, item: Labelled) -> Iterable[str]:
        return ["small" if item.values[0] <= 4 else "large"]


def toy_labels(count: int = 240, most: int = 12, seed: int = 0) -> list[Labelled]:
    """Labels of drawn sizes in 24 families."""
    rng = np.random.default_rng(seed)
    labels = []
    for k in range(count):
        size = int(rng.integers(1, most + 1))
        found = size if size <= 8 else None
        values = np.array([size, rng.normal()])
        decided = "found" if found else "exhausted"
        labels.append(Labelled(source=f"toy:{size}:{k % 24}", arch="a", values=values, found=found, decided=decided))
    return labels
