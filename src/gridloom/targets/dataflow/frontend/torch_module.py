"""PyTorch modules as tensor graphs, through ``torch.export`` and its decompositions.

``FILE.py:FUNCTION`` names a function that returns a module, or a module and the tuple of its example inputs; with a
module alone, ``rows`` and ``width`` of the spec say the shape of its one input. The exported program is decomposed into
core operators, each of which becomes a node or a view (`gridloom.targets.dataflow.frontend.torch_operators`). What
depends on weights and constants alone is evaluated here and becomes a live-in. Loops over time (LSTM) come unrolled.
What a module does besides (loops over data, custom operators) is refused by name.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from gridloom.compiler.loops.source_name import SourceName, split
from gridloom.compiler.python.module_file import execute
from gridloom.errors import MissingExtra, SourceError, install_hint
from gridloom.targets.dataflow.frontend.graph import Shape

# The hook for Python files that import torch asks one module for both.
from gridloom.targets.dataflow.frontend.listing import list_networks as list_networks
from gridloom.targets.dataflow.frontend.operations import OperationBuilder
from gridloom.targets.dataflow.frontend.statics import ImportedNetwork, Operands, Static
from gridloom.targets.dataflow.frontend.torch_operators import OPERATORS as ON_ELEMENTS
from gridloom.targets.dataflow.frontend.torch_pictures import PICTURES, WHOLE
from gridloom.targets.dataflow.program.model import TensorProgram

#: Operators that check something while a module is traced and compute nothing.
_CHECKS: Final = ("_assert", "sym_", "_check")
OPERATORS: Final = {**ON_ELEMENTS, **PICTURES}
#: Operators whose inputs of four dimensions are pictures.
_ON_PICTURES: Final = frozenset([*PICTURES, "_native_batch_norm_legit_no_training"])


def read_spec(source: str | SourceName) -> TensorProgram:
    """The graph of ``FILE.py:FUNCTION,key=value,...``; parameters other than rows and width go to the function.

    Executes the file and the function, and needs torch. SourceError where the function returns a module without example
    inputs and no shape is given. Costs the export: seconds.
    """
    asked = split(source)
    text, path = asked.text, asked.path
    name, *pairs = (asked.rest or "").split(",")
    given: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not value.lstrip("-").isdigit():
            raise SourceError(f"expected key=NUMBER after the function, found {pair!r}", where=text)
        given[key.strip()] = int(value)
    rows, width = given.pop("rows", None), given.pop("width", None)
    made = _called(_function(path, name), given, text)
    module, inputs = made if isinstance(made, tuple) else (made, None)
    if inputs is None:
        if rows is None or width is None:
            raise SourceError(
                "the function returns a module without example inputs; return (module, inputs), or say rows and width",
                where=text,
            )
        inputs = (_torch().zeros(rows, width),)
    return from_module(module, tuple(inputs), name=f"{path.stem}.{name}")


def from_module(module: Any, inputs: tuple[Any, ...], *, name: str = "module") -> TensorProgram:
    """The graph of a module, given example inputs (their values do not matter). Costs the export: seconds.

    SourceError when torch cannot export it, or when it has an operator that is not lowered.
    """
    return import_module(module, inputs, name=name).dfg


def import_module(module: Any, inputs: tuple[Any, ...], *, name: str = "module") -> ImportedNetwork:
    """The graph of a module with the values of its weights. Costs the export, and the operations on weights alone.

    Errors as in :func:`from_module`.
    """
    torch = _torch()
    try:
        # Torch warns about its own internals while it exports; nothing of that is the user's.
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = torch.export.default_decompositions()
            # Attention's softmax stays one operation; the rows that it guards against are zeros in ours as well.
            table.pop(torch.ops.aten._safe_softmax.default, None)
            # So do interpolation and windows, whose decomposition picks elements by several tensors of positions.
            for operator in (getattr(torch.ops.aten, kept) for kept in WHOLE):
                for overload in operator.overloads():
                    table.pop(getattr(operator, overload), None)
            program = torch.export.export(module.eval(), inputs).run_decompositions(table)
            return _Reader(name, program).read()
    except SourceError:
        raise
    except Exception as error:
        text = str(error).splitlines()
        raise SourceError(
            f"torch.export does not take it: {text[0] if text else type(error).__name__}", where=name
        ) from None


class _Reader:
    """Reads one exported program; ``made`` maps fx nodes to nodes of ours, to static values, or to tuples of those."""

    def __init__(self, name: str, program: Any) -> None:
        self.program = program
        self.builder = OperationBuilder(name, "exported by torch")
        self.operands = Operands(self.builder)
        self.made: dict[Any, Any] = {}
        signature = program.graph_signature
        self.weights = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
        self.constants = signature.inputs_to_lifted_tensor_constants

    def read(self) -> ImportedNetwork:
        """The graph: the nodes of the program in their order. SourceError where no result depends on an input."""
        outputs = 0
        called = {_operator(node) for node in self.program.graph.nodes if node.op == "call_function"}
        self.builder.pictures = not called.isdisjoint(_ON_PICTURES)
        for node in self.program.graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node)
            elif node.op == "call_function":
                self._call(node)
            elif node.op == "output":
                for result in node.args[0]:
                    made = self.made.get(result)
                    if isinstance(made, str):
                        self.builder.output(made, f"output{outputs}" if outputs else "output")
                        outputs += 1
        if not outputs:
            raise SourceError("none of its results depends on an input", where=self.builder.name)
        return ImportedNetwork(dfg=self.builder.build(), weights=self.builder.weights)

    def _placeholder(self, node: Any) -> None:
        """An input of the program: a weight, a buffer, a constant, or an input of the module."""
        if node.name in self.weights:
            name = self.weights[node.name]
            stored = self.program.state_dict.get(name, self.program.constants.get(name))
            self.made[node] = _static(name, stored)
        elif node.name in self.constants:
            self.made[node] = _static(self.constants[node.name], self.program.constants[self.constants[node.name]])
        elif node.meta.get("val") is None:
            self.made[node] = None
        else:
            self.made[node] = self.builder.external(node.name, _shape(node))

    def _call(self, node: Any) -> None:
        """Add one operator, or evaluate it where it depends on no input. SourceError for one that is not lowered."""
        op = _operator(node)
        if op.startswith(_CHECKS):
            return
        if op == "getitem":
            results, k = self.made[node.args[0]], node.args[1]
            if k >= len(results):
                what = f"result {k} of operator {_operator(node.args[0])!r} ({node.args[0].name})"
                raise SourceError(f"{what} is not one that is lowered", where=self.builder.name)
            self.made[node] = results[k]
            return
        read = [self.made[a] for a in node.all_input_nodes if a in self.made]
        if not any(isinstance(value, str) for value in _flat(read)):
            self.made[node] = self._evaluated(node, read)
            return
        if op not in OPERATORS:
            raise SourceError(
                f"operator {op!r} is not one that is lowered; known: {', '.join(sorted(OPERATORS))}",
                where=self.builder.name,
            )
        self.made[node] = OPERATORS[op](_Call(self, node, op))

    def _evaluated(self, node: Any, read: list[Any]) -> Any:
        """The value of an operator on weights and constants alone, named after the weight that it comes from."""
        torch = _torch()

        def concrete(value: Any) -> Any:
            made = self.made.get(value) if value in self.made else value
            return torch.as_tensor(made.value) if isinstance(made, Static) else made

        args = torch.fx.node.map_arg(node.args, concrete)
        kwargs = torch.fx.node.map_arg(node.kwargs, concrete)
        result = node.target(*args, **kwargs)
        name = next((value.name for value in _flat(read) if isinstance(value, Static)), node.name)
        if isinstance(result, list | tuple):
            return tuple(_static(name, item) for item in result)
        return _static(name, result) if hasattr(result, "shape") else result


class _Call:
    """A call of an operator: its arguments as the functions of the table ask for them."""

    def __init__(self, reader: _Reader, node: Any, op: str) -> None:
        self.reader, self.fx, self.op = reader, node, op
        self.builder = reader.builder
        self.name: str = node.name
        self.dimensions = _shape(node)

    def _argument(self, position: int, default: Any, key: str) -> Any:
        """An argument by position or by name, with fx nodes replaced by what was made of them."""
        if key and key in self.fx.kwargs:
            value = self.fx.kwargs[key]
        else:
            value = self.fx.args[position] if position < len(self.fx.args) else default
        return _torch().fx.node.map_arg(value, lambda node: self.reader.made[node])

    def node(self, position: int, key: str = "") -> str:
        """An argument as a node."""
        return self.computed(self._argument(position, None, key))

    def weights(self, position: int) -> str:
        """The right operand of a product as a node."""
        return self.reader.operands.matrix(self._argument(position, None, ""))

    def value(self, position: int, default: Any = None, key: str = "") -> Any:
        """An argument as it stands."""
        found = self._argument(position, default, key)
        return list(found) if isinstance(found, list | tuple) else found

    def computed(self, value: Any) -> str:
        """Any value as a node."""
        return self.reader.operands.node(value)

    def refuse(self, why: str) -> SourceError:
        """The error for a call that is not lowered."""
        return SourceError(f"operator {self.op!r} ({self.name}) {why}, which is not lowered", where=self.builder.name)


def _static(name: str, tensor: Any) -> Static:
    """A tensor that is known, in a type that numpy has."""
    torch = _torch()
    if tensor.dtype in (torch.bfloat16, torch.float16):
        tensor = tensor.float()
    return Static(name, tuple(tensor.shape), tensor.detach().cpu().numpy())


def _called(function: Callable[..., Any], given: dict[str, Any], where: str) -> Any:
    """What a function of a user's file returns. SourceError, with what it raised, where it fails."""
    try:
        return function(**given)
    except Exception as error:
        raise SourceError(f"the function fails: {type(error).__name__}: {error}", where=where) from None


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
        raise MissingExtra(f"PyTorch modules need torch, which is not installed: {install_hint('tensor')}") from None
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
    """The shape of an fx node's value, of the first one where it has several; empty for a number."""
    value = node.meta.get("val")
    if isinstance(value, list | tuple):
        value = value[0]
    return tuple(int(size) for size in getattr(value, "shape", ()))
