"""Python that is read and not executed: the kernels of a text, and the comments above the fields of a record.

Python 3.11 mistakes two threads that parse at the same time for a recursion error, so that one lock guards both.
"""

from __future__ import annotations

import ast
import inspect
import threading
from typing import Any, Final

from gridloom.errors import SourceError

_PARSING: Final = threading.Lock()
_COMMENTS: Final[dict[type[Any], dict[str, str]]] = {}


def kernels(text: str, name: str) -> list[dict[str, Any]]:
    """The decorated functions of a Python text, found without executing it; SourceError where it is not Python."""
    try:
        with _PARSING:
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        raise SourceError(f"is not Python: {getattr(error, 'msg', error)}", where=f"{name}:{line or 1}") from None
    rows: list[dict[str, Any]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(_is_kernel(item) for item in node.decorator_list):
            rows.append({
                "source": f"{name}:{node.name}", "place": f"line {node.lineno}", "ops": {}, "rec_mii": None,
                "trip": None, "limit": None, "advice": ["Its operations are known once the file has been executed."],
            })  # fmt: skip
    return rows


def _is_kernel(item: ast.expr) -> bool:
    """Whether a decorator is ``kernel`` or ``gl.kernel``, called or not."""
    called = item.func if isinstance(item, ast.Call) else item
    return (isinstance(called, ast.Name) and called.id == "kernel") or (
        isinstance(called, ast.Attribute) and called.attr == "kernel"
    )


def comments(kind: type[Any]) -> dict[str, str]:
    """Field -> the ``#:`` comment above it, for a record and those it inherits from; read once for each record."""
    with _PARSING:
        if kind not in _COMMENTS:
            found: dict[str, str] = {}
            for base in reversed(kind.__mro__[:-1]):
                found |= _own_comments(base)
            _COMMENTS[kind] = found
        return _COMMENTS[kind]


def _own_comments(kind: type[Any]) -> dict[str, str]:
    """The comments of a record's own fields; fields that share a comment each have it."""
    try:
        lines = inspect.cleandoc(inspect.getsource(kind)).splitlines()
    except (OSError, TypeError):
        return {}
    (body,) = (node for node in ast.parse("\n".join(lines)).body if isinstance(node, ast.ClassDef))
    found: dict[str, str] = {}
    last, last_line = "", -1
    for node in body.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            above: list[str] = []
            at = node.lineno - 2
            while at >= 0 and lines[at].strip().startswith("#:"):
                above.insert(0, lines[at].strip()[2:].strip())
                at -= 1
            if above or node.lineno - 2 != last_line:
                last = " ".join(above)
            found[node.target.id] = last.replace("``", "")
            last_line = (node.end_lineno or node.lineno) - 1
    return found
