"""Arrays: the model, parts of families, descriptions, the time-expanded resource graph.

An array is a directed graph of resources with latencies (``model``). A description (``spec``: an ARCH string, a YAML
file or a dictionary) names a family, and the family's file in its target fills an ``ArchBuilder`` from the
description. ``unroll`` expands the graph over the II slots of a modulo schedule, and ``check`` says what is odd about
an array before anybody maps to it. Nothing outside this package asks which family an array is of: it reads the graph,
or asks for a trait. The package imports ``gridloom.dfg.ops`` for the names of op classes and nothing else
of the graph side.

Names are imported when they are first used: who reads one module does not import the others.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from gridloom.archs.check import check_arch
    from gridloom.archs.model import ISSUE_KINDS, Arch, ArchBuilder, Kind, Pool, RegisterFile, Setting, Tile
    from gridloom.archs.spec import build, load_yaml, parse_string
    from gridloom.archs.unroll import ResourceGraph, check_settings

__all__ = [
    "ISSUE_KINDS",
    "Arch",
    "ArchBuilder",
    "Kind",
    "Pool",
    "RegisterFile",
    "ResourceGraph",
    "Setting",
    "Tile",
    "build",
    "check_arch",
    "check_settings",
    "load_yaml",
    "parse_string",
]

_HOME = {
    "ISSUE_KINDS": "model",
    "Arch": "model",
    "ArchBuilder": "model",
    "Kind": "model",
    "Pool": "model",
    "RegisterFile": "model",
    "ResourceGraph": "unroll",
    "Setting": "model",
    "Tile": "model",
    "build": "spec",
    "check_arch": "check",
    "check_settings": "unroll",
    "load_yaml": "spec",
    "parse_string": "spec",
}


def __getattr__(name: str) -> _Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
