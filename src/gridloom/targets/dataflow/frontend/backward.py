"""The backward pass of a tensor graph: what training adds to it.

Reverse mode, operation by operation. A product ``Y = X W`` adds ``dX = dY W'`` and, for weights, ``dW = X' dY``,
which sums over the rows; a product of two tensors adds a product for each. An elementwise operation, a softmax and a
norm add one operation of their kind, which also reads the forward value. Weight gradients go to DRAM.

Shapes and dependences are what counts: nothing is computed. An elementwise operation of several activations sends a
gradient to each of them, which reads the others, as that of an elementwise product does.
"""

from __future__ import annotations

from math import prod

from gridloom.dfg.model import Edge
from gridloom.targets.dataflow.program.model import TensorOperation, TensorProgram

#: Elementwise operations whose gradient is the gradient of their result.
_PASS_ON = frozenset({"bias", "add"})

#: Operands that no gradient is computed for by an operation other than a product.
_NO_GRADIENT = frozenset({"livein", "const"})


def with_backward(dfg: TensorProgram) -> TensorProgram:
    """The graph with its backward pass; its outputs stay, their gradients are new inputs. Linear in its edges."""
    return _Backward(dfg).result()


class _Backward:
    """Builds the graph of both passes: nodes of the forward pass, then gradients in reverse order."""

    def __init__(self, dfg: TensorProgram) -> None:
        self.dfg = dfg
        self.nodes: list[TensorOperation] = list(dfg.nodes)
        self.edges: list[Edge] = list(dfg.edges)
        self.shape = {node.id: node.shape for node in dfg.nodes}
        #: TensorOperation -> the gradients that its consumers send back.
        self.gradients: dict[str, list[str]] = {}

    def result(self) -> TensorProgram:
        """The graph of both passes; the gradient of each output is an input."""
        for k in reversed(self.dfg.topological):
            node = self.dfg.nodes[k]
            if node.op == "output":
                source = self.operands(node)[0]
                self.send(source, self.add("input", (), self.dfg.node(source).shape, f"{node.id}.grad"))
            elif node.op not in ("livein", "const", "input"):
                self.back(node)
        name = f"{self.dfg.name},training"
        return TensorProgram(name=name, nodes=tuple(self.nodes), edges=tuple(self.edges), notes=self.dfg.notes)

    def operands(self, node: TensorOperation) -> list[str]:
        """The nodes that an operation reads."""
        return [self.dfg.edges[k].source for k in self.dfg.operand_edges(node.id)]

    def add(
        self, op: str, operands: tuple[str, ...], shape: tuple[int, ...], name: str, label: str | None = None
    ) -> str:
        """Add an operation of the backward pass; returns its id."""
        self.shape[name] = shape
        self.nodes.append(TensorOperation(id=name, op=op, shape=shape, label=label))
        self.edges += [Edge(source=source, target=name, operand=k) for k, source in enumerate(operands)]
        return name

    def send(self, node: str, gradient: str) -> None:
        """Hand a gradient to the node whose result it belongs to."""
        self.gradients.setdefault(node, []).append(gradient)

    def back(self, node: TensorOperation) -> None:
        """Add what an operation does with the gradient of its result: pass it on, or compute those of its operands."""
        gradient = self.total(node)
        if gradient is None:
            return
        if node.op == "gemm":
            self.product(node, gradient)
        elif node.op == "elementwise" and node.label in _PASS_ON:
            for operand in self.operands(node):
                if self.dfg.node(operand).op != "livein":
                    self.send(operand, gradient)
        else:
            operands = [operand for operand in self.operands(node) if self.dfg.node(operand).op not in _NO_GRADIENT]
            label = f"{node.label or node.op}_grad"
            for k, operand in enumerate(operands):
                others = tuple(other for other in operands if other != operand) or (operand,)
                name = f"{node.id}.grad{k or ''}"
                shape = node.shape if k == 0 else self.dfg.node(operand).shape
                self.send(operand, self.add(node.op, (gradient, *others), shape, name, label))

    def total(self, node: TensorOperation) -> str | None:
        """The sum of the gradients of a node's result; None where nothing asks for one."""
        parts = self.gradients.get(node.id, [])
        if not parts:
            return None
        total = parts[0]
        for k, part in enumerate(parts[1:]):
            total = self.add("elementwise", (total, part), node.shape, f"{node.id}.grad_sum{k}", "add")
        return total

    def product(self, node: TensorOperation, gradient: str) -> None:
        """The gradients of a product: each operand's is a product of the other operand and the result's gradient.

        A weight's gradient leaves as an output; an input of the network needs none.
        """
        left, right = self.operands(node)[:2]
        for operand, other, side in ((left, right, "left"), (right, left, "right")):
            known = self.dfg.node(operand)
            if known.op == "livein":
                grad = self.add("gemm", (other, gradient), known.shape, f"{node.id}.weight_grad", "weight_grad")
                self.add("output", (grad,), known.shape, f"{node.id}.weight_grad.out")
            elif known.op != "input":
                *batch, rows, _ = node.shape
                shape = (*batch, rows, prod(known.shape) // (prod(batch) * rows))
                # The gradient of a right operand sums over the rows: what has rows on both sides comes first.
                square = prod(batch) * rows * rows
                swapped = side == "right" and prod(self.shape[gradient]) != square
                factors = (other, gradient) if swapped else (gradient, other)
                self.send(operand, self.add("gemm", factors, shape, f"{node.id}.{side}_grad"))
