"""Conformance batteries: what every mapper, array family, reader and cost model promises, as functions.

Call them from the tests of any package, with any test framework or none. Each battery raises an AssertionError whose
sentence says which promise is broken, and returns nothing where all are kept:

* :func:`check_mapper` for a registered mapper, or a function of the same shape;
* :func:`check_family` for an ARCH string, one for each set of parameters that matters;
* :func:`check_reader` for a file of the format;
* :func:`check_cost_model` for a registered cost model;
* :func:`self_test` proves that the batteries fail on subjects with planted faults.

A subject whose optional package is not installed raises :class:`gridloom.errors.MissingExtra`.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from gridloom.testing.cost_models import check_cost_model
    from gridloom.testing.families import check_family
    from gridloom.testing.mappers import check_mapper
    from gridloom.testing.readers import check_reader
    from gridloom.testing.self_check import self_test

__all__ = [
    "check_cost_model",
    "check_family",
    "check_mapper",
    "check_reader",
    "self_test",
]

_HOME = {
    "check_cost_model": "cost_models",
    "check_family": "families",
    "check_mapper": "mappers",
    "check_reader": "readers",
    "self_test": "self_check",
}


def __getattr__(name: str) -> _Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
