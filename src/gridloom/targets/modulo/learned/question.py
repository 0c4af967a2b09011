"""The question of initiation: which II does a loop reach on a modulo-scheduled array?

A label comes from a fixed sequence of searches of ``modulo`` that are counted in moves, so that it is the same on every
machine: II by II from the MII upwards until one seed finds a mapping, then another seed one II below with more effort,
again and again while that finds something. It is an upper bound on the least II, and exact where it is the MII.

The loops are drawn (:mod:`random_loops`), or they are kernels of the suite ``loops``, or files; files of other groups
are measured on and never trained on.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.compiler.source import load_source
from gridloom.dfg.model import Dfg
from gridloom.errors import GridloomError
from gridloom.learn.labels import Labelled, array_of
from gridloom.learn.reach import Doubles, ReachQuestion, Seen
from gridloom.mapping.mii import mii
from gridloom.mapping.model import Mapping
from gridloom.search.budget import Budget
from gridloom.targets.modulo.ii_estimate import bound_ii
from gridloom.targets.modulo.learned.features import NAMES, at, of_pair
from gridloom.targets.modulo.learned.random_loops import array_text, draw
from gridloom.targets.modulo.mappers.config import ModuloConfig
from gridloom.transform.streams import needs_memory, streams_to_memory

#: What the sources of drawn loops begin with; family and number follow.
DRAWN: Final = "loop:"
#: How many IIs from the MII on are asked about; what needs more is told as the last.
ASKED: Final = 16

#: Moves per node of the search at an II on the way up (one batch of starts), and one II below the best (two batches).
_UP: Final = 90
_BELOW: Final = 120
#: Of the pairs, one in so many is of a kernel or a file, as long as there are any.
_EVERY: Final = 8

#: Kernels of the suite ``loops``, and the presets of it that are labelled.
KERNELS: Final = (
    "dot_product", "stream_pair", "fir", "iir", "moving_average", "ifft", "ifft_two_loop", "sobel", "jacobi",
    "jacobi,dims=2", "bitcount", "string_search", "isqrt", "adpcm", "gsm_ltp", "gemm", "syrk", "atax", "bicg", "mvt",
)  # fmt: skip
PRESETS: Final = ("ramp-1", "ramp-3", "ramp-4", "ramp-6", "ramp-7", "ramp-8")
#: Loops of other groups that are a kernel of ours by another name, by the name of their file.
ALIASES: Final = {
    "bit_count1_nodes": "bitcount", "gsm1_nodes": "gsm_ltp", "isqrt321_nodes": "isqrt", "fir_pro": "fir",
    "fft_pro": "ifft", "bf_pro": "blowfish_round",
}  # fmt: skip
#: Arrays for loops that were read from files.
FILE_ARRAYS: Final = ("torus:4x4", "torus:3x3,regs=2", "torus:4x4,regs=1,bus=none")


@lru_cache(maxsize=4096)
def loop(source: str) -> Dfg:
    """Return the graph of a source before it is fitted to an array; drawn loops are ``loop:FAMILY:NUMBER``."""
    if source.startswith(DRAWN):
        family, number = source.removeprefix(DRAWN).split(":")
        return draw(int(family), int(number))
    return load_source(source, memory="arrays")


def group_of(source: str) -> str:
    """Return where a loop comes from: ``drawn``, ``loops``, ``c-loops`` or ``files``."""
    if source.startswith(DRAWN):
        return "drawn"
    if source.startswith("kernel:"):
        return "loops"
    return "c-loops" if source.endswith(".c") else "files"


class IiQuestion(ReachQuestion):
    """Which II a loop reaches."""

    name = "initiation"
    version = "1"
    names = NAMES
    always = True
    metric = "ii"
    scoped: ClassVar = {"nodes": "nodes", "tiles": "tiles"}
    downwards = frozenset(scoped)

    def read(self, source: str, arch: Arch) -> Dfg:
        """Return the graph of a source with loads and stores in place of streams where the array needs them."""
        dfg = loop(source)
        return streams_to_memory(dfg) if needs_memory(dfg, arch) else dfg

    def is_drawn(self, source: str) -> bool:
        """Return whether a loop is drawn from two numbers."""
        return source.startswith(DRAWN)

    def family(self, source: str) -> str:
        """Return what is held out together: the style of a drawn loop, or the kernel, from whatever language it comes.

        >>> [QUESTION.family(s) for s in ("loop:12:3", "kernel:jacobi,dims=2", "examples/kernels/jacobi.c")]
        ['loop 12', 'jacobi', 'jacobi']
        >>> QUESTION.family("e2emap/gemm_unroll.txt"), QUESTION.family("cgra_bench/fir_pro.dot")
        ('gemm', 'fir')
        """
        if source.startswith(DRAWN):
            return f"loop {source.split(':')[1]}"
        if source.startswith("kernel:"):
            return source.removeprefix("kernel:").partition(",")[0]
        name = Path(source).stem.partition("_unroll")[0]
        return ALIASES.get(name, name)

    def suits(self, arch: Arch) -> bool:
        """Return whether loops share an array in time, by registers or crossbars."""
        return arch.style == "modulo" and (arch.has("registers") or arch.has("crossbars"))

    def search(self, dfg: Dfg, arch: Arch) -> tuple[int | None, str]:
        """Return the lowest II that is found. Below a CPU second on average."""
        bound = mii(dfg, arch).total
        best = _first(dfg, arch, bound)
        while best > bound and _maps(dfg, arch, best - 1, 1, _BELOW):
            best -= 1
        return best or None, "found" if best else "exhausted"

    def look(self, dfg: Dfg, arch: Arch) -> Seen:
        """Return the numbers of a pair, and whether counting excludes every II."""
        counted = bound_ii(dfg, arch)
        if counted.ii is None:
            return Seen(values=np.zeros(len(NAMES)), refused=counted.reason, decided="bound")
        return Seen(values=of_pair(dfg, arch).values)

    def span(self, values: Doubles) -> tuple[int, int]:
        """Return the MII, and the last II that is asked about."""
        return int(values[0]), int(values[0]) + ASKED - 1

    def at(self, values: Doubles, capacities: NDArray[np.int64]) -> Doubles:
        """Return the features at each II."""
        return at(values, capacities)

    def trains_on(self, item: Labelled) -> bool:
        """Return False for loops of other groups in the package's data; the user's own are trained on."""
        return item.own or group_of(item.source) != "files"

    def strata(self, item: Labelled) -> Iterable[str]:
        """Return where the loop comes from, and whether its label is above the MII."""
        yield group_of(item.source)
        if item.found != int(item.values[0]):
            yield "above the MII"


QUESTION: Final = IiQuestion()


def _first(dfg: Dfg, arch: Arch, bound: int) -> int:
    """The first II from the bound upwards at which the first seed finds a mapping; 0: none up to a serial schedule.

    Steps grow with the distance from the bound; what they skip is tried afterwards.
    """
    ii, last = bound, bound + 2 * len(dfg.nodes)
    while ii <= last:
        if _maps(dfg, arch, ii, 0, _UP):
            return ii
        ii += 1 + (ii - bound) // 4
    return 0


def _maps(dfg: Dfg, arch: Arch, ii: int, seed: int, moves: int) -> bool:
    """Whether a search of so many moves per node finds a mapping at an II."""
    budget = Budget(effort=moves * len(dfg.nodes), seed=seed)
    return isinstance(registry.load("mappers", "modulo")(dfg, arch, ModuloConfig(ii=ii), budget), Mapping)


def pairs(families: int, graphs: int, files: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a data set in the order in which they are labelled: drawn ones with others among them.

    A run that is stopped has some of each kind. Every drawn loop has an array of its own.
    """
    drawn = [(f"{DRAWN}{f}:{k}", array_text(f * 1000 + k)) for k in range(graphs) for f in range(families)]
    others = [(f"kernel:{name}", preset) for name in KERNELS for preset in PRESETS]
    others += [(source, text) for source in files for text in FILE_ARRAYS]
    random.Random("pairs").shuffle(others)
    for k, pair in enumerate(drawn):
        yield pair
        if k % _EVERY == 0 and others:
            yield others.pop()
    yield from others


def usable(source: str, text: str) -> bool:
    """Return whether a pair can be labelled: the source is read, and every op has a tile."""
    try:
        return not mii(QUESTION.read(source, array_of(text)), array_of(text)).missing
    except GridloomError:
        return False
