"""PyTorch modules as tensor graphs, through ``torch.export`` and its decompositions.

``FILE.py:FUNCTION`` names a function that returns a module, or a module and the tuple of its example inputs; with a
module alone, ``rows`` and ``width`` of the spec say the shape of its one input. The exported program is decomposed into
core operators; products keep their shapes, views and transposes pass their operand on, everything else that works on
elements is a vector operation. What a module does besides (loops over data, custom operators) is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any, Final

from gridloom.dfg.model import Dfg
from gridloom.errors import MissingExtra, SourceError
from gridloom.frontend.python.module_file import execute
from gridloom.frontend.tensor.graph import Shape, TensorBuilder, matrix

#: Core operators that only look at a tensor in another way.
_VIEWS: Final = frozenset(
    [
        "view",
        "reshape",
        "_unsafe_view",
        "permute",
        "transpose",
        "t",
        "unsqueeze",
        "squeeze",
        "expand",
        "slice",
        "select",
        "clone",
        "contiguous",
        "alias",
        "detach",
        "_to_copy",
        "to",
        "flatten",
        "unflatten",
        "split",
        "split_with_sizes",
        "getitem",
        "dropout",
        "native_dropout",
        "cat",
    ]
)
#: Operators that are products of matrices, and where their operands are.
_PRODUCTS: Final = {"mm": (0, 1), "bmm": (0, 1), "matmul": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2), "linear": (0, 1)}
#: Vector operations under the names of `gridloom.dfg.tensors.STEPS`.
_LABELS: Final = {
    "relu": "relu", "gelu": "gelu", "tanh": "tanh", "sigmoid": "sigmoid", "silu": "silu", "add": "add", "sub": "sub",
    "mul": "mul", "div": "div", "exp": "exp", "neg": "neg", "pow": "pow", "sqrt": "sqrt", "rsqrt": "sqrt",
    "erf": "tanh", "where": "select", "eq": "select", "logical_not": "select", "any": "reduce",
    "mean": "reduce", "sum": "reduce", "amax": "reduce", "var": "reduce", "masked_fill": "select", "full_like": "copy",
}  # fmt: skip
_CREATED: Final = frozenset(
    ["full", "zeros", "ones", "arange", "scalar_tensor", "empty", "full_like", "tril", "triu", "lift_fresh_copy"]
)


def read_spec(text: str) -> Dfg:
    """The graph of ``FILE.py:FUNCTION,key=value,...``; parameters other than rows and width go to the function.

    Executes the file and the function, and needs torch. SourceError where the function returns a module without example
    inputs and no shape is given. Costs the export: seconds.
    """
    path_text, _, rest = text.rpartition(".py:")
    name, *pairs = rest.split(",")
    given: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not value.lstrip("-").isdigit():
            raise SourceError(f"expected key=NUMBER after the function, found {pair!r}", where=text)
        given[key.strip()] = int(value)
    path = Path(f"{path_text}.py")
    rows, width = given.pop("rows", None), given.pop("width", None)
    made = _function(path, name)(**given)
    module, inputs = made if isinstance(made, tuple) else (made, None)
    if inputs is None:
        if rows is None or width is None:
            raise SourceError(
                "the function returns a module without example inputs; return (module, inputs), or say rows and width",
                where=text,
            )
        inputs = (_torch().zeros(rows, width),)
    return from_module(module, tuple(inputs), name=f"{path.stem}.{name}")


def from_module(module: Any, inputs: tuple[Any, ...], *, name: str = "module") -> Dfg:
    """The graph of a module, given example inputs (their values do not matter). Costs the export: seconds.

    SourceError when torch cannot export it, or when it has an operator that is not a matrix product, a view or a
    vector operation.
    """
    torch = _torch()
    try:
        with torch.no_grad():
            program = torch.export.export(module.eval(), inputs).run_decompositions()
    except Exception as error:
        raise SourceError(f"torch.export does not take it: {str(error).splitlines()[0]}", where=name) from None
    return _Reader(name, program).graph()


class _Reader:
    """Reads one exported program; ``made`` maps fx nodes to the nodes that hold their values."""

    def __init__(self, name: str, program: Any) -> None:
        self.program = program
        self.builder = TensorBuilder(name, "exported by torch")
        #: fx node -> our node, and the shape that it has there (views change it).
        self.made: dict[Any, str] = {}
        self.weights = {
            **program.graph_signature.inputs_to_parameters,
            **program.graph_signature.inputs_to_buffers,
            **program.graph_signature.inputs_to_lifted_tensor_constants,
        }

    def graph(self) -> Dfg:
        """The graph: the nodes of the program in their order."""
        for node in self.program.graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node)
            elif node.op == "call_function":
                self._call(node)
            elif node.op == "output":
                for k, result in enumerate(node.args[0]):
                    if result in self.made:
                        self.builder.output(self.made[result], f"output{k}" if k else "output")
        return self.builder.build()

    def _placeholder(self, node: Any) -> None:
        """An input of the program: a weight, a buffer, or an input of the module."""
        shape = _shape(node) or (1,)
        if node.name in self.weights:
            self.made[node] = self.builder.weight(self.weights[node.name], shape)
        else:
            self.made[node] = self.builder.input(node.name, matrix(shape))

    def _call(self, node: Any) -> None:
        """Add one operator. SourceError for one that is not lowered."""
        op = _operator(node)
        read = [a for a in _flat(node.args) if a in self.made]
        if op in _PRODUCTS:
            self._product(node, op)
        elif op in _VIEWS:
            if read:
                self.made[node] = self._view(self.made[read[0]], _shape(node), node.name)
        elif op in ("native_layer_norm", "layer_norm", "native_group_norm"):
            self.made[node] = self._vector("norm", "norm", read, node)
        elif op in ("_softmax", "softmax", "_safe_softmax"):
            self.made[node] = self._vector("softmax", "softmax", read, node)
        elif op in _LABELS:
            self.made[node] = self._vector("elementwise", _LABELS[op], read, node)
        elif op in _CREATED or not read:
            return
        else:
            raise SourceError(
                f"operator {op!r} is not one that is lowered; known: {', '.join(sorted({*_PRODUCTS, *_LABELS}))}",
                where=self.builder.name,
            )

    def _view(self, source: str, shape: Shape, name: str) -> str:
        """The same tensor seen in another way; a part of it is a node of its own, since its size counts."""
        if not shape or prod(shape) >= prod(self.builder.shape(source)) or self.builder.is_weight(source):
            return source
        return self.builder.part(source, matrix(shape), name)

    def _product(self, node: Any, op: str) -> None:
        """A matrix product, and its bias where the operator adds one."""
        left, right = (node.args[k] for k in _PRODUCTS[op])
        product = self.builder.matmul(self.made[left], self.made[right], matrix(_shape(node)), node.name)
        self.made[node] = product
        bias = node.args[0] if op in ("addmm", "baddbmm") else None
        if op == "linear" and len(node.args) > 2:
            bias = node.args[2]
        if bias in self.made:
            self.made[node] = self.builder.elementwise("bias", product, self.made[bias], name=f"{node.name}.bias")

    def _vector(self, op: str, label: str, read: list[Any], node: Any) -> str:
        """A vector operation. Operands that are computed come first, since the first one gives its shape."""
        names = list(dict.fromkeys(self.made[other] for other in read))
        shapes = {name: prod(self.builder.shape(name)) for name in names}
        weights = {other for other in names if self.builder.is_weight(other)}
        names.sort(key=lambda name: (name in weights, -shapes[name]))
        return self.builder.vector(op, label, tuple(names), name=node.name)


def _function(path: Path, name: str) -> Callable[..., Any]:
    """The function of a file. SourceError where there is none of that name."""
    module = execute(path, keep=True)
    function = getattr(module, name, None)
    if not callable(function):
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise SourceError(f"has no function {name!r}; it has: {', '.join(known) or 'none'}", where=str(path))
    return function  # type: ignore[no-any-return]


def _torch() -> Any:
    """The torch module; MissingExtra where it is not installed."""
    try:
        import torch
    except ImportError:
        raise MissingExtra("PyTorch modules need torch; install gridloom[tensor]") from None
    return torch


def _operator(node: Any) -> str:
    """The name of the operator that an fx node calls, without its overload."""
    name = getattr(node.target, "_opname", None) or getattr(node.target, "__name__", str(node.target))
    return str(name).split(".")[0]


def _flat(value: Any) -> list[Any]:
    """The leaves of nested lists and tuples."""
    if isinstance(value, list | tuple):
        return [item for part in value for item in _flat(part)]
    return [value]


def _shape(node: Any) -> Shape:
    """The shape of an fx node's value; empty for a number."""
    value = node.meta.get("val")
    if isinstance(value, list | tuple):
        value = value[0]
    return tuple(int(size) for size in getattr(value, "shape", ()))
