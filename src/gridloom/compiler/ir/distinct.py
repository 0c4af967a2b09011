"""The promise that pointers of different parameters lead to different arrays, put into LLVM IR as ``restrict`` is.

clang then optimises once more, so that it keeps in registers what it had to store, as with ``restrict`` in the source.
"""

from __future__ import annotations

from pathlib import Path

from gridloom.compiler.ir.driver import optimise_ir
from gridloom.compiler.ir.ir import IrModule
from gridloom.compiler.ir.layout import split_types
from gridloom.compiler.ir.tokens import first_name, plain

_LOCAL = ("define internal ", "define private ")


def declare_distinct(text: str, function: str | None, path: Path) -> str:
    """The IR with every pointer parameter of a function, or of all that other files may call, apart from the others.

    ``path`` is the file that messages name. Costs an optimisation by clang, 0.1 to 0.3 s.
    """
    rows = text.split("\n")
    for k, row in enumerate(rows):
        if row.startswith("define ") and _is_meant(row, function):
            rows[k] = _with_promise(row)
    return optimise_ir("\n".join(rows), path)


def mark_distinct(module: IrModule, function: str | None) -> IrModule:
    """The module, whose functions with several pointers say that they were changed by :func:`declare_distinct`."""
    for found in module.functions.values():
        pointers = sum(argument.type == "ptr" for argument in found.arguments)
        found.distinct = pointers > 1 and _is_meant(found.head, function)
    return module


def _is_meant(head: str, function: str | None) -> bool:
    """Whether a function is the one named; without a name, whether other files may call it."""
    name = plain(first_name(head.partition("@")[2]))
    return name == function if function is not None else not head.startswith(_LOCAL)


def _with_promise(head: str) -> str:
    """The first line of a function with ``noalias`` on its pointers; those that pass a struct by value have it."""
    start = head.index("(", head.index("@") + len(first_name(head.partition("@")[2])))
    depth, end = 0, start
    for end in range(start, len(head)):
        depth += (head[end] == "(") - (head[end] == ")")
        if depth == 0:
            break
    parts = [
        f"ptr noalias{part[3:]}" if part.startswith("ptr ") and not {"noalias", "byval"} & _words(part) else part
        for part in split_types(head[start + 1 : end])
    ]
    return f"{head[: start + 1]}{', '.join(parts)}{head[end:]}"


def _words(text: str) -> set[str]:
    return {word.partition("(")[0] for word in text.split()}
