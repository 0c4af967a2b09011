"""What the partitioning flow gives back: parts with their mappings, the tree of what was looked at, and the record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.flow.partition.search import Branch, Spent
from gridloom.flow.result import failure_record
from gridloom.mapping.configuration import Configuration
from gridloom.mapping.model import Failure, Mapping
from gridloom.partition import Part
from gridloom.partition.width_estimate import demand

if TYPE_CHECKING:
    from gridloom.flow.partition.flow import PartitionRequest


#: The iterations that the execution time is for where the request names none.
USUAL_ITERATIONS: Final = 1024


@dataclass(frozen=True, kw_only=True)
class MappedPart:
    """A part as it runs: its copies side by side."""

    part: Part
    #: The mapping of the unrolled part.
    mapping: Mapping
    #: What it runs by; None: it is not legal.
    configuration: Configuration | None
    #: Columns of one copy, and the copies.
    width: int
    unroll: int
    #: Cycles from loads to stores.
    latency: int
    occupancy: float
    #: True when the checker and the simulator passed it.
    confirmed: bool


@dataclass(frozen=True, kw_only=True)
class PartitionResult:
    """The outcome of one flow; ``failure`` None: every part is confirmed, and so is the whole.

    ``root`` is the tree of all that was looked at and ``leaves`` the parts in the order they run; ``parts`` are their
    mappings in the same order, or empty where there is no partition.
    """

    dfg: Dfg
    arch: Arch
    estimator: str
    #: How graphs were cut: ``kl`` or ``multilevel``.
    method: str
    request: PartitionRequest
    root: Branch
    leaves: tuple[Branch, ...]
    parts: tuple[MappedPart, ...]
    failure: Failure | None
    #: Graphs that were looked at, and those that were mapped.
    explored: int
    attempts: int
    spent: Spent
    confirm_seconds: float
    seconds: float
    cpu_seconds: float

    @property
    def found(self) -> list[tuple[Dfg, int | None]]:
        """The graphs that the mapper was asked about, with the columns that each took (None: it found no mapping)."""
        tree, asked = [self.root], []
        while tree:
            branch = tree.pop()
            tree += branch.children or ()
            if branch.verdict != "estimated":
                asked.append((branch.part.dfg, branch.width if branch.verdict == "mapped" else None))
        return asked

    @property
    def status(self) -> Literal["mapped", "failed"]:
        """``mapped`` only when all parts and the whole were confirmed."""
        return "failed" if self.failure else "mapped"

    @property
    def throughput_model(self) -> float | None:
        """Iterations per cycle by the expected widths; None when a part was not expected to map."""
        copies = [self.arch.cols // leaf.expected.width for leaf in self.leaves if leaf.expected.width]
        return None if len(copies) < len(self.leaves) or 0 in copies else 1 / sum(1 / n for n in copies)

    @property
    def throughput_real(self) -> float | None:
        """Iterations per cycle of the copies that are placed and confirmed."""
        return 1 / sum(1 / part.unroll for part in self.parts) if self.parts and not self.failure else None

    @property
    def execution_cycles(self) -> int | None:
        """Cycles of the loop: for each part its rounds, its latency and the loading of its configuration."""
        if not self.parts or self.failure:
            return None
        count = self.loop_iterations
        return sum(-(-count // part.unroll) + part.latency + self.reconfiguration for part in self.parts)

    @property
    def reconfiguration(self) -> int:
        """Cycles to load a configuration."""
        return self.request.reconfiguration_on(self.arch)

    @property
    def loop_iterations(self) -> int:
        """The iterations that the execution time is for."""
        return self.request.loop_iterations or USUAL_ITERATIONS

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain JSON data."""
        need = demand(self.dfg, self.arch)
        return {
            "status": self.status,
            "dfg": {"name": self.dfg.name, "ops": need.ops, "constants": need.constants, "loads": need.loads,
                    "stores": need.stores},
            "arch": {"name": self.arch.name, "rows": self.arch.rows, "cols": self.arch.cols},
            "estimator": self.estimator,
            "method": self.method,
            "backend": self.request.backend,
            "seed": self.request.seed,
            "failure": None if self.failure is None else failure_record(self.failure),
            "k": len(self.leaves),
            "throughput_model": _rounded(self.throughput_model),
            "throughput_real": _rounded(self.throughput_real),
            "execution": {
                "iterations": self.loop_iterations,
                "minimised": self.request.loop_iterations is not None,
                "reconfiguration": self.reconfiguration,
                "cycles": self.execution_cycles,
            },
            "explored": self.explored,
            "attempts": self.attempts,
            "attempts_saved": self.explored - self.attempts,
            "seconds": round(self.seconds, 3),
            "cpu_seconds": {
                "cut": round(self.spent.cut, 3),
                "estimate": round(self.spent.estimate, 3),
                "map": round(self.spent.map, 3),
                "map_in_vain": round(self.spent.in_vain, 3),
                "confirm": round(self.confirm_seconds, 3),
                "total": round(self.cpu_seconds, 3),
            },
            "whole_simulated": self.failure is None and bool(self.parts),
            "parts": [self._part(leaf, k) for k, leaf in enumerate(self.leaves)],
            "tree": tree_record(self.root, self.arch),
        }  # fmt: skip

    def _part(self, leaf: Branch, k: int) -> dict[str, Any]:
        """Return a part as plain JSON data."""
        placed = self.parts[k] if self.parts else None
        return {
            **_counts(leaf, self.arch),
            "predicted_width": leaf.expected.width,
            "width": leaf.width,
            "unroll": leaf.unroll(self.arch.cols),
            "latency": None if placed is None else placed.latency,
            "occupancy": None if placed is None else round(placed.occupancy, 4),
            "confirmed": placed is not None and placed.confirmed,
        }


def _counts(leaf: Branch, arch: Arch) -> dict[str, int]:
    """Return what a branch asks of the array: ops, constants, loads and stores."""
    need = demand(leaf.part.dfg, arch)
    return {"ops": need.ops, "constants": need.constants, "loads": need.loads, "stores": need.stores}


def _rounded(value: float | None) -> float | None:
    """Return a figure to four digits after the point, as the record has it."""
    return None if value is None else round(value, 4)


def tree_record(branch: Branch, arch: Arch) -> dict[str, Any]:
    """Return the tree of what was looked at as plain data: the published figure, with widths."""
    return {
        **_counts(branch, arch),
        "predicted_width": branch.expected.width,
        "width": branch.width,
        "verdict": branch.verdict,
        "chosen": branch.chosen,
        "children": [] if branch.children is None else [tree_record(child, arch) for child in branch.children],
    }


def tree_lines(record: dict[str, Any], indent: str = "", last: bool = True, root: bool = True) -> list[str]:
    """Return the tree as text: ops, widths, and a mark at the parts that were chosen."""
    said = "not mappable" if record["width"] is None else f"width {record['width']}"
    if record["predicted_width"] != record["width"]:
        said += f" (expected {record['predicted_width'] or 'not mappable'})"
    ports = f"{record['constants']} constants, {record['loads']} loads, {record['stores']} stores"
    mark = " *" if record["chosen"] else ""
    branch = "" if root else ("`- " if last else "|- ")
    lines = [f"{indent}{branch}{record['ops']} ops, {ports}: {said}{mark}"]
    below = indent if root else indent + ("   " if last else "|  ")
    for k, child in enumerate(record["children"]):
        lines += tree_lines(child, below, k == len(record["children"]) - 1, root=False)
    return lines
