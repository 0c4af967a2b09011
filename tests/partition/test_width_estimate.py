"""What counting says about the width of a graph on rows of ALUs."""

from __future__ import annotations

import pytest

from gridloom.archs import build
from gridloom.compiler.source import load_source
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.errors import OptionError
from gridloom.partition.width_estimate import BoundEstimator, bound_estimate, check_columns, demand


def graph(ops: int, inputs: int = 1, outputs: int = 1, constants: int = 1) -> Dfg:
    b = DfgBuilder("g", "cma24")
    values = [b.input(f"x{k}") for k in range(inputs)]
    for k in range(ops):
        values.append(b.add("add", values[-1], b.const(k % constants)))
    for k in range(outputs):
        b.output(values[-1], f"y{k}")
    return b.build()


@pytest.mark.parametrize(
    ("ops", "inputs", "outputs", "expected"), [(8, 1, 1, 1), (9, 1, 1, 2), (3, 5, 1, 5), (3, 1, 7, 7), (96, 1, 1, 12)]
)
def test_bound_is_the_largest_of_ops_loads_and_stores(ops: int, inputs: int, outputs: int, expected: int) -> None:
    found = bound_estimate(graph(ops, inputs, outputs), build("vpcma"))
    assert (found.width, found.bound, found.mappable) == (expected, expected, True)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"ops": 97}, "97 ops"),
        ({"ops": 3, "inputs": 13}, "13 loads"),
        ({"ops": 3, "outputs": 13}, "13 stores"),
        ({"ops": 20, "constants": 17}, "17 constants, 16 registers"),
    ],
)
def test_what_has_no_room_is_refused_with_the_reason(given: dict[str, int], reason: str) -> None:
    found = bound_estimate(graph(**given), build("vpcma"))
    assert found.width is None
    assert reason in found.reason


def test_published_counts_are_what_is_demanded() -> None:
    need = demand(load_source("kernel:cma_md5"), build("vpcma"))
    assert (need.ops, need.constants, need.loads, need.stores) == (176, 25, 20, 4)


def test_loop_carried_values_and_missing_classes_are_refused() -> None:
    b = DfgBuilder("acc", "cma24")
    total = b.add("add", b.input("x"), id="total")
    b.carry(total, total, operand=1, distance=1, initial=[0])
    b.output(total, "y")
    assert "between iterations" in bound_estimate(b.build(), build("vpcma")).reason
    wide = DfgBuilder("div", "i32")
    wide.output(wide.add("div", wide.input("x"), wide.input("z")), "y")
    assert "div" in bound_estimate(wide.build(), build("vpcma")).reason


def test_the_estimator_is_named_and_other_arrays_are_refused() -> None:
    assert BoundEstimator().estimate(graph(9), build("vpcma")).width == 2
    assert BoundEstimator().name == "bound"
    check_columns(build("vpcma"))
    for arch in ("mesh:4x4", "torus:4x4", "streaming-engine"):
        with pytest.raises(OptionError, match="vpcma"):
            check_columns(build(arch))
