"""A suite of whole functions as data: each function with a description of its arguments.

    suite: functions
    files: examples
    archs: ["torus:4x4"]
    data_sets: 20
    functions:
      gemm.c:gemm:
        n: 12                                      # a number
        alpha: {from: -9, to: 9}                   # a random number
        A: {elements: 256, from: -99, to: 99}      # an array of random numbers

Data set k is drawn with seed k; elements have the type that the source declares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gridloom.compiler.c.function.signature import FunctionParameter, Signature
from gridloom.errors import OptionError
from gridloom.flow.bench.suite import Suite


@dataclass(frozen=True, slots=True)
class DrawnArgument:
    """How one argument is drawn: between two numbers, as an array where ``elements`` is set."""

    low: float
    high: float
    elements: int | None = None

    def to_list(self) -> list[float | int | None]:
        """Return the description as plain data, for the key of a job."""
        return [self.low, self.high, self.elements]

    def draw(self, parameter: FunctionParameter, random: np.random.Generator) -> Any:
        """Return a number or an array of the parameter's type."""
        dtype = parameter.type.dtype
        count = 1 if self.elements is None else self.elements
        drawn: np.ndarray[Any, Any]
        if dtype.kind == "f":
            drawn = random.uniform(self.low, self.high, count)
        else:
            drawn = random.integers(int(self.low), int(self.high) + 1, count)
        values = drawn.astype(dtype)
        return values if self.elements is not None else values[0].item()


@dataclass(frozen=True, kw_only=True)
class FunctionSuite(Suite):
    """A suite whose sources are whole functions. ``functions`` are the arguments by source and parameter."""

    functions: Mapping[str, Mapping[str, DrawnArgument]] = field(default_factory=dict)
    #: How many sets of data each function runs on.
    data_sets: int = 1


def read_functions(data: Mapping[str, Any], where: str) -> dict[str, dict[str, DrawnArgument]]:
    """Return the functions of a suite's file with their arguments; OptionError names what is wrong."""
    rows = data["functions"]
    if not isinstance(rows, dict) or not rows:
        raise OptionError(f"functions: expected functions with their arguments, found {rows!r}", where=where)
    found = {}
    for source, arguments in rows.items():
        if not isinstance(arguments, dict):
            raise OptionError(f"functions.{source}: expected arguments, found {arguments!r}", where=where)
        found[str(source)] = {
            str(name): _argument(value, f"functions.{source}.{name}", where) for name, value in arguments.items()
        }
    return found


def _argument(value: Any, key: str, where: str) -> DrawnArgument:
    """Return how an argument is drawn."""
    if _is_number(value):
        return DrawnArgument(value, value)
    if isinstance(value, dict) and {"from", "to"} <= value.keys() <= {"from", "to", "elements"}:
        low, high, elements = value["from"], value["to"], value.get("elements")
        counted = elements is None or (type(elements) is int and elements > 0)
        if counted and _is_number(low) and _is_number(high) and low <= high:
            return DrawnArgument(low, high, elements)
    raise OptionError(
        f"{key}: expected a number, {{from, to}} or {{elements, from, to}} with from <= to, found {value!r}",
        where=where,
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def data_set(signature: Signature, arguments: Mapping[str, DrawnArgument], seed: int) -> dict[str, Any]:
    """Return one set of arguments; OptionError names a parameter that the suite does not describe."""
    random = np.random.default_rng(seed)
    found = {}
    for parameter in signature.parameters:
        if parameter.name not in arguments:
            raise OptionError(f"the suite has no data for parameter {parameter.name!r} of {signature.name!r}")
        found[parameter.name] = arguments[parameter.name].draw(parameter, random)
    return found
