"""Whether a Python file only defines things, so that its import can neither exit nor hang.

Such a file consists of imports of known packages, functions, classes and plain values. Most files of kernels are of
this kind, and reading their text takes milliseconds where a trial takes the start of another Python.
"""

from __future__ import annotations

import ast
import sys
from typing import Final

#: Packages whose import ends; modules of Python itself count as well, other ones may be files beside the source.
_KNOWN: Final = frozenset({"gridloom", "numpy", "torch"})

#: Parts of Python that do something when they are imported.
_ACTIVE: Final = frozenset({"antigravity", "this", "__main__"})

#: Expressions whose value needs no call and no arithmetic.
_PLAIN: Final = (
    ast.Constant,
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Slice,
    ast.Tuple,
    ast.List,
    ast.Set,
    ast.Dict,
    ast.UnaryOp,
    ast.unaryop,
    ast.expr_context,
)


def only_defines(text: str) -> bool:
    """Return True for a Python text that only imports known packages and defines; True also for one that is no Python.

    What is no Python is not executed: its import fails with the line.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return all(_defines(statement, own) for statement in tree.body)


def _defines(statement: ast.stmt, own: set[str]) -> bool:
    """Return True for a statement that imports or defines; ``own`` are the names that the file itself defines."""
    match statement:
        case ast.Import(names=names):
            return all(_is_known(alias.name) for alias in names)
        case ast.ImportFrom(module=str(module), level=0):
            return _is_known(module)
        case ast.FunctionDef(decorator_list=decorators, args=arguments, returns=returns):
            given = [*arguments.defaults, *(value for value in arguments.kw_defaults if value is not None)]
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
            notes = [argument.annotation for argument in every if argument is not None and argument.annotation]
            parts = [*given, *notes, *([returns] if returns else [])]
            return _are_plain(parts) and _are_plain(decorators) and not _roots(decorators) & own
        case ast.ClassDef(bases=bases, keywords=[], decorator_list=[], body=body):
            return _are_plain(bases) and all(_defines(inner, own) for inner in body)
        case ast.Assign(value=value, targets=targets):
            return _are_plain([value, *targets])
        case ast.AnnAssign(value=value, annotation=annotation, target=target):
            return _are_plain([annotation, target, *([value] if value else [])])
        case ast.Expr(value=ast.Constant()) | ast.Pass():
            return True
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"), comparators=[ast.Constant("__main__")]), orelse=[]):
            return True
    return False


def _is_known(module: str) -> bool:
    """Return True for a module of a known package or of Python itself."""
    root = module.partition(".")[0]
    return root in _KNOWN or (root in sys.stdlib_module_names and root not in _ACTIVE)


def _are_plain(expressions: list[ast.expr]) -> bool:
    """Return True when no expression calls or computes anything."""
    return all(isinstance(part, _PLAIN) for expression in expressions for part in ast.walk(expression))


def _roots(expressions: list[ast.expr]) -> set[str]:
    """Return the names that expressions begin with."""
    return {part.id for expression in expressions for part in ast.walk(expression) if isinstance(part, ast.Name)}
