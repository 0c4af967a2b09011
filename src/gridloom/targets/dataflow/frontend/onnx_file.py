"""ONNX files as tensor graphs. Dimensions without a size, such as the batch, count as 1.

Operators become nodes or views (`gridloom.targets.dataflow.frontend.onnx_operators`). What depends on weights and
constants alone is evaluated here, by the reference implementation of onnx, and becomes a live-in; weights that a model
keeps in other files are known by their shapes only. An operator that is not known is refused by name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from gridloom.errors import MissingExtra, SourceError, install_hint
from gridloom.targets.dataflow.frontend.graph import Shape
from gridloom.targets.dataflow.frontend.onnx_operators import OPERATORS as ON_ELEMENTS
from gridloom.targets.dataflow.frontend.onnx_operators import OnnxCall, Value
from gridloom.targets.dataflow.frontend.onnx_pictures import PICTURES
from gridloom.targets.dataflow.frontend.onnx_recurrent import RECURRENT
from gridloom.targets.dataflow.frontend.operations import OperationBuilder
from gridloom.targets.dataflow.frontend.statics import ImportedNetwork, Operands, Static
from gridloom.targets.dataflow.program.model import TensorProgram
from gridloom.text_file import read_bytes

#: A model with larger weights can keep them in files of their own, which are not read.
MAX_BYTES: Final = 512 * 1024 * 1024
OPERATORS: Final = {**ON_ELEMENTS, **PICTURES, **RECURRENT}
#: Operators whose inputs of four dimensions are pictures.
_ON_PICTURES: Final = frozenset([*PICTURES, "BatchNormalization"])


def read(path: Path) -> TensorProgram:
    """The graph of an ONNX file; SourceError for one that is not, or with an operator that is not lowered.

    Needs the package ``onnx``. Costs the operators on weights alone.
    """
    return import_file(path).dfg


def import_file(path: Path) -> ImportedNetwork:
    """The graph of an ONNX file with the values of its weights. Errors and costs as for :func:`read`."""
    try:
        import onnx
    except ImportError:
        raise MissingExtra(f"ONNX files need onnx, which is not installed: {install_hint('tensor')}") from None
    data = read_bytes(path, limit=MAX_BYTES)
    try:
        # Weights that a model keeps in other files are not opened: their shapes stand in the model itself.
        model = onnx.shape_inference.infer_shapes(onnx.load_model_from_string(data))
    except Exception as error:
        raise SourceError(f"is not an ONNX model: {str(error).splitlines()[0]}", where=str(path)) from None
    try:
        return _Reader(path, model).network()
    except SourceError as error:
        raise error.at(str(path)) from None


class _Reader:
    """Reads one model; ``made`` maps ONNX values to nodes or static values."""

    def __init__(self, path: Path, model: Any) -> None:
        self.model = model
        self.builder = OperationBuilder(path.stem, "read from ONNX")
        self.operands = Operands(self.builder)
        self.made: dict[str, Value] = {}
        self.version = max((item.version for item in model.opset_import if item.domain in ("", "ai.onnx")), default=1)
        self.inferred: dict[str, Shape] = {
            value.name: tuple(d.dim_value or 1 for d in value.type.tensor_type.shape.dim)
            for value in [*model.graph.input, *model.graph.output, *model.graph.value_info]
        }
        for item in model.graph.initializer:
            self.made[item.name] = Static(item.name, tuple(item.dims), _stored(item))

    def network(self) -> ImportedNetwork:
        """The graph: inputs, then operators in the model's order, then outputs."""
        graph = self.model.graph
        self.builder.pictures = any(node.op_type in _ON_PICTURES for node in graph.node)
        for value in graph.input:
            if value.name not in self.made:
                self.made[value.name] = self.builder.external(value.name, self.inferred[value.name])
        for node in graph.node:
            self._node(node)
        for value in graph.output:
            found = self.made.get(value.name)
            if not isinstance(found, str):
                raise SourceError(f"result {value.name!r} comes from nothing that is computed")
            self.builder.output(found, "output")
        return ImportedNetwork(dfg=self.builder.build(), weights=self.builder.weights)

    def _node(self, node: Any) -> None:
        """Add one operator, or evaluate it where it depends on no input. SourceError for one that is not lowered."""
        if not node.output:
            raise SourceError(f"operator {node.op_type!r} has no result")
        missing = next((name for name in node.input if name and name not in self.made), None)
        if missing is not None:
            raise SourceError(f"operator {node.op_type!r} reads {missing!r}, which nothing makes")
        inputs = [self.made[name] if name else None for name in node.input]
        if node.op_type == "Shape" and isinstance(inputs[0], str):
            size = self.builder.dimensions(inputs[0])
            inputs = [Static(node.input[0], size, np.broadcast_to(np.float32(0), size))]
        if not any(isinstance(value, str) for value in inputs):
            self._evaluate(node, inputs)
            return
        if node.op_type not in OPERATORS:
            known = ", ".join(sorted(OPERATORS))
            raise SourceError(f"operator {node.op_type!r} is not lowered; known: {known}")
        call = OnnxCall(
            builder=self.builder,
            operands=self.operands,
            op=node.op_type,
            name=node.name or node.output[0],
            inputs=inputs,
            attributes=self._attributes(node),
            version=self.version,
            results=len(node.output),
        )
        try:
            results = OPERATORS[node.op_type](call)
        except (KeyError, IndexError, ValueError, TypeError, ZeroDivisionError, StopIteration) as error:
            what = f"{type(error).__name__} {error}".strip()
            raise SourceError(f"operator {node.op_type!r} ({call.name}) does not fit its inputs: {what}") from None
        for name, value in zip(node.output, results):
            self.made[name] = value

    def _attributes(self, node: Any) -> dict[str, Any]:
        """The attributes of an operator by name."""
        from onnx.helper import get_attribute_value

        try:
            return {item.name: get_attribute_value(item) for item in node.attribute}
        except Exception as error:
            raise SourceError(f"attributes of operator {node.op_type!r} cannot be read: {error}") from None

    def _evaluate(self, node: Any, inputs: list[Any]) -> None:
        """Make the results of an operator on static values; only their shapes are known where a value is not there."""
        from onnx.reference import ReferenceEvaluator

        name = next((value.name for value in inputs if value is not None), node.output[0])
        results: list[Any] = [None] * len(node.output)
        if all(value is None or value.value is not None for value in inputs):
            feeds = {key: value.value for key, value in zip(node.input, inputs) if value is not None}
            try:
                opsets = {item.domain: item.version for item in self.model.opset_import}
                results = ReferenceEvaluator(node, opsets=opsets).run(None, feeds)
            except Exception as error:
                text = str(error).splitlines()[0] if str(error) else type(error).__name__
                raise SourceError(f"operator {node.op_type!r} on constants cannot be evaluated: {text}") from None
        for output, result in zip(node.output, results):
            size = self.inferred.get(output, (1,)) if result is None else tuple(np.shape(result))
            self.made[output] = Static(name, size, None if result is None else np.asarray(result))


def _stored(item: Any) -> Any:
    """The value of an initializer; None where it is kept in another file."""
    from onnx import TensorProto, numpy_helper

    if item.data_location == TensorProto.EXTERNAL:
        return None
    try:
        return numpy_helper.to_array(item)
    except Exception as error:
        raise SourceError(f"weight {item.name!r} cannot be read: {type(error).__name__} {error}") from None
