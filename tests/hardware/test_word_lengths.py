"""Hardware of other word lengths computes what the graph means in words of that length."""

from __future__ import annotations

import pytest
from tests import hand_mappings
from tests.hand_mappings import make
from tests.hardware.conftest import Cosimulate
from tests.random_cases import legal_mappings

from gridloom.dfg import DfgBuilder
from gridloom.errors import MappingError
from gridloom.hardware.bitstream.encode import encode, fit_parameters
from gridloom.hardware.bitstream.packets import pack, unpack
from gridloom.hardware.parameters import HardwareParameters
from gridloom.hardware.rtl.structure import Hardware
from gridloom.mapping import Mapping
from gridloom.mapping.configuration import configure

HAND = ("mesh_fifo_2", "torus_rotating", "torus_register_transfer")


@pytest.mark.tools
@pytest.mark.parametrize("width", [8, 16, 24])
def test_mappings_made_by_hand_run_in_narrow_words(width: int, cosimulate: Cosimulate) -> None:
    for name in HAND:
        assert cosimulate(hand_mappings.LEGAL[name](), width=width) == (), name


@pytest.mark.tools
@pytest.mark.parametrize(("style", "width"), [("static", 8), ("modulo", 16)])
def test_random_mappings_run_in_narrow_words(style: str, width: int, cosimulate: Cosimulate) -> None:
    for number, mapping in enumerate(legal_mappings(style, 3)):
        assert cosimulate(mapping, seed=number, width=width) == (), f"mapping {number} on {mapping.arch.name}"


@pytest.mark.tools
@pytest.mark.slow
@pytest.mark.parametrize(("style", "width"), [(s, w) for s in ("static", "modulo") for w in (8, 11, 16, 24)])
def test_many_random_mappings_run_in_narrow_words(style: str, width: int, cosimulate: Cosimulate) -> None:
    for number, mapping in enumerate(legal_mappings(style, 20)):
        assert cosimulate(mapping, seed=number, width=width) == (), f"mapping {number} on {mapping.arch.name}"


@pytest.mark.tools
@pytest.mark.parametrize("name", ["mesh_fifo_2", "torus_rotating", "torus_spill"])
def test_mappings_made_by_hand_run_in_long_words(name: str, cosimulate: Cosimulate) -> None:
    assert cosimulate(hand_mappings.LEGAL[name](), width=64) == ()
    assert cosimulate(hand_mappings.LEGAL[name](), width=33) == ()


@pytest.mark.tools
@pytest.mark.parametrize(("style", "width"), [("static", 40), ("modulo", 64)])
def test_random_mappings_run_in_long_words(style: str, width: int, cosimulate: Cosimulate) -> None:
    for number, mapping in enumerate(legal_mappings(style, 2)):
        assert cosimulate(mapping, seed=number, width=width) == (), f"mapping {number} on {mapping.arch.name}"


@pytest.mark.tools
@pytest.mark.slow
@pytest.mark.parametrize(("style", "width"), [(s, w) for s in ("static", "modulo") for w in (33, 48, 64)])
def test_many_random_mappings_run_in_long_words(style: str, width: int, cosimulate: Cosimulate) -> None:
    for number, mapping in enumerate(legal_mappings(style, 20)):
        assert cosimulate(mapping, seed=number, width=width, stall=number) == (), f"{number} on {mapping.arch.name}"


def test_long_words_take_two_packets_and_come_back() -> None:
    configuration = configure(hand_mappings.torus_rotating())
    hardware = Hardware(configuration.arch, fit_parameters(configuration, HardwareParameters(width=64)))
    fields = encode(configuration, hardware)
    read = unpack(hardware, pack(hardware, fields))
    for name, unit in fields.units.items():
        assert read.units[name].values == unit.values
        assert read.units[name].registers == unit.registers
    halves = {packet.offset >> 2 for packet in pack(hardware, fields) if packet.region == 1}
    assert halves == {0, 1}


def quotient_of(constant: int) -> Mapping:
    """x / constant on a row of three: a quotient is not the low bits of a longer one."""
    b = DfgBuilder("quotient")
    b.output(b.add("div", b.input("x"), b.const(constant), id="q"), "y")
    return make(
        b.build(),
        "mesh:1x3",
        1,
        {"x": ("pe_0_0", 0), "q": ("pe_0_1", 1), "y": ("pe_0_2", 2)},
        {
            ("x", "q", 0): ([("pe_0_0.out", 1), ("pe_0_0>pe_0_1", 1), ("pe_0_1.in0", 1)], 0),
            ("q", "y", 0): ([("pe_0_1.out", 2), ("pe_0_1>pe_0_2", 2), ("pe_0_2.in0", 2)], 0),
        },
    )


@pytest.mark.tools
def test_a_quotient_is_that_of_the_words(cosimulate: Cosimulate) -> None:
    # 200 is -56 in 8 bits.
    assert cosimulate(quotient_of(200), iterations=40, width=8) == ()
    assert cosimulate(quotient_of(200), iterations=40) == ()


@pytest.mark.parametrize(("constant", "fits"), [(255, True), (256, False), (-128, True), (-129, False)])
def test_constants_have_to_fit_a_word(constant: int, fits: bool) -> None:
    configuration = configure(quotient_of(constant))
    hardware = Hardware(configuration.arch, fit_parameters(configuration, HardwareParameters(width=8)))
    if fits:
        encode(configuration, hardware)
        return
    with pytest.raises(MappingError) as caught:
        encode(configuration, hardware)
    assert str(caught.value) == f"node 'c1': constant {constant} does not fit words of 8 bits; raise width"


def test_initial_values_have_to_fit_a_word() -> None:
    configuration = configure(hand_mappings.torus_rotating())
    hardware = Hardware(configuration.arch, fit_parameters(configuration, HardwareParameters(width=4)))
    with pytest.raises(MappingError) as caught:
        encode(configuration, hardware)
    assert str(caught.value) == "edge 'b' -> 'a': initial value 20 does not fit words of 4 bits; raise width"


def test_given_live_ins_have_to_fit_a_word() -> None:
    found = (m for m in legal_mappings("modulo", 20) if any(node.id == "k" for node in m.dfg.nodes))
    configuration = configure(next(found))
    hardware = Hardware(configuration.arch, fit_parameters(configuration, HardwareParameters(width=16)))
    encode(configuration, hardware, {"k": 65535})
    with pytest.raises(MappingError, match=r"^live-in 'k': 65536 does not fit words of 16 bits; raise width$"):
        encode(configuration, hardware, {"k": 65536})
