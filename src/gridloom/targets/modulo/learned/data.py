"""The data of the II estimator: pairs of a loop and an array, each with the lowest II that ``modulo`` finds.

A label comes from a fixed sequence of searches that are counted in moves, so that it is the same on every machine: II
by II from the MII upwards until one seed finds a mapping, then another seed one II below with more effort, again and
again while that finds something. It is an upper bound on the least II, and exact where it is the MII. The store has one
row per pair: a killed run continues where it was.

The loops are drawn (:mod:`random_loops`) for arrays that are drawn (:mod:`arrays`), or they are those of the suites
``loops`` and ``c-loops``, or files of other groups below a folder, which are measured on and never trained on.
"""

from __future__ import annotations

import random
import time
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.compiler.source import load_source
from gridloom.dfg.model import Dfg
from gridloom.errors import GridloomError
from gridloom.mapping.mii import mii
from gridloom.mapping.model import Mapping
from gridloom.run import Job, ask, canonical_json
from gridloom.search.budget import Budget
from gridloom.targets.modulo.learned.random_loops import array, array_text, draw
from gridloom.targets.modulo.mappers.config import ModuloConfig
from gridloom.transform.streams import needs_memory, streams_to_memory

#: Version of generator and searches. After a change of it, rows stored before no longer count.
VERSION: Final = "1"
STORE_NAME: Final = "initiation.sqlite"
#: The name under which labels are stored.
QUESTION: Final = "gridloom.targets.modulo.learned.data.label"
#: What the sources of drawn loops begin with.
DRAWN: Final = "loop:"

#: Moves per node of the search at an II on the way up (one batch of starts), and one II below the best (two batches).
_UP: Final = 90
_BELOW: Final = 120
#: Seeds of the searches below.
_SEEDS: Final = (1,)

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


def fit_source(source: str, arch: Arch) -> Dfg:
    """Return the graph of a source as an array takes it: with loads and stores in place of streams where it has to."""
    dfg = loop(source)
    return streams_to_memory(dfg) if needs_memory(dfg, arch) else dfg


def family_of(source: str) -> str:
    """Return what is held out together: the style of a drawn loop, or the kernel, from whatever language it comes.

    >>> family_of("loop:12:3"), family_of("kernel:jacobi,dims=2"), family_of("examples/kernels/jacobi.c")
    ('loop 12', 'jacobi', 'jacobi')
    >>> family_of("e2emap/gemm_unroll.txt"), family_of("cgra_bench/fir_pro.dot")
    ('gemm', 'fir')
    """
    if source.startswith(DRAWN):
        return f"loop {source.split(':')[1]}"
    if source.startswith("kernel:"):
        return source.removeprefix("kernel:").partition(",")[0]
    name = Path(source).stem.partition("_unroll")[0]
    return ALIASES.get(name, name)


def group_of(source: str) -> str:
    """Return where a loop comes from: ``drawn``, ``loops``, ``c-loops`` or ``files``."""
    if source.startswith(DRAWN):
        return "drawn"
    if source.startswith("kernel:"):
        return "loops"
    return "c-loops" if source.endswith(".c") else "files"


def label(asked: dict[str, Any]) -> dict[str, Any]:
    """Map a pair and return the lowest II found (0: none), the MII and the cost. Below a CPU second on average."""
    arch = array(str(asked["arch"]))
    dfg = fit_source(str(asked["source"]), arch)
    began = time.process_time()
    bound = mii(dfg, arch).total
    best = _first(dfg, arch, bound)
    while best > bound and any(_maps(dfg, arch, best - 1, seed, _BELOW) for seed in _SEEDS):
        best -= 1
    return {"ii": best, "bound": bound, "check": check_sum(dfg), "cpu": round(time.process_time() - began, 3)}


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
    mapper = registry.load("mappers", "modulo")
    return isinstance(mapper(dfg, arch, ModuloConfig(ii=ii), budget), Mapping)


def check_sum(dfg: Dfg) -> int:
    """Return a check sum of a graph, by which one that has changed since it was labelled is found."""
    index = dfg.index
    nodes = [[node.op, dfg.op_class(node.id)] for node in dfg.nodes]
    edges = [[index[e.source], index[e.target], e.operand, e.distance, e.kind] for e in dfg.edges]
    return zlib.crc32(canonical_json([nodes, edges]).encode()) & 0xFFFF


def question(source: str, arch: str) -> Job[Any]:
    """Return the job that labels a pair."""
    return ask(QUESTION, {"source": source, "arch": arch}, version=VERSION)


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


def usable(source: str, arch: str) -> bool:
    """Return whether a pair can be labelled: the source is read, and every op has a tile."""
    try:
        return not mii(fit_source(source, array(arch)), array(arch)).missing
    except GridloomError:
        return False
