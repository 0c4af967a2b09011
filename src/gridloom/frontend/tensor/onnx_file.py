"""ONNX files as tensor graphs. Shapes are inferred by onnx; dimensions without a size count as 1.

Products, softmax, layer normalisation and elementwise operators become nodes; reshapes and the like pass their
operand on. An operator that is none of these is refused by name.

Costs of a network on an array depend on shapes and kinds of operations, not on numbers, so weights are read by their
shapes only. The first output of an operator is the one that is followed; a dimension of unknown size, such as the
batch, counts as 1.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from gridloom.dfg.model import Dfg
from gridloom.errors import MissingExtra, SourceError
from gridloom.frontend.tensor.graph import Shape, TensorBuilder, matrix
from gridloom.text_file import read_bytes

#: A model with larger weights can keep them in files of their own, which are not read.
MAX_BYTES: Final = 512 * 1024 * 1024

_VIEWS: Final = frozenset(
    [
        "Reshape",
        "Transpose",
        "Flatten",
        "Identity",
        "Squeeze",
        "Unsqueeze",
        "Slice",
        "Concat",
        "Split",
        "Cast",
        "Dropout",
        "Expand",
        "Gather",
        "Shape",
    ]
)
_LABELS: Final = {
    "Relu": "relu", "Gelu": "gelu", "Tanh": "tanh", "Sigmoid": "sigmoid", "Add": "add", "Sub": "sub", "Mul": "mul",
    "Div": "div", "Exp": "exp", "Neg": "neg", "Pow": "pow", "Sqrt": "sqrt", "Erf": "tanh", "Where": "select",
    "ReduceMean": "reduce", "ReduceSum": "reduce", "Clip": "relu", "Sum": "add",
}  # fmt: skip


def read(path: Path) -> Dfg:
    """The graph of an ONNX file; SourceError for one that is not, or with an operator that is not lowered.

    Needs the package ``onnx``. Weights are known by their shapes only; operators that touch nothing but constants are
    left out.
    """
    try:
        import onnx
    except ImportError:
        raise MissingExtra("ONNX files need onnx; install gridloom[tensor]") from None
    data = read_bytes(path, limit=MAX_BYTES)
    try:
        # Weights that a model keeps in other files are not opened: their shapes stand in the model itself.
        model = onnx.shape_inference.infer_shapes(onnx.load_model_from_string(data))
    except Exception as error:
        raise SourceError(f"is not an ONNX model: {str(error).splitlines()[0]}", where=str(path)) from None
    return _Reader(path, model).graph()


class _Reader:
    """Reads one model; ``made`` maps ONNX values to the nodes that hold them.

    A value that is not in ``made`` is a constant or a weight: a weight becomes a node when a product reads it first.
    """

    def __init__(self, path: Path, model: Any) -> None:
        self.path, self.model = path, model
        self.builder = TensorBuilder(path.stem, "read from ONNX")
        self.made: dict[str, str] = {}
        graph = model.graph
        self.shape: dict[str, Shape] = {
            value.name: tuple(d.dim_value or 1 for d in value.type.tensor_type.shape.dim)
            for value in [*graph.input, *graph.output, *graph.value_info]
        }
        self.shape |= {item.name: tuple(item.dims) for item in graph.initializer}
        self.constants = {item.name for item in graph.initializer}

    def graph(self) -> Dfg:
        """The graph: inputs, then operators in the model's order, then outputs."""
        graph = self.model.graph
        for value in graph.input:
            if value.name not in self.constants:
                self.made[value.name] = self.builder.input(value.name, matrix(self.shape[value.name]))
        for node in graph.node:
            self._node(node)
        for value in graph.output:
            if value.name not in self.made:
                raise SourceError(f"result {value.name!r} comes from nothing that is computed", where=str(self.path))
            self.builder.output(self.made[value.name], "output")
        return self.builder.build()

    def _weight(self, name: str) -> str:
        """A weight, once."""
        if name not in self.made:
            self.made[name] = self.builder.weight(name, self.shape.get(name) or (1,))
        return self.made[name]

    def _node(self, node: Any) -> None:
        """Add one operator. SourceError for one that is not lowered; what only touches constants is left out.

        Views hand on the node of their operand. Elementwise operators read the values that are computed; constants
        among their operands are taken to come with the instruction.
        """
        if not node.output:
            raise SourceError(f"operator {node.op_type!r} has no result", where=str(self.path))
        result = node.output[0]
        # Weights alone make a constant, which costs nothing while the network runs.
        computed = [name for name in node.input if name in self.made and not self.builder.is_weight(self.made[name])]
        if node.op_type == "Constant" or not computed:
            self.constants.update(node.output)
            return
        name = node.name or result
        if node.op_type in ("MatMul", "Gemm"):
            operands = [self.made[x] if x in self.made else self._weight(x) for x in node.input[:2]]
            shape = matrix(self.shape[result])
            self.made[result] = self.builder.matmul(operands[0], operands[1], shape, name)
            if len(node.input) > 2:
                bias = self._weight(node.input[2])
                self.made[result] = self.builder.elementwise("bias", self.made[result], bias, name=f"{name}.bias")
        elif node.op_type in _VIEWS:
            # All parts of a Split are views of one value.
            self.made |= dict.fromkeys(node.output, self.made[computed[0]])
        elif node.op_type == "Softmax":
            self.made[result] = self.builder.softmax(self.made[computed[0]], name)
        elif node.op_type == "LayerNormalization":
            self.made[result] = self.builder.vector("norm", "norm", (self.made[computed[0]],), name=name)
        elif node.op_type in _LABELS:
            names = tuple(dict.fromkeys(self.made[x] for x in computed))
            self.made[result] = self.builder.vector("elementwise", _LABELS[node.op_type], names, name=name)
        else:
            known = ", ".join(sorted({"MatMul", "Gemm", "Softmax", "LayerNormalization", *_LABELS, *_VIEWS}))
            raise SourceError(f"operator {node.op_type!r} is not lowered; known: {known}", where=str(self.path))
