"""Building tensor graphs: one node an operation, with the shape of its result; weights are live-ins.

A matrix product has the shape (..., rows, columns) of its result; what it sums over follows from the size of operand 0.
All operations of a graph run over the same rows (the positions of a sequence, the samples of a batch), which is what a
pipeline streams over.
"""

from __future__ import annotations

from itertools import count

from gridloom.dfg.model import Edge
from gridloom.targets.dataflow.program.model import TensorOperation, TensorProgram

Shape = tuple[int, ...]


class TensorBuilder:
    """Builds a tensor graph operation by operation; every method returns the id of the node it adds."""

    def __init__(self, name: str, notes: str = "") -> None:
        self.name, self._notes = name, notes
        self._nodes: list[TensorOperation] = []
        self._edges: list[Edge] = []
        self._constants: dict[float, str] = {}
        self._shape: dict[str, Shape] = {}
        self._names: dict[str, int] = {}
        self._weights: set[str] = set()

    def shape(self, node: str) -> Shape:
        """The shape of a node's result."""
        return self._shape[node]

    def is_weight(self, node: str) -> bool:
        """True for a tensor that stays on the array."""
        return node in self._weights

    def _add(
        self,
        op: str,
        operands: tuple[str, ...],
        shape: Shape,
        name: str,
        label: str | None = None,
        how: str | None = None,
    ) -> str:
        """Add an operation; a name that is used again gets a number."""
        number = self._names.get(name, 0)
        unique = f"{name}_{number}" if number else name
        while unique in self._shape:
            number += 1
            unique = f"{name}_{number}"
        self._names[name] = number + 1
        self._nodes.append(TensorOperation(id=unique, op=op, shape=shape, label=label, how=how))
        self._edges += [Edge(source=source, target=unique, operand=k) for k, source in enumerate(operands)]
        self._shape[unique] = shape
        return unique

    def constant(self, value: float) -> str:
        """A number that comes with an instruction; equal ones share a node."""
        if value not in self._constants:
            free = next(name for k in count(len(self._nodes)) if (name := f"c{k}") not in self._shape)
            self._nodes.append(TensorOperation(id=free, op="const", value=value))
            self._shape[free] = (1,)
            self._constants[value] = free
        return self._constants[value]

    def input(self, name: str, shape: Shape) -> str:
        """A tensor that comes from DRAM for every sample."""
        return self._add("input", (), shape, name)

    def weight(self, name: str, shape: Shape) -> str:
        """A tensor that stays on the array."""
        node = self._add("livein", (), shape, name)
        self._weights.add(node)
        return node

    def output(self, source: str, name: str = "output") -> str:
        """A result that goes to DRAM for every sample."""
        return self._add("output", (source,), self._shape[source], name)

    def matmul(self, left: str, right: str, shape: Shape, name: str) -> str:
        """A product of two tensors, or of a tensor and weights; batched where ``shape`` has more dimensions."""
        return self._add("gemm", (left, right), shape, name)

    def linear(self, x: str, features: int, name: str, *, bias: bool = True) -> str:
        """``x W + b``."""
        *rows, width = self._shape[x]
        product = self.matmul(x, self.weight(f"{name}.weight", (width, features)), (*rows, features), name)
        if not bias:
            return product
        return self.elementwise("bias", product, self.weight(f"{name}.bias", (features,)), name=f"{name}.bias_add")

    def elementwise(self, label: str, *operands: str, name: str | None = None) -> str:
        """An operation on each element; ``label`` says which (see `gridloom.targets.dataflow.program.costs.STEPS`)."""
        return self._add("elementwise", operands, self._shape[operands[0]], name or label, label)

    def vector(self, op: str, label: str, operands: tuple[str, ...], *, name: str) -> str:
        """A vector operation (``elementwise``, ``softmax``, ``norm`` or ``reduce``), shaped like operand 0."""
        kept = label if op == "elementwise" else None
        return self._add(op, operands, self._shape[operands[0]], name, kept)

    def part(self, source: str, shape: Shape, name: str) -> str:
        """A part of a tensor: nothing is computed, it is only read in another way."""
        return self._add("transpose", (source,), shape, name)

    def softmax(self, x: str, name: str = "softmax") -> str:
        """Softmax over the last dimension."""
        return self._add("softmax", (x,), self._shape[x], name)

    def norm(self, x: str, name: str = "norm") -> str:
        """Layer normalisation over the last dimension, with scale and shift."""
        width = self._shape[x][-1]
        scale, shift = self.weight(f"{name}.scale", (width,)), self.weight(f"{name}.shift", (width,))
        return self._add("norm", (x, scale, shift), self._shape[x], name)

    def build(self) -> TensorProgram:
        """The graph."""
        return TensorProgram(
            name=self.name, notes=self._notes, nodes=tuple(self._nodes), edges=tuple(self._edges)
        )  # fmt: skip


def matrix(shape: Shape) -> Shape:
    """A shape with rows and columns: dimensions of size 1 before the last go, a vector is one row.

    >>> matrix((1, 32, 1, 128)), matrix((128,)), matrix((4, 32, 32))
    ((32, 128), (1, 128), (4, 32, 32))
    """
    kept = tuple(size for size in shape[:-1] if size != 1) or (1,)
    return (*kept, shape[-1])
