"""Values that a network computes from weights and constants alone: they are known before it runs.

Front ends evaluate them while they read, so that a transposed weight, a mask or the angles of a rotary embedding become
live-ins and no operations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gridloom.errors import SourceError
from gridloom.targets.dataflow.frontend.graph import Shape
from gridloom.targets.dataflow.frontend.operations import OperationBuilder
from gridloom.targets.dataflow.program.model import TensorProgram
from gridloom.targets.dataflow.program.parameters import Tensor


@dataclass(frozen=True, eq=False)
class Static:
    """A value that does not depend on the inputs; ``value`` is None where only its dimensions are known."""

    #: The weight that it comes from, or its own name.
    name: str
    dimensions: Shape
    value: Tensor | None = None

    def numbers(self) -> list[int]:
        """Return the value as whole numbers: the parameters of an operation. SourceError where it is not known."""
        if self.value is None:
            raise SourceError(f"{self.name!r} is a parameter of an operation, and its value is not in the file")
        return [int(item) for item in np.asarray(self.value).reshape(-1)]


@dataclass(frozen=True, kw_only=True)
class ImportedNetwork:
    """A graph and the values of its live-ins, by node id: what running it with numbers needs."""

    dfg: TensorProgram
    weights: dict[str, Tensor]


class Operands:
    """Turns values of a source into nodes: computed ones are nodes already, static ones become live-ins when used."""

    def __init__(self, builder: OperationBuilder) -> None:
        self.builder = builder
        self._nodes: dict[int, str] = {}
        self._kept: list[Static] = []

    def node(self, value: str | Static | float | bool) -> str:
        """Return the node of a value; a static tensor of one element without dimensions is a number."""
        if isinstance(value, str):
            return value
        if not isinstance(value, Static):
            if np.isfinite(value):
                return self.builder.number(float(value) if not isinstance(value, bool | int) else int(value))
            # A graph holds finite numbers only; others are live-ins.
            value = Static("infinity", (), np.asarray(value, dtype=np.float32))
        if value.value is not None and value.dimensions == () and np.isfinite(value.value):
            return self.builder.number(_plain(value.value))
        if id(value) not in self._nodes:
            self._nodes[id(value)] = self.builder.stored(value.name, value.value, value.dimensions)
            # Ids are those of living objects.
            self._kept.append(value)
        return self._nodes[id(value)]

    def matrix(self, value: str | Static) -> str:
        """Return the node of a product's right operand; copies of one static matrix along a batch are one matrix."""
        if isinstance(value, Static) and value.value is not None and len(value.dimensions) > 2:
            array = value.value
            while array.ndim > 2 and (array.shape[0] == 1 or array.strides[0] == 0):
                array = array[0]
            if array.ndim < value.value.ndim:
                value = Static(value.name, array.shape, array)
        return self.node(value)


def _plain(value: Any) -> float:
    """Return a tensor of one element as a plain number."""
    item = np.asarray(value).item()
    return int(item) if isinstance(item, bool | int) else float(item)
