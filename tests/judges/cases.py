"""Small problems of every style of array, mapped in milliseconds, and what the two judges say to a mapping."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from tests.random_cases import loop_graph

from gridloom import registry
from gridloom.archs import Arch, build
from gridloom.dfg import Dfg, DfgBuilder
from gridloom.flow.inputs import prepare
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.search.choice import config_type, function_for
from gridloom.sim import simulate
from gridloom.verify import legal


@dataclass(frozen=True)
class Case:
    """A graph, an array, and the mapper that maps the one onto the other."""

    dfg: Dfg
    arch: Arch
    mapper: Callable[..., Mapping | Failure]

    def map(self) -> Mapping | Failure:
        """Run the mapper with a fixed seed and effort, on objects for which nobody has derived anything yet."""
        budget = Budget(effort=3000, seed=7, time_limit=5)
        return self.mapper(replace(self.dfg, _checked=True), replace(self.arch), config_type(self.mapper)(), budget)


@dataclass(frozen=True)
class Judgement:
    """What the judges say: rules that are broken, and what is wrong with the values (None: nothing)."""

    violations: tuple[str, ...]
    wrong: str | None

    def __bool__(self) -> bool:
        return not self.violations and self.wrong is None


def judge(mapping: Mapping) -> Judgement:
    """Ask both judges."""
    violations = tuple(map(str, legal(renewed(mapping))))
    verdict = simulate(renewed(mapping), iterations=16)
    return Judgement(violations, None if verdict.ok else verdict.explain())


def renewed(mapping: Mapping) -> Mapping:
    """The same mapping in objects for which nobody has derived anything yet."""
    return replace(mapping, dfg=replace(mapping.dfg, _checked=True), arch=replace(mapping.arch))


@cache
def cases() -> dict[str, Case]:
    """The problems by name; built once, before any fault is planted."""
    return {f"{source or 'loop'} on {name}": _case(source, array, mapper) for name, source, array, mapper in _PROBLEMS}


_UNEVEN = {
    "style": "modulo", "rows": 2, "cols": 3, "tiles": [
        {"registers": 4, "constants": 3, "latency": {"mul": 2}},
        {"where": {"col": 0}, "latency": {"alu": 2}, "occupancy": {"mul": 2}, "contexts": 8},
    ],
}  # fmt: skip
_STORES = {"style": "modulo", "rows": 2, "cols": 3, "tiles": {"registers": 4, "constants": 2}}
_FIFOS = {"style": "static", "rows": 3, "cols": 3, "tiles": {"fifo": [2, 3, 0], "latency": {"mul": 2}}}
_PARTIAL = {
    "style": "static", "rows": 4, "cols": 4,
    "tiles": [{"fifo": 8}, {"where": "checkerboard", "ops": {"remove": ["mul", "sub"]}}],
}  # fmt: skip

#: (name of the array, source, description of the array, mapper)
_PROBLEMS: list[tuple[str, str, Any, str]] = [
    ("mesh", "kernel:tree_reduce,nodes=7", "mesh:4x4", "trees"),
    ("mesh with skewed inputs", "kernel:fir", "mesh:6x6,inputs=skewed", "anneal"),
    ("chess", "kernel:moving_average", "chess:6x6", "anneal"),
    ("uneven FIFOs", "chain", _FIFOS, "anneal"),
    ("partial tiles", "kernel:distance", _PARTIAL, "anneal"),
    ("torus", "kernel:vector_add", "torus:3x3,regs=4", "modulo"),
    ("small torus", "kernel:axpy", "torus:2x2,regs=3", "modulo"),
    ("ramp-7", "kernel:dot_product", "ramp-7", "ramp"),
    ("rotating registers", "", "torus:2x3,regs=4", "regimap"),
    ("uneven tiles", "steps", _UNEVEN, "modulo"),
    ("small stores", "steps", _STORES, "modulo"),
    ("hycube", "kernel:vector_add", "hycube:3x3", "modulo"),
    ("instructions", "kernel:vector_add", "openedge-cgra", "modulo"),
    ("rows", "kernel:vector_add", "vpcma:3x4", "width"),
    ("spokes", "kernel:fir", "streaming-engine:16", "anneal"),
    ("SIMD spokes", "kernel:distance", "streaming-engine:8,simd=64", "anneal"),
    ("switches", "gemm", "rdu:4x4", "dataflow"),
]


def _case(source: str, array: Any, mapper: str) -> Case:
    arch = build(array)
    return Case(_graph(source, arch), arch, function_for(mapper, arch))


def _graph(source: str, arch: Arch) -> Dfg:
    if source == "":
        return loop_graph(random.Random(1))
    if source == "steps":
        return steps(4)
    if source == "chain":
        return chain()
    if source == "gemm":
        from gridloom.targets.dataflow.lowering.lower import lower

        return lower(registry.load("networks", source).build(inner=64, columns=64), arch).sections[0].dfg
    return prepare(source, arch).dfg


def steps(count: int) -> Dfg:
    """So many counters, each with a step of its own, added to a running sum."""
    b = DfgBuilder("steps")
    total = ""
    for k in range(count):
        counter = b.add("mul" if k == 1 else "add", b.const(3 + k), id=f"count{k}")
        b.carry(counter, counter, operand=1, distance=1, initial=[k])
        total = b.add("add", total, counter) if total else counter
    b.add("add", total, id="sum")
    b.carry("sum", "sum", operand=1, distance=2, initial=[5, 6])
    return b.build()


def chain() -> Dfg:
    """A value that waits for a longer way beside it."""
    b = DfgBuilder("chain")
    x = b.input("x")
    b.add("sub", b.add("mul", b.add("neg", x), b.const(3)), x, id="y")
    b.output("y", "o")
    return b.build()
