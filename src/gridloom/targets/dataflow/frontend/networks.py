"""Built-in networks: real shapes, no weights (a mapping does not depend on their values).

``rows`` are the rows that one sample streams through the pipeline: the samples of a batch, the positions of a sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gridloom.compiler.parameters import KernelParameter, Parameters, Rule, check_settings, choice, number, spec
from gridloom.targets.dataflow.frontend.backward import with_backward
from gridloom.targets.dataflow.frontend.graph import TensorBuilder
from gridloom.targets.dataflow.program.model import TensorProgram

#: Every network takes this one besides its own parameters.
_TRAINING = {"training": choice("false", ("false", "true"), "true: with the backward pass")}


@dataclass(frozen=True)
class BuiltInNetwork:
    """A built-in network: ``graph`` draws it into a builder."""

    name: str
    #: What it is, in one line; it becomes the notes of the graph.
    summary: str
    #: Called with (builder, **settings).
    graph: Callable[..., None]
    parameters: Parameters = field(default_factory=dict)
    rule: Rule | None = None

    def build(self, **parameters: object) -> TensorProgram:
        """The graph with these parameters; with ``training=true`` the backward pass, too. OptionError for a bad one.

        The name of the graph shows the parameters that differ from their defaults. Linear in the number of operations;
        weights have shapes but no values.
        """
        if isinstance(parameters.get("training"), bool):
            parameters["training"] = str(parameters["training"]).lower()
        declared = {**self.parameters, **_TRAINING}
        settings = check_settings(f"network {self.name!r}", declared, parameters, self.rule)
        training = settings.pop("training") == "true"
        builder = TensorBuilder(spec(self.name, self.parameters, settings), self.summary)
        self.graph(builder, **settings)
        graph = builder.build()
        return with_backward(graph) if training else graph


def _gemm(b: TensorBuilder, rows: int, inner: int, columns: int) -> None:
    """One linear layer without a bias."""
    b.output(b.linear(b.input("x", (rows, inner)), columns, "gemm", bias=False))


def _mlp(b: TensorBuilder, rows: int, width: int, layers: int, hidden: int) -> None:
    """Linear layers, all but the last followed by ReLU."""
    x = b.input("x", (rows, width))
    for k in range(layers):
        features = width if k == layers - 1 or not hidden else hidden
        x = b.linear(x, features, f"fc{k}")
        if k < layers - 1:
            x = b.elementwise("relu", x, name=f"relu{k}")
    b.output(x)


def _feed_forward(b: TensorBuilder, x: str, width: int, hidden: int, activation: str, name: str = "") -> str:
    """Two linear layers with an activation between them."""
    up = b.elementwise(activation, b.linear(x, hidden, f"{name}up"), name=f"{name}{activation}")
    return b.linear(up, width, f"{name}down")


def _ffn(b: TensorBuilder, rows: int, width: int, hidden: int, activation: str) -> None:
    """The feed-forward part alone."""
    x = b.input("x", (rows, width))
    b.output(_feed_forward(b, x, width, hidden or 4 * width, activation))


def _attention(b: TensorBuilder, x: str, heads: int, name: str = "") -> str:
    """Query, key and value projections, scaled scores, softmax, context and output projection of all heads."""
    rows, width = b.shape(x)
    query, key, value = (b.linear(x, width, f"{name}{part}") for part in ("query", "key", "value"))
    scores = b.matmul(query, key, (heads, rows, rows), f"{name}scores")
    weights = b.softmax(b.elementwise("scale", scores, name=f"{name}scale"), f"{name}softmax")
    context = b.matmul(weights, value, (heads, rows, width // heads), f"{name}context")
    merged = b.matmul(context, b.weight(f"{name}project.weight", (width, width)), (rows, width), f"{name}project")
    return b.elementwise("bias", merged, b.weight(f"{name}project.bias", (width,)), name=f"{name}project.bias_add")


def _mha(b: TensorBuilder, rows: int, width: int, heads: int) -> None:
    """The attention part alone."""
    b.output(_attention(b, b.input("x", (rows, width)), heads))


def _block(b: TensorBuilder, x: str, heads: int, hidden: int, order: str, name: str = "") -> str:
    """One transformer block, with the norm after each part (``post``, as in BERT) or before it (``pre``, GPT-2)."""
    width = b.shape(x)[-1]
    if order == "pre":
        x = b.elementwise("add", _attention(b, b.norm(x, f"{name}norm1"), heads, name), x, name=f"{name}add1")
        inner = _feed_forward(b, b.norm(x, f"{name}norm2"), width, hidden, "gelu", name)
        return b.elementwise("add", inner, x, name=f"{name}add2")
    x = b.norm(b.elementwise("add", _attention(b, x, heads, name), x, name=f"{name}add1"), f"{name}norm1")
    inner = _feed_forward(b, x, width, hidden, "gelu", name)
    return b.norm(b.elementwise("add", inner, x, name=f"{name}add2"), f"{name}norm2")


def _encoder(b: TensorBuilder, rows: int, width: int, heads: int, hidden: int, order: str) -> None:
    """One block alone."""
    b.output(_block(b, b.input("x", (rows, width)), heads, hidden or 4 * width, order))


def _stack(b: TensorBuilder, rows: int, layers: int, width: int, heads: int, order: str) -> None:
    """Blocks one after the other; a final norm where the norms come first."""
    x = b.input("x", (rows, width))
    for k in range(layers):
        x = _block(b, x, heads, 4 * width, order, f"layer{k}.")
    b.output(x if order == "post" else b.norm(x, "norm"))


def _bert_large(b: TensorBuilder, rows: int, layers: int) -> None:
    """BERT large: 24 blocks by default."""
    _stack(b, rows, layers, 1024, 16, "post")


def _gpt2_xl(b: TensorBuilder, rows: int, layers: int) -> None:
    """GPT-2 XL: 48 blocks by default."""
    _stack(b, rows, layers, 1600, 25, "pre")


def _heads_divide(width: int, heads: int, **_: object) -> str | None:
    """What is wrong with width and heads, or None."""
    return f"width {width} is not a multiple of heads {heads}" if width % heads else None


_SAMPLES = number(64, 1, 65536, "rows of a sample")
_POSITIONS = number(128, 1, 65536, "positions")
_WIDTH = number(512, 1, 65536, "features")
_HEADS = number(16, 1, 256, "heads; they divide the width")
_HIDDEN = number(0, 0, 262144, "features inside; 0: four times the width")

_GEMM_SHAPE = {
    "rows": _SAMPLES,
    "inner": number(1024, 1, 65536, "features it sums over"),
    "columns": number(1024, 1, 65536, "features of the result"),
}
GEMM = BuiltInNetwork("gemm", "one matrix product with weights", _gemm, _GEMM_SHAPE)

_MLP_SHAPE = {
    "rows": _SAMPLES,
    "width": number(1024, 1, 65536, "features"),
    "layers": number(3, 1, 64, "linear layers"),
    "hidden": number(0, 0, 262144, "features between layers; 0: the width"),
}
MLP = BuiltInNetwork("mlp", "linear layers with ReLU between them", _mlp, _MLP_SHAPE)

_ACTIVATION = choice("gelu", ("gelu", "relu"), "between the layers")
_FFN_SHAPE = {"rows": _SAMPLES, "width": _WIDTH, "hidden": _HIDDEN, "activation": _ACTIVATION}
FFN = BuiltInNetwork("ffn", "the feed-forward part of a transformer block", _ffn, _FFN_SHAPE)

_MHA_SHAPE = {"rows": _POSITIONS, "width": _WIDTH, "heads": _HEADS}
MHA = BuiltInNetwork("mha", "multi-head attention with its projections", _mha, _MHA_SHAPE, _heads_divide)

_ENCODER_SHAPE = _MHA_SHAPE | {"hidden": _HIDDEN, "order": choice("post", ("post", "pre"), "where the norms are")}
ENCODER = BuiltInNetwork("encoder", "one transformer block", _encoder, _ENCODER_SHAPE, _heads_divide)


def _stacked(positions: int, blocks: int) -> dict[str, KernelParameter]:
    """The parameters of a network of equal blocks."""
    return {"rows": number(positions, 1, 65536, "positions"), "layers": number(blocks, 1, 96, "blocks")}


BERT_LARGE = BuiltInNetwork("bert_large", "24 blocks of 1,024 features and 16 heads", _bert_large, _stacked(384, 24))
GPT2_XL = BuiltInNetwork("gpt2_xl", "48 blocks of 1,600 features and 25 heads", _gpt2_xl, _stacked(1024, 48))
