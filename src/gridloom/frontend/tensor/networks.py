"""Built-in networks: real shapes, no weights (a mapping does not depend on their values).

``rows`` are the rows that one sample streams through the pipeline: the samples of a batch, the positions of a sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.frontend.kernels.base import Parameter, choice, number
from gridloom.frontend.tensor.backward import with_backward
from gridloom.frontend.tensor.graph import TensorBuilder


@dataclass(frozen=True, kw_only=True)
class Network:
    """A built-in network: ``graph`` draws it into a builder."""

    name: str
    summary: str
    graph: Callable[..., None]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    #: Extra rule over several parameters: returns what is wrong, or None.
    rule: Callable[..., str | None] | None = None

    def build(self, **parameters: object) -> Dfg:
        """The graph with these parameters; with ``training=true`` the backward pass too. OptionError for a bad one."""
        training = parameters.pop("training", False)
        settings = self._settings(parameters)
        shown = ",".join(f"{key}={value}" for key, value in settings.items() if value != self.parameters[key].default)
        builder = TensorBuilder(f"{self.name},{shown}" if shown else self.name, self.summary)
        self.graph(builder, **settings)
        graph = builder.build()
        return with_backward(graph) if training in (True, "true") else graph

    def _settings(self, parameters: Mapping[str, object]) -> dict[str, int | str]:
        settings: dict[str, int | str] = {}
        for name in parameters:
            if name not in self.parameters:
                known = ", ".join([*self.parameters, "training"])
                raise OptionError(f"network {self.name!r} has no parameter {name!r}; it takes {known}")
        for name, parameter in self.parameters.items():
            value = parameter.parse(parameters.get(name, parameter.default))
            if value is None:
                raise OptionError(
                    f"network {self.name!r}: {name} = {parameters[name]!r} is not taken; expected {parameter.allowed}"
                )
            settings[name] = value
        wrong = self.rule(**settings) if self.rule else None
        if wrong:
            raise OptionError(f"network {self.name!r}: {wrong}")
        return settings


def _gemm(b: TensorBuilder, rows: int, inner: int, columns: int) -> None:
    b.output(b.linear(b.input("x", (rows, inner)), columns, "gemm", bias=False))


def _mlp(b: TensorBuilder, rows: int, width: int, layers: int, hidden: int) -> None:
    x = b.input("x", (rows, width))
    for k in range(layers):
        features = width if k == layers - 1 or not hidden else hidden
        x = b.linear(x, features, f"fc{k}")
        if k < layers - 1:
            x = b.elementwise("relu", x, name=f"relu{k}")
    b.output(x)


def _feed_forward(b: TensorBuilder, x: str, width: int, hidden: int, activation: str, name: str = "") -> str:
    up = b.elementwise(activation, b.linear(x, hidden, f"{name}up"), name=f"{name}{activation}")
    return b.linear(up, width, f"{name}down")


def _ffn(b: TensorBuilder, rows: int, width: int, hidden: int, activation: str) -> None:
    x = b.input("x", (rows, width))
    b.output(_feed_forward(b, x, width, hidden or 4 * width, activation))


def _attention(b: TensorBuilder, x: str, heads: int, name: str = "") -> str:
    rows, width = b.shape(x)
    query, key, value = (b.linear(x, width, f"{name}{part}") for part in ("query", "key", "value"))
    scores = b.matmul(query, key, (heads, rows, rows), f"{name}scores")
    weights = b.softmax(b.elementwise("scale", scores, name=f"{name}scale"), f"{name}softmax")
    context = b.matmul(weights, value, (heads, rows, width // heads), f"{name}context")
    merged = b.matmul(context, b.weight(f"{name}project.weight", (width, width)), (rows, width), f"{name}project")
    return b.elementwise("bias", merged, b.weight(f"{name}project.bias", (width,)), name=f"{name}project.bias_add")


def _mha(b: TensorBuilder, rows: int, width: int, heads: int) -> None:
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
    b.output(_block(b, b.input("x", (rows, width)), heads, hidden or 4 * width, order))


def _stack(b: TensorBuilder, rows: int, layers: int, width: int, heads: int, order: str) -> None:
    x = b.input("x", (rows, width))
    for k in range(layers):
        x = _block(b, x, heads, 4 * width, order, f"layer{k}.")
    b.output(x if order == "post" else b.norm(x, "norm"))


def _bert_large(b: TensorBuilder, rows: int, layers: int) -> None:
    _stack(b, rows, layers, 1024, 16, "post")


def _gpt2_xl(b: TensorBuilder, rows: int, layers: int) -> None:
    _stack(b, rows, layers, 1600, 25, "pre")


def _heads_divide(width: int, heads: int, **_: object) -> str | None:
    return f"width {width} is not a multiple of heads {heads}" if width % heads else None


_ROWS = number(64, 1, 65536, "rows of a sample")
_WIDTH = number(1024, 1, 65536, "features")
_HEADS = number(16, 1, 256, "heads; they divide the width")
_HIDDEN = number(0, 0, 262144, "features inside; 0: four times the width")

GEMM = Network(
    name="gemm",
    summary="one matrix product with weights",
    graph=_gemm,
    parameters={
        "rows": _ROWS,
        "inner": number(1024, 1, 65536, "features it sums over"),
        "columns": number(1024, 1, 65536, "features of the result"),
    },
)
MLP = Network(
    name="mlp",
    summary="linear layers with ReLU between them",
    graph=_mlp,
    parameters={
        "rows": _ROWS,
        "width": _WIDTH,
        "layers": number(3, 1, 64, "linear layers"),
        "hidden": number(0, 0, 262144, "features between layers; 0: the width"),
    },
)
FFN = Network(
    name="ffn",
    summary="the feed-forward part of a transformer block",
    graph=_ffn,
    parameters={
        "rows": _ROWS,
        "width": number(512, 1, 65536, "features"),
        "hidden": _HIDDEN,
        "activation": choice("gelu", ("gelu", "relu"), "between the layers"),
    },
)
MHA = Network(
    name="mha",
    summary="multi-head attention with its projections",
    graph=_mha,
    parameters={
        "rows": number(128, 1, 65536, "positions"),
        "width": number(512, 1, 65536, "features"),
        "heads": _HEADS,
    },
    rule=_heads_divide,
)
ENCODER = Network(
    name="encoder",
    summary="one transformer block",
    graph=_encoder,
    parameters={
        "rows": number(128, 1, 65536, "positions"),
        "width": number(512, 1, 65536, "features"),
        "heads": _HEADS,
        "hidden": _HIDDEN,
        "order": choice("post", ("post", "pre"), "where the norms are"),
    },
    rule=_heads_divide,
)
BERT_LARGE = Network(
    name="bert_large",
    summary="24 blocks of 1,024 features and 16 heads",
    graph=_bert_large,
    parameters={"rows": number(384, 1, 65536, "positions"), "layers": number(24, 1, 96, "blocks")},
)
GPT2_XL = Network(
    name="gpt2_xl",
    summary="48 blocks of 1,600 features and 25 heads",
    graph=_gpt2_xl,
    parameters={"rows": number(1024, 1, 65536, "positions"), "layers": number(48, 1, 96, "blocks")},
)
