"""The graphs and arrays that policies are measured on; none of them is drawn for training.

``strict``: the suite ``se-strict``, at level strict, the lowest II sought. ``zero-shot``: graphs of 60 to 120 nodes at
level paper and a fixed II, on numbers of tiles that no policy was trained on.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import Final, Literal

from gridloom.compiler.source import load_source
from gridloom.learn.labels import array_of
from gridloom.targets.streaming.fuse import fuse
from gridloom.targets.streaming.mappers.problem import SpokesProblem, build_problem
from gridloom.targets.streaming.mappers.screening import screen
from gridloom.yaml_text import parse_yaml

Ground = Literal["strict", "zero-shot"]

#: The most cases of a user's array.
_MOST_OWN: Final = 16
#: Tiles of the zero-shot arrays: none is in ``training_graphs.TRAINED_TILES``.
_TILES: Final = (20, 40, 48)

_ZERO_SHOT: Final = (
    *(f"kernel:random_growing,nodes={n},inputs=8,seed=11,domain=opaque" for n in (60, 80, 100, 120)),
    "kernel:random_layered,layers=8,width=10,seed=11,domain=opaque",
    "kernel:random_series_parallel,nodes=90,seed=11,domain=opaque",
    "kernel:kmeans,k=4,n=5",
    "kernel:sorting_network,n=8,flows=2",
    "kernel:sha1_step,steps=10",
    "kernel:md5_step,steps=10",
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A graph on an array; ``ii`` None: the lowest II is sought."""

    source: str
    arch: str
    ii: int | None = None

    def problem(self) -> SpokesProblem:
        """Return the placement problem, with ops fused as for every streaming engine."""
        return build_problem(fuse(load_source(self.source)), array_of(self.arch))


def cases_on(arch: str) -> list[Case]:
    """Return the cases of the user's array: graphs that no training draws, as far as they fit, at the lowest II."""
    sources = [case.source for case in cases("strict") if "random" not in case.source] + list(_ZERO_SHOT)
    listed = [Case(source=source, arch=arch) for source in dict.fromkeys(sources)]
    return [case for case in listed if screen(case.problem(), None) is None][:_MOST_OWN]


def cases(ground: Ground) -> list[Case]:
    """Return the cases of a ground, in a fixed order."""
    if ground == "zero-shot":
        return [
            Case(source=source, arch=f"streaming-engine:{tiles},spokes=6,level=paper", ii=6)
            for k, source in enumerate(_ZERO_SHOT)
            for tiles in (_TILES[k % 3], _TILES[(k + 1) % 3])
            if not (tiles == 20 and "nodes=120" in source)
        ]
    text = (resources.files("gridloom.targets.streaming") / "suites" / "se-strict.yaml").read_text(encoding="utf-8")
    blocks = parse_yaml(text, "suite se-strict")["groups"]
    return [Case(source=s, arch=arch) for block in blocks for s in block["sources"] for arch in block["archs"]]
