"""The networks of a Python file that imports torch, as ``gridloom show`` lists them.

Each function of the file that can be called without arguments is called, and what it returns is exported. A function
that needs arguments, or whose network is not lowered, has a row with the reason.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gridloom.errors import SourceError
from gridloom.targets.dataflow.program.costs import total_flops
from gridloom.targets.dataflow.program.model import TensorProgram
from gridloom.text_file import read_text

#: Kinds of nodes that compute, as a row counts them.
_COUNTED = ("gemm", "elementwise", "softmax", "norm", "reduce")


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRow:
    """One function: the SOURCE that maps it, what its network has, or why there is none."""

    source: str
    place: str
    #: What goes after the name, with its default: ``hidden=128``.
    parameters: tuple[str, ...] = ()
    ops: Mapping[str, int] = field(default_factory=dict)
    flops: int = 0
    weights: int = 0
    limit: str | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the row as plain JSON data."""
        return {
            "source": self.source,
            "place": self.place,
            "parameters": list(self.parameters),
            "ops": dict(self.ops),
            "flops": self.flops,
            "weights": self.weights,
            "limit": self.limit,
        }

    def lines(self) -> list[str]:
        """Return the row as text."""
        parameters = f"; parameters {', '.join(self.parameters)}" if self.parameters else ""
        head = f"{self.source}  ({self.place}{parameters})"
        if self.limit is not None:
            return [head, f"  cannot be mapped: {self.limit}"]
        ops = ", ".join(f"{count} {op}" for op, count in self.ops.items())
        return [head, f"  {ops}", f"  {self.flops:,} operations per sample, {self.weights:,} weights"]


def list_networks(path: Path) -> list[NetworkRow]:
    """Return the functions of a file in its order, with the networks that they build. Costs an export for each.

    Executes the file and its functions. SourceError for a file that is not Python.
    """
    try:
        tree = ast.parse(read_text(path))
    except SyntaxError as error:
        raise SourceError(f"is not Python: {error.msg}", where=f"{path}:{error.lineno}") from None
    functions = [item for item in tree.body if isinstance(item, ast.FunctionDef) and not item.name.startswith("_")]
    return [_row(path, function) for function in functions]


def _row(path: Path, function: ast.FunctionDef) -> NetworkRow:
    """Return the row of one function."""
    from gridloom.targets.dataflow.frontend.torch_module import read_spec

    arguments = [*function.args.posonlyargs, *function.args.args]
    defaults = function.args.defaults
    needed = [argument.arg for argument in arguments[: len(arguments) - len(defaults)]]
    known = zip(arguments[len(needed) :], defaults)
    parameters = tuple(f"{argument.arg}={ast.unparse(default)}" for argument, default in known)
    source, place = f"{path}:{function.name}", f"line {function.lineno}"
    if needed:
        limit = f"it needs {', '.join(needed)}; give numbers: {source},{','.join(f'{name}=1' for name in needed)}"
        return NetworkRow(source=source, place=place, parameters=parameters, limit=limit)
    try:
        dfg = read_spec(source)
    except SourceError as error:
        return NetworkRow(source=source, place=place, parameters=parameters, limit=error.message)
    return _counted(dfg, source, place, parameters)


def _counted(dfg: TensorProgram, source: str, place: str, parameters: tuple[str, ...]) -> NetworkRow:
    """Return the row of a network that is lowered."""
    counts = Counter(node.op for node in dfg.nodes)
    weights = sum(_size(node.shape) for node in dfg.nodes if node.op == "livein")
    return NetworkRow(
        source=source,
        place=place,
        parameters=parameters,
        ops={op: counts[op] for op in _COUNTED if counts[op]},
        flops=total_flops(dfg),
        weights=weights,
    )


def _size(shape: tuple[int, ...]) -> int:
    """Return the elements of a shape."""
    total = 1
    for size in shape:
        total *= size
    return total
