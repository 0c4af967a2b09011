"""gridloom maps dataflow graphs onto coarse-grained reconfigurable arrays, and checks and simulates each mapping.

>>> import gridloom as gl
>>> graph = gl.kernel("vector_add")
>>> [node.op for node in graph.nodes]
['input', 'input', 'add', 'output']

Names are imported when they are first used, so that ``import gridloom`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from gridloom._version import __version__

if _TYPE_CHECKING:
    from gridloom.archs.model import Arch
    from gridloom.compiler.python.arrays import loop
    from gridloom.compiler.python.kernel import kernel
    from gridloom.compiler.python.numbers import (
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
    from gridloom.dfg.model import Dfg, DfgBuilder
    from gridloom.errors import GridloomError
    from gridloom.flow.api import arch, bench, check, compile, load, map, measure, names, save, show, simulate
    from gridloom.flow.display.picture import Picture
    from gridloom.flow.files import load_mapping
    from gridloom.flow.functions.compile import Compiled
    from gridloom.flow.registration import (
        register_arch,
        register_cost_model,
        register_kernel,
        register_mapper,
        register_reader,
    )
    from gridloom.flow.request import Request
    from gridloom.flow.result import Result
    from gridloom.mapping.model import Failure, Mapping

# In the order of Python's sort, which a test keeps.
__all__ = [  # noqa: RUF022
    "Arch",
    "Array",
    "Compiled",
    "Dfg",
    "DfgBuilder",
    "Failure",
    "GridloomError",
    "Mapping",
    "Picture",
    "Request",
    "Result",
    "__version__",
    "arch",
    "bench",
    "check",
    "compile",
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
    "names",
    "register_arch",
    "register_cost_model",
    "register_kernel",
    "register_mapper",
    "register_reader",
    "save",
    "select",
    "show",
    "simulate",
    "state",
    "uint16",
    "uint8",
]

_HOME = {
    "Arch": "archs.model",
    "Array": "compiler.python.numbers",
    "Compiled": "flow.functions.compile",
    "Dfg": "dfg.model",
    "DfgBuilder": "dfg.model",
    "Failure": "mapping.model",
    "GridloomError": "errors",
    "Mapping": "mapping.model",
    "Picture": "flow.display.picture",
    "Request": "flow.request",
    "Result": "flow.result",
    "arch": "flow.api",
    "bench": "flow.api",
    "check": "flow.api",
    "compile": "flow.api",
    "float32": "compiler.python.numbers",
    "int16": "compiler.python.numbers",
    "int32": "compiler.python.numbers",
    "int8": "compiler.python.numbers",
    "kernel": "compiler.python.kernel",
    "load": "flow.api",
    "load_mapping": "flow.files",
    "loop": "compiler.python.arrays",
    "map": "flow.api",
    "maximum": "compiler.python.numbers",
    "measure": "flow.api",
    "minimum": "compiler.python.numbers",
    "names": "flow.api",
    "register_arch": "flow.registration",
    "register_cost_model": "flow.registration",
    "register_kernel": "flow.registration",
    "register_mapper": "flow.registration",
    "register_reader": "flow.registration",
    "save": "flow.api",
    "select": "compiler.python.numbers",
    "show": "flow.api",
    "simulate": "flow.api",
    "state": "compiler.python.numbers",
    "uint16": "compiler.python.numbers",
    "uint8": "compiler.python.numbers",
}


def __getattr__(name: str) -> _Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
