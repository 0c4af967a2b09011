"""The loops of a C file and the kernels of a Python file, as ``gridloom show`` lists them.

The list answers which loops of a file can be mapped, how large they are, and how far recurrences limit their II
whatever the array. A loop that the front end does not take has a row with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gridloom.compiler.ir.c_source import PLAIN, SourceOptions
from gridloom.compiler.python.kernel import PythonKernel, sources_of
from gridloom.dfg.model import Dfg
from gridloom.dfg.recurrence import recurrence_mii
from gridloom.errors import GridloomError, SourceError


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRow:
    """One loop: what names it, what its graph has, or why there is none."""

    #: The SOURCE that maps it.
    source: str
    #: ``line 8, innermost``: where it stands.
    place: str
    ops: Mapping[str, int] = field(default_factory=dict)
    rec_mii: int | None = None
    #: Iterations, where the source says them.
    trip: str = ""
    limit: str | None = None
    advice: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the row as plain JSON data."""
        return {
            "source": self.source,
            "place": self.place,
            "ops": dict(self.ops),
            "rec_mii": self.rec_mii,
            "trip": self.trip or None,
            "limit": self.limit,
            "advice": list(self.advice),
        }

    def lines(self) -> list[str]:
        """Return the row as text."""
        head = f"{self.source}  ({self.place})"
        if self.limit is not None:
            return [head, f"  cannot be mapped: {self.limit}"]
        ops = ", ".join(f"{count} {op}" for op, count in sorted(self.ops.items(), key=lambda row: (-row[1], row[0])))
        iterations = f", {self.trip} iterations" if self.trip else ""
        total = sum(self.ops.values())
        return [
            head,
            f"  {total} op{'' if total == 1 else 's'}: {ops}",
            f"  RecMII {self.rec_mii}{iterations}",
            *(f"  {line}" for line in self.advice),
        ]


def list_loops(path: Path, options: SourceOptions = PLAIN) -> list[LoopRow]:
    """Return the loops of a ``.c`` file, or the kernels of a ``.py`` file, in the order of the source.

    Costs one run of clang; a Python file is executed.
    """
    return _python_kernels(path) if path.suffix == ".py" else _c_loops(path, options)


def _c_loops(path: Path, options: SourceOptions) -> list[LoopRow]:
    """Return one row for each loop of a C file. Runs clang once."""
    from gridloom.compiler.c import describe

    rows = []
    for loop in describe(path, options):
        level = "innermost" if loop.innermost else "a loop around others"
        whole, gone = loop.number is None, loop.number == -1
        if gone:
            level = "not in the compiled code"
        rows.append(
            LoopRow(
                source=f"{path}:{loop.function}" + (f",loop={loop.number}" if not (gone or whole) else ""),
                place="function" if whole else f"line {loop.line}, {level}",
                ops=loop.ops,
                rec_mii=loop.rec_mii,
                trip=loop.trip,
                limit=loop.limit,
                advice=loop.advice,
            )
        )
    return rows


def _python_kernels(path: Path) -> list[LoopRow]:
    """Return one row for each kernel, and each object with ``build``, of a Python file, which is executed."""
    rows = []
    for name, kernel in sources_of(path).items():
        place = f"line {kernel.line}" if isinstance(kernel, PythonKernel) else "object with build()"
        row = LoopRow(source=f"{path}:{name}", place=place)
        if isinstance(kernel, GridloomError):
            rows.append(LoopRow(source=row.source, place=row.place, limit=str(kernel)))
            continue
        try:
            dfg = kernel if isinstance(kernel, Dfg) else kernel.graph()
        except SourceError as error:
            rows.append(LoopRow(source=row.source, place=row.place, limit=str(error)))
            continue
        ops: dict[str, int] = {}
        for node, op in zip(dfg.nodes, dfg.ops):
            if not op.timeless:
                ops[node.op] = ops.get(node.op, 0) + 1
        rows.append(LoopRow(source=row.source, place=row.place, ops=ops, rec_mii=recurrence_mii(dfg)))
    return rows
