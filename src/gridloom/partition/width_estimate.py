"""How many columns a graph needs on an array of rows with ports, without mapping it: what counting says.

The bound is max(ops / rows, loads, stores); constants and op classes are tests. A learned estimator gives the same
record (a model of the registry) and never says less than the bound.

The estimate answers before any search whether a graph is worth mapping, and how wide a part of the array it will take.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a graph asks of an array: nodes of each kind that need a place."""

    ops: int
    constants: int
    loads: int
    stores: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WidthEstimate:
    """Columns that a graph is expected to need; ``width`` None: it is not expected to be mappable."""

    width: int | None
    #: What counting alone asks for.
    bound: int
    #: Why it is not mappable, or what the width comes from.
    reason: str
    #: The estimator's probability that it is mappable; None: it has none.
    probability: float | None = None

    @property
    def mappable(self) -> bool:
        """True when a mapping is expected to exist."""
        return self.width is not None


class WidthEstimator(Protocol):
    """Something that estimates widths."""

    name: str

    def estimate(self, dfg: Dfg, arch: Arch) -> WidthEstimate:
        """The columns that the graph needs on the array."""
        ...

    def probability(self, dfg: Dfg, arch: Arch, columns: int) -> float | None:
        """The probability that the graph fits the first columns of the array; None: it has no opinion."""
        ...


def check_columns(arch: Arch) -> None:
    """OptionError unless widths mean something on the array: static columns, each with ports."""
    if not arch.has("rows"):
        what = f"is {arch.style}" if arch.style != "static" else "has no load and store ports in its columns"
        raise OptionError(
            f"array {arch.name!r} {what}, so that parts have no width on it and copies cannot be put side by side; "
            "expected the family vpcma or a GenMap description of that kind"
        )


def demand(dfg: Dfg, arch: Arch) -> Demand:
    """What the graph asks of the array. Linear in its nodes.

    Nodes of op classes that the array has for free are not counted.
    """
    counts = {"ops": 0, "constants": 0, "loads": 0, "stores": 0}
    for k, node in enumerate(dfg.nodes):
        op = dfg.ops[k]
        if dfg.op_class(node.id) in arch.free:
            continue
        kind = {"input": "loads", "output": "stores"}.get(op.op_class, "ops")
        counts["constants" if op.timeless else kind] += 1
    return Demand(**counts)


def bound_estimate(dfg: Dfg, arch: Arch) -> WidthEstimate:
    """What counting says: the bound as the width, or that there is no room."""
    need = demand(dfg, arch)
    bound = max(1, -(-need.ops // arch.rows), need.loads, need.stores)
    registers = sum(tile.kind == "const" for tile in arch.tiles)
    reason = _refusal(dfg, arch, need, bound, registers)
    if reason:
        return WidthEstimate(width=None, bound=bound, reason=reason)
    return WidthEstimate(width=bound, bound=bound, reason="max(ops / rows, loads, stores)")


def _refusal(dfg: Dfg, arch: Arch, need: Demand, bound: int, registers: int) -> str:
    """Why counting excludes a mapping; empty where it does not."""
    classes = frozenset.union(*(tile.classes for tile in arch.tiles)) | arch.free
    missing = sorted({name for node in dfg.nodes for name in dfg.required_classes(node.id)} - classes)
    if missing:
        return f"no tile for {' and '.join(missing)}"
    if arch.has("partial"):
        ops = {(node.op, dfg.required_classes(node.id)) for node in dfg.nodes if dfg.op_class(node.id) not in arch.free}
        lacking = sorted(op for op, needed in ops if not any(tile.runs(op, needed) for tile in arch.tiles))
        if lacking:
            return f"no tile that runs {' and '.join(lacking)}"
    # These arrays have no registers that survive an iteration, so that loop-carried values cannot be mapped at all.
    if any(edge.kind != "data" or edge.distance for edge in dfg.edges):
        return "values that are kept between iterations"
    if need.constants > registers:
        return f"{need.constants} constants, {registers} registers"
    if bound > arch.cols:
        return f"{need.ops} ops, {need.loads} loads, {need.stores} stores on {arch.cols} columns of {arch.rows}"
    return ""


class BoundEstimator:
    """``bound``: counting alone."""

    name = "bound"

    def estimate(self, dfg: Dfg, arch: Arch) -> WidthEstimate:
        """The bound as the width; not mappable where counting refuses."""
        return bound_estimate(dfg, arch)

    def probability(self, dfg: Dfg, arch: Arch, columns: int) -> float | None:
        """0 where counting excludes it; counting alone has no opinion otherwise."""
        estimate = bound_estimate(dfg, arch)
        return 0.0 if estimate.width is None or estimate.bound > columns else None
