"""gridloom: dataflow graphs onto coarse-grained reconfigurable arrays, each mapping checked and simulated.

>>> import gridloom as gl
>>> graph = gl.kernel("vector_add")
>>> [node.op for node in graph.nodes]
['input', 'input', 'add', 'output']

Names are imported when they are first used, so that ``import gridloom`` costs next to nothing.
"""

from __future__ import annotations

import sys as _sys
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from gridloom._version import __version__

if _TYPE_CHECKING:
    from gridloom.arch.model import Arch
    from gridloom.dfg.model import Dfg, DfgBuilder
    from gridloom.errors import GridloomError
    from gridloom.flow.api import arch, bench, check, load, map, measure, save, simulate
    from gridloom.flow.files import load_mapping
    from gridloom.flow.request import Request
    from gridloom.flow.result import Result
    from gridloom.frontend.python_kernel import kernel
    from gridloom.frontend.traced_arrays import loop
    from gridloom.frontend.tracing import (
        Array,
        float32,
        int8,
        int16,
        int32,
        maximum,
        minimum,
        select,
        state,
        uint8,
        uint16,
    )
    from gridloom.mapping.model import Failure, Mapping

# In the order of Python's sort, which a test keeps.
__all__ = [  # noqa: RUF022
    "Arch",
    "Array",
    "Dfg",
    "DfgBuilder",
    "Failure",
    "GridloomError",
    "Mapping",
    "Request",
    "Result",
    "__version__",
    "arch",
    "bench",
    "check",
    "float32",
    "int16",
    "int32",
    "int8",
    "kernel",
    "load",
    "load_mapping",
    "loop",
    "map",
    "maximum",
    "measure",
    "minimum",
    "save",
    "select",
    "simulate",
    "state",
    "uint16",
    "uint8",
]

_HOME = {
    "Arch": "arch.model",
    "Array": "frontend.tracing",
    "Dfg": "dfg.model",
    "DfgBuilder": "dfg.model",
    "Failure": "mapping.model",
    "GridloomError": "errors",
    "Mapping": "mapping.model",
    "Request": "flow.request",
    "Result": "flow.result",
    "bench": "flow.api",
    "check": "flow.api",
    "float32": "frontend.tracing",
    "int16": "frontend.tracing",
    "int32": "frontend.tracing",
    "int8": "frontend.tracing",
    "kernel": "frontend.python_kernel",
    "load": "flow.api",
    "load_mapping": "flow.files",
    "loop": "frontend.traced_arrays",
    "maximum": "frontend.tracing",
    "measure": "flow.api",
    "minimum": "frontend.tracing",
    "save": "flow.api",
    "select": "frontend.tracing",
    "simulate": "flow.api",
    "state": "frontend.tracing",
    "uint16": "frontend.tracing",
    "uint8": "frontend.tracing",
}

#: Subpackages that are also verbs: `gl.map(...)` maps, `gl.map.anneal` is a mapper's module.
_VERBS = ("arch", "map")


class _Verb(_ModuleType):
    """A subpackage that can be called: it is the function of the same name in `gridloom.flow.api`."""

    def __call__(self, *arguments: _Any, **options: _Any) -> _Any:
        name = self.__name__.rpartition(".")[2]
        return getattr(_import_module("gridloom.flow.api"), name)(*arguments, **options)


class _Package(_ModuleType):
    # Importing a subpackage binds it here under its name, whoever imports it: this is where it learns to be called.
    def __setattr__(self, name: str, value: object) -> None:
        if name in _VERBS and isinstance(value, _ModuleType):
            value.__class__ = _Verb
        super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> _Any:
    if name in _VERBS:
        return _import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
