"""ONNX's recurrent layers, step by step: LSTM, GRU and RNN.

The products with the inputs of all steps are one operation; each step then adds its product with the state before it.
Peepholes, clipping, sequence lengths, another layout and other activations are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from gridloom.targets.dataflow.frontend.onnx_operators import OnnxCall, Results
from gridloom.targets.dataflow.frontend.operations import OperationBuilder
from gridloom.targets.dataflow.frontend.statics import Static


@dataclass(frozen=True, kw_only=True)
class _Layer:
    """One direction of a layer: the weights of the states, and both halves of the bias; None where there is none."""

    builder: OperationBuilder
    hidden: int
    recurrent: str
    input_bias: str | None
    state_bias: str | None

    def biased(self, x: str, bias: str | None, name: str) -> str:
        """Add a bias where there is one."""
        return x if bias is None else self.builder.along("elementwise", "bias", [x, bias], name)

    def part(self, x: str, first: int, count: int, name: str) -> str:
        """Take the columns of some gates, each as wide as the state."""
        return self.builder.slice(x, -1, first * self.hidden, (first + count) * self.hidden, 1, name)

    def gates(self, inputs: str, state: str | None, name: str) -> str:
        """Return the sums of all gates: inputs, state times its weights, and biases."""
        if state is not None:
            of_state = self.builder.product(state, self.recurrent, f"{name}.state")
            inputs = self.builder.apply("add", [inputs, of_state], f"{name}.gates")
        inputs = self.biased(inputs, self.input_bias, f"{name}.biased")
        return self.biased(inputs, self.state_bias, f"{name}.biased")


#: What a step does: the layer, the products of its inputs, state and cell before it, the name -> state and cell.
_Step = Callable[[_Layer, str, str | None, str | None, str], tuple[str, str | None]]


def _lstm_step(layer: _Layer, inputs: str, state: str | None, cell: str | None, name: str) -> tuple[str, str | None]:
    """One step of a long short-term memory; gates are in the order input, output, forget, cell."""
    b = layer.builder
    gates = layer.gates(inputs, state, name)
    opened = [layer.part(gates, k, 1, f"{name}.gate{k}") for k in range(4)]
    put, out, keep = (b.apply("sigmoid", [gate], f"{name}.sigmoid{k}") for k, gate in enumerate(opened[:3]))
    fresh = b.apply("mul", [put, b.apply("tanh", opened[3:], f"{name}.tanh")], f"{name}.fresh")
    if cell is not None:
        fresh = b.apply("add", [b.apply("mul", [keep, cell], f"{name}.kept"), fresh], f"{name}.cell")
    return b.apply("mul", [out, b.apply("tanh", [fresh], f"{name}.squashed")], f"{name}.state"), fresh


def _rnn_step(layer: _Layer, inputs: str, state: str | None, cell: str | None, name: str) -> tuple[str, str | None]:
    """One step of a plain recurrent layer."""
    return layer.builder.apply("tanh", [layer.gates(inputs, state, name)], f"{name}.state"), None


def _gru_step(*, reset_after: bool) -> _Step:
    """One step of a gated recurrent unit; gates are in the order update, reset, hidden.

    The reset gate is applied to the product of state and weights (``reset_after``), or to the state before it.
    """

    def run(layer: _Layer, inputs: str, state: str | None, cell: str | None, name: str) -> tuple[str, str | None]:
        b = layer.builder
        weights = [layer.part(layer.recurrent, *part, f"{name}.weights") for part in ((0, 2), (2, 1))]
        biases = [
            None if layer.state_bias is None else layer.part(layer.state_bias, *part, f"{name}.bias")
            for part in ((0, 2), (2, 1))
        ]
        inputs = layer.biased(inputs, layer.input_bias, f"{name}.biased")
        gates = layer.part(inputs, 0, 2, f"{name}.inputs")
        if state is not None:
            gates = b.apply("add", [gates, b.product(state, weights[0], f"{name}.gated")], f"{name}.gates")
        gates = b.apply("sigmoid", [layer.biased(gates, biases[0], f"{name}.biases")], f"{name}.sigmoid")
        update, reset = (layer.part(gates, k, 1, f"{name}.gate{k}") for k in range(2))
        fresh = layer.part(inputs, 2, 1, f"{name}.hidden")
        if reset_after:
            fresh = _added_after(layer, fresh, reset, state, weights[1], biases[1], name)
        else:
            if state is not None:
                kept = b.apply("mul", [reset, state], f"{name}.reset")
                fresh = b.apply("add", [fresh, b.product(kept, weights[1], f"{name}.product")], f"{name}.sum")
            fresh = layer.biased(fresh, biases[1], f"{name}.sum_bias")
        fresh = b.apply("tanh", [fresh], f"{name}.tanh")
        rest = b.apply("sub", [b.number(1), update], f"{name}.rest")
        made = b.apply("mul", [rest, fresh], f"{name}.fresh")
        if state is not None:
            made = b.apply("add", [made, b.apply("mul", [update, state], f"{name}.kept")], f"{name}.state")
        return made, None

    return run


def _added_after(
    layer: _Layer, fresh: str, reset: str, state: str | None, weights: str, bias: str | None, name: str
) -> str:
    """Add the reset gate times (state times weights plus bias)."""
    b = layer.builder
    if state is None:
        if bias is None:
            return fresh
        return b.apply("add", [fresh, b.apply("mul", [reset, bias], f"{name}.reset")], f"{name}.sum")
    product = layer.biased(b.product(state, weights, f"{name}.product"), bias, f"{name}.product_bias")
    return b.apply("add", [fresh, b.apply("mul", [reset, product], f"{name}.reset")], f"{name}.sum")


def _recurrent(call: OnnxCall, step: _Step, gates: int) -> Results:
    """A layer in one or both directions: the states of all steps, the last state and, for LSTM, the last cell."""
    refused = ("layout", "clip", "activations", "input_forget")
    if any(call.attributes.get(key) for key in refused if not _usual(call, key)) or call.has(4) or call.has(7):
        raise call.refuse("has peepholes, clipping, sequence lengths, another layout or other activations")
    b = call.builder
    steps, samples, _ = call.size(0)
    hidden = call.attributes["hidden_size"]
    ways = {b"forward": [False], b"reverse": [True], b"bidirectional": [False, True]}[
        call.attributes.get("direction", b"forward")
    ]
    states, lasts, cells = [], [], []
    for way, backwards in enumerate(ways):
        name = f"{call.name}.{way}" if len(ways) > 1 else call.name
        weight, recurrent, bias, state, cell = (
            _part(call, k, way, transposed=k < 3) if call.has(k) else None for k in (1, 2, 3, 5, 6)
        )
        if weight is None or recurrent is None:
            raise call.refuse("has no weights")
        width = gates * hidden
        halves = [
            None if bias is None else b.slice(bias, 0, half * width, (half + 1) * width, 1, f"{name}.bias{half}")
            for half in range(2)
        ]
        layer = _Layer(builder=b, hidden=hidden, recurrent=recurrent, input_bias=halves[0], state_bias=halves[1])
        inputs = b.product(call.node(0), weight, f"{name}.inputs")
        made: list[str] = [""] * steps
        for k in range(steps)[:: -1 if backwards else 1]:
            at = b.select(inputs, 0, k, f"{name}.input{k}")
            state, cell = step(layer, at, state, cell, f"{name}.step{k}")
            made[k] = state
        rows = [b.reshape(x, (1, 1, samples, hidden), f"{name}.row") for x in made]
        states.append(b.concat(rows, 0, f"{name}.states"))
        lasts.append(b.reshape(str(state), (1, samples, hidden), f"{name}.last"))
        if cell is not None:
            cells.append(b.reshape(cell, (1, samples, hidden), f"{name}.last_cell"))
    results = [b.concat(states, 1, call.name), b.concat(lasts, 0, f"{call.name}.h")]
    return [*results, b.concat(cells, 0, f"{call.name}.c")] if cells else results


def _usual(call: OnnxCall, key: str) -> bool:
    """Return whether an attribute only says what holds anyway: the usual activations."""
    usual = {"LSTM": [b"Sigmoid", b"Tanh", b"Tanh"], "GRU": [b"Sigmoid", b"Tanh"], "RNN": [b"Tanh"]}[call.op]
    given = call.attributes.get("activations")
    return key == "activations" and given is not None and list(given) in (usual, usual * 2)


def _part(call: OnnxCall, k: int, way: int, *, transposed: bool) -> str:
    """The share of one direction of an input, weights transposed."""
    value = call.inputs[k]
    if isinstance(value, Static):
        array = None if value.value is None else value.value[way]
        size = value.dimensions[1:]
        if transposed:
            array, size = None if array is None else array.T, size[::-1]
        return call.operands.node(Static(value.name, size, array))
    part = call.builder.select(call.node(k), 0, way, f"{call.name}.part")
    return call.builder.permute(part, (1, 0), f"{call.name}.turned") if transposed else part


def _gru(call: OnnxCall) -> Results:
    return _recurrent(call, _gru_step(reset_after=bool(call.attributes.get("linear_before_reset"))), 3)


#: Recurrent layers.
RECURRENT: Final[dict[str, Callable[[OnnxCall], Results]]] = {
    "LSTM": lambda call: _recurrent(call, _lstm_step, 4),
    "GRU": _gru,
    "RNN": lambda call: _recurrent(call, _rnn_step, 1),
}
