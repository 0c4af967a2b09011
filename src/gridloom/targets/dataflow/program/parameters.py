"""Parameters of the operations of a tensor graph, as ``TensorOperation.how`` holds them.

A node's op and label name the operation; its parameters are ``key=value;key=value``, where a value is a number or
several with commas. Graphs of the front ends for PyTorch and ONNX say everything that an operation needs; the built-in
networks have shapes only.

``transpose`` nodes move elements and compute nothing: ``reshape``, ``permute``, ``expand``, ``slice``, ``concat``,
``pad``, ``tile``, ``gather`` (rows of a table) and ``windows`` (what a convolution reads for each of its results).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from gridloom.errors import DfgError
from gridloom.targets.dataflow.program.model import TensorOperation

Tensor = NDArray[Any]
Parameters = dict[str, list[float]]


def encode_parameters(**parameters: float | Sequence[float]) -> str:
    """Return parameters as the text of ``TensorOperation.how``.

    >>> encode_parameters(axes=(0, 2, 1), eps=1e-05)
    'axes=0,2,1;eps=1e-05'
    """
    texts = []
    for key, value in parameters.items():
        values = value if isinstance(value, Sequence) else (value,)
        texts.append(f"{key}={','.join(repr(item) for item in values)}")
    return ";".join(texts)


def parameters_of(node: TensorOperation) -> Parameters:
    """Return the parameters of a node by name. DfgError for a text of another form.

    >>> parameters_of(TensorOperation(id="a", op="transpose", how="axes=0,2,1"))
    {'axes': [0, 2, 1]}
    """
    found: Parameters = {}
    for part in (node.how or "").split(";"):
        key, equals, values = part.partition("=")
        if not part:
            continue
        try:
            found[key] = [_number(text) for text in values.split(",") if text]
        except ValueError:
            equals = ""
        if not equals:
            raise DfgError(f"expected how='key=number,...;...', found {node.how!r}", where=f"node {node.id!r}")
    return found


def _number(text: str) -> float:
    """Return a whole number as an int, anything else as a float."""
    return int(text) if text.lstrip("-").isdigit() else float(text)
