"""Names from a notebook or a script: ``register_*`` add what a user has written to the registry of this process.

A registered name works wherever a built-in one does, on the command line of the same process too. Registering a name
again replaces the user's earlier registration, so that a cell can be run twice; built-in names and those of plug-ins
stay. A package that others install declares the same names as a plug-in (:mod:`gridloom.plugins`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.registry import Entry, Mapper, Reader, Role
from gridloom.search.choice import MapperFunction, config_type, mapper_name


def register_mapper(
    function: MapperFunction,
    *,
    name: str | None = None,
    kinds: str | Sequence[str] | None = None,
    summary: str | None = None,
    role: Role = "named",
) -> MapperFunction:
    """Add a mapper; returns the function, so that this is a decorator, too.

    OptionError for a function of another shape, an unknown kind of array, or a name that is taken on such arrays.

    function: ``f(dfg, arch, config, budget)``, or without ``config``; it returns a Mapping or a Failure
    name: the name; None takes the function's
    kinds: the kinds of arrays that it takes, such as ``grid`` or ``registers``; None takes every kind
    summary: one line for listings; None takes the first line of the docstring
    role: ``search`` lets ``auto`` and ``portfolio`` take it, ``proof`` lets ``--prove`` take it
    """
    known = registry.kinds()
    chosen = ("*",) if kinds is None else (kinds,) if isinstance(kinds, str) else tuple(kinds)
    for kind in chosen:
        if kind != "*" and kind not in known:
            raise OptionError(f"there is no kind of array {kind!r}; known: {', '.join(known)}", where="kinds")
    config_type(function)
    item = Mapper(dict.fromkeys(chosen, function), _summary(function, summary), role=role)
    registry.register("mappers", _name(function, name), item)
    return function


def register_arch(
    build: Callable[[Mapping[str, Any]], Arch], *, name: str | None = None, summary: str | None = None
) -> Callable[[Mapping[str, Any]], Arch]:
    """Add a family of arrays; returns the function.

    build: makes the array of a description: a dictionary with ``family`` and the parameters of an ARCH string
    name: the family's name, which an ARCH begins with; None takes the function's
    summary: one line for listings; None takes the first line of the docstring
    """
    registry.register("archs", _name(build, name), Entry(build, _summary(build, summary)))
    return build


def register_reader(
    function: Callable[[Path], Dfg],
    *,
    endings: str | Sequence[str],
    name: str | None = None,
    summary: str | None = None,
) -> Callable[[Path], Dfg]:
    """Add a reader of source files; returns the function. OptionError for an ending that has a reader.

    function: makes the graph of a file
    endings: the ends of the names of such files, such as ``.graph``
    name: the reader's name; None takes the function's
    summary: one line for listings; None takes the first line of the docstring
    """
    chosen = (endings,) if isinstance(endings, str) else tuple(endings)
    item = Reader(function, _summary(function, summary), endings=chosen)
    registry.register("readers", _name(function, name), item)
    return function


def register_kernel(function: Any, *, name: str | None = None, summary: str | None = None) -> Any:
    """Add a kernel, the source ``kernel:NAME,key=value,...``; returns what was given.

    function: makes the graph from the parameters, or is an object or a class whose method ``build`` does
    name: the kernel's name; None takes the function's
    summary: one line for listings; None takes the first line of the docstring
    """
    has_build = callable(getattr(function, "build", None)) and not inspect.isclass(function)
    kernel = function if has_build else FunctionKernel(function)
    registry.register("kernels", _name(function, name), Entry(kernel, _summary(function, summary)))
    return function


def register_cost_model(
    model: Callable[[], Any], *, name: str | None = None, summary: str | None = None
) -> Callable[[], Any]:
    """Add a cost model, which the mapper ``dataflow`` takes by its settings ``cost`` and ``judge``; returns the model.

    model: a class, or a function, that makes the cost model
    name: the model's name; None takes that of the class or function
    summary: one line for listings; None takes the first line of the docstring
    """
    registry.register("costs", _name(model, name), Entry(model, _summary(model, summary)))
    return model


@dataclass(frozen=True)
class FunctionKernel:
    """A function as a kernel, or a class: what it makes is a graph, or has one to build."""

    function: Callable[..., Any]

    def build(self, /, **parameters: Any) -> Dfg:
        """The graph; OptionError for a parameter that the function does not have."""
        try:
            inspect.signature(self.function).bind(**parameters)
        except TypeError as error:
            raise OptionError(f"kernel {mapper_name(self.function)!r}: {error}") from None
        made = self.function(**parameters)
        graph = made if isinstance(made, Dfg) or not hasattr(made, "build") else made.build()
        if not isinstance(graph, Dfg):
            name = mapper_name(self.function)
            raise OptionError(f"kernel {name!r} returned a {type(graph).__name__}; expected a Dfg")
        return graph


def _name(item: Any, given: str | None) -> str:
    """The name to register under; OptionError where it could not be written on a command line."""
    name = mapper_name(item) if given is None else given
    if not name.replace("-", "_").isidentifier():
        raise OptionError(f"expected letters, digits, _ and -, found {name!r}", where="name")
    return name


def _summary(item: Any, given: str | None) -> str:
    """The line of a listing: what is given, or the first line of the docstring."""
    if given is not None:
        return given
    return (inspect.getdoc(item) or "registered by the user").partition("\n")[0].rstrip(".")
