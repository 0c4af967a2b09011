"""Built-in networks: published sizes, parameters, and what training adds."""

from __future__ import annotations

import re
from math import prod

import pytest

from gridloom import registry
from gridloom.compiler.source import load_source
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.targets.dataflow.program.costs import contraction, flops, total_flops


def network(name: str, **parameters: int | str | bool) -> Dfg:
    graph: Dfg = registry.load("networks", name).build(**parameters)
    return graph


def weights(dfg: Dfg) -> int:
    return sum(prod(node.shape) for node in dfg.nodes if node.op == "livein")


@pytest.mark.parametrize(
    ("name", "width", "layers", "extra"), [("bert_large", 1024, 24, 0), ("gpt2_xl", 1600, 48, 2 * 1600)]
)
def test_large_networks_have_their_published_parameters(name: str, width: int, layers: int, extra: int):
    # A block: 4 projections and two layers of 4 x width, with biases, and two norms; embeddings are not part of it.
    block = 4 * (width * width + width) + 8 * width * width + 5 * width + 4 * width
    assert weights(network(name)) == layers * block + extra


def test_operations_of_a_block_by_the_usual_count():
    rows, width = 128, 512
    dfg = network("encoder", rows=rows, width=width)
    products = sum(flops(dfg, node) for node in dfg.nodes if node.op == "gemm")
    assert products == 2 * rows * 12 * width * width + 4 * rows * rows * width


def test_attention_sums_over_the_features_of_a_head_and_over_positions():
    dfg = network("mha", rows=64, width=128, heads=4)
    assert contraction(dfg, dfg.node("scores")) == 32
    assert contraction(dfg, dfg.node("context")) == 64
    assert dfg.node("scores").shape == (4, 64, 64)


@pytest.mark.parametrize("name", registry.names("networks"))
def test_every_network_can_be_named_on_the_command_line(name: str):
    extra = ",layers=1" if name in ("bert_large", "gpt2_xl") else ""
    dfg = load_source(f"model:{name}{extra}")
    assert dfg.domain == "tensor"
    assert total_flops(dfg) > 0


def test_kernel_names_networks_where_no_kernel_has_the_name():
    assert load_source("kernel:mlp,width=64").name == "mlp,width=64"
    assert load_source("kernel:gemm").domain != "tensor"


def test_backward_pass_has_two_products_for_each_but_the_first():
    forward, both = network("mlp", width=64, layers=3), network("mlp", width=64, layers=3, training=True)
    products = [node.id for node in both.nodes if node.op == "gemm" and node.id not in forward.index]
    assert products == ["fc2.left_grad", "fc2.weight_grad", "fc1.left_grad", "fc1.weight_grad", "fc0.weight_grad"]
    per_product = flops(forward, forward.node("fc0"))
    assert all(flops(both, both.node(name)) == per_product for name in products)


def test_every_weight_of_a_product_gets_a_gradient_that_leaves():
    both = network("encoder", rows=32, width=64, heads=4, training=True)
    leaving = {both.operands(node)[0].id for node in both.nodes if node.op == "output"}
    gradients = [node for node in both.nodes if node.label == "weight_grad"]
    assert len(gradients) == 6
    assert {node.id for node in gradients} <= leaving


def test_attention_gradients_cost_what_their_products_cost():
    both = network("mha", rows=64, width=128, heads=4, training=True)
    for name in ("scores", "context"):
        cost = flops(both, both.node(name))
        assert flops(both, both.node(f"{name}.left_grad")) == cost
        assert flops(both, both.node(f"{name}.right_grad")) == cost


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("mha", {"width": 100, "heads": 16}, "network 'mha': width 100 is not a multiple of heads 16"),
        (
            "ffn",
            {"depth": 3},
            "network 'ffn' has no parameter 'depth'; it takes rows (1 to 65536; default 64), width (1 to 65536; "
            "default 512), hidden (0 to 262144; default 0), activation (gelu, relu; default gelu), training (false, "
            "true; default false)",
        ),
        ("mlp", {"layers": 0}, "network 'mlp': layers = 0 is not taken; expected a whole number, 1 to 64"),
        ("mlp", {"training": 1}, "network 'mlp': training = 1 is not taken; expected one of false, true"),
    ],
)
def test_wrong_parameters_are_named(name: str, parameters: dict[str, int], message: str):
    with pytest.raises(OptionError, match=f"^{re.escape(message)}$"):
        network(name, **parameters)


def test_every_operand_of_an_elementwise_product_gets_a_gradient():
    from gridloom.targets.dataflow.frontend.backward import with_backward
    from gridloom.targets.dataflow.frontend.graph import TensorBuilder

    b = TensorBuilder("gated", "")
    x = b.input("x", (4, 8))
    left, right = b.elementwise("relu", x, name="left"), b.elementwise("tanh", x, name="right")
    b.output(b.elementwise("mul", left, right, name="product"))
    dfg = with_backward(b.build())
    reads = {node.id: [dfg.edges[k].source for k in dfg.operand_edges(node.id)] for node in dfg.nodes}
    assert reads["product.grad"][1:] == ["right"]
    assert reads["product.grad1"][1:] == ["left"]
    assert "left.grad" in reads and "right.grad" in reads
