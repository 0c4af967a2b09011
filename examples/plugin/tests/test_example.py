"""The batteries of ``gridloom.testing`` over what the plug-in declares, and one test for each behaviour of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

import gridloom as gl
from gridloom.testing import check_cost_model, check_family, check_mapper, check_reader

AVERAGE = Path(__file__).resolve().parents[1] / "average.ops"


def test_greedy_keeps_what_every_mapper_promises() -> None:
    """The battery runs the mapper on each kind of array that it declares."""
    check_mapper("greedy")


@pytest.mark.parametrize("arch", ["king:1x1", "king:2x3", "king:4x4", "king:4x4,fifo=2,operands=4"])
def test_king_keeps_what_every_family_promises(arch: str) -> None:
    """The battery builds the array, reads its description back and maps onto it."""
    check_family(arch)


def test_ops_keeps_what_every_reader_promises() -> None:
    """The battery reads the file and damaged copies of it."""
    check_reader(AVERAGE)


def test_hops_keeps_what_every_cost_model_promises() -> None:
    """The battery asks for predictions of a few placements."""
    check_cost_model("hops")


@pytest.mark.parametrize("arch", ["king:4x4", "mesh:4x4", "hex:4x4", "onehop:4x4"])
def test_greedy_maps_the_average(arch: str) -> None:
    """A file of ours on arrays of ours and of others."""
    result = gl.map(AVERAGE, arch, mapper="greedy", effort=2000)
    assert result.status == "mapped"


def test_inner_tiles_of_a_king_grid_have_eight_neighbours() -> None:
    """The corner has three, the border five."""
    leaving = [source for source, _, _ in gl.arch("king:3x3").links]
    assert [leaving.count(tile) for tile in range(9)] == [3, 5, 3, 5, 8, 5, 3, 5, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y = add x 1", "bad.ops:1: 'x' is not defined above"),
        ("input x\ninput x", "bad.ops:2: 'x' is defined twice"),
        ("what is this", "bad.ops:1: expected input NAME, NAME = OP OPERAND ... or output NAME"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, text: str, message: str) -> None:
    """Errors say the file, the line, what was found and what was expected."""
    (tmp_path / "bad.ops").write_text(text)
    with pytest.raises(gl.GridloomError) as raised:
        gl.load(tmp_path / "bad.ops")
    assert message in str(raised.value)
