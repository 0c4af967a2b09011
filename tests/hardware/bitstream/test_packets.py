"""Configuration bits survive every way there and back."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import hand_mappings
from tests.random_cases import legal_mappings

from gridloom.archs import build
from gridloom.errors import MappingError, OptionError
from gridloom.hardware.bitstream.encode import encode, fit_parameters
from gridloom.hardware.bitstream.files import disassemble, load_bits, read_bits, to_binary, to_hex
from gridloom.hardware.bitstream.packets import Fields, Packet, UnitFields, difference, pack, size, unpack
from gridloom.hardware.parameters import HardwareParameters, parse_parameters
from gridloom.hardware.rtl.layout import context_layout
from gridloom.hardware.rtl.structure import Hardware
from gridloom.mapping.configuration import configure

ARRAYS = (
    "mesh:2x3", "onehop:3x3,fifo=2,mul=checkerboard", "torus:2x2,regs=4,rotating=2", "torus:2x2,regs=8,file=central",
    "streaming-engine:4,spokes=4", "vpcma:3x2",
)  # fmt: skip


@cache
def hardware_of(text: str) -> Hardware:
    return Hardware(build(text), HardwareParameters(values=5, lanes=2, fifo=3, width=32))


def plain(fields: Fields) -> tuple[Any, ...]:
    """The fields without those that are 0: a field that is 0 and one that is missing configure the same thing."""
    units = {
        name: (
            {s: {k: v for k, v in numbers.items() if v} for s, numbers in unit.contexts.items()},
            unit.values, unit.registers, unit.setting or 0,
        )
        for name, unit in fields.units.items()
    }  # fmt: skip
    return fields.ii, fields.settings, units


@st.composite
def random_fields(draw: st.DrawFn) -> tuple[Hardware, Fields]:
    hardware = hardware_of(draw(st.sampled_from(ARRAYS)))
    ii = draw(st.integers(1, min(hardware.contexts, 5)))
    fields = Fields(ii=ii, settings=tuple(draw(st.integers(0, 1)) for _ in range(hardware.setting_bits)))
    word = st.integers(0, (1 << hardware.width) - 1)
    for unit in hardware.units:
        layout = context_layout(unit.shape, hardware.parameters)
        record = UnitFields(contexts={slot: {} for slot in range(ii)} if layout.bits else {})
        for numbers in record.contexts.values():
            for field in draw(st.lists(st.sampled_from(layout.fields), max_size=4, unique=True)):
                numbers[field.name] = draw(st.integers(1, (1 << field.width) - 1))
        if unit.shape.kind == "pe" and unit.shape.words(hardware.parameters):
            record.values = draw(st.dictionaries(st.integers(0, 4), word, max_size=2))
        if unit.shape.registers:
            record.registers = draw(st.dictionaries(st.integers(0, unit.shape.registers - 1), word, max_size=2))
            record.setting = draw(st.integers(0, unit.shape.registers))
        if unit.shape.kind == "const":
            record.setting = draw(word)
        fields.units[unit.name] = record
    return hardware, fields


@settings(max_examples=60, deadline=None)
@given(random_fields())
def test_fields_come_back_from_packets_and_from_both_kinds_of_file(case: tuple[Hardware, Fields]) -> None:
    hardware, fields = case
    packets = pack(hardware, fields)
    assert plain(unpack(hardware, packets)) == plain(fields)
    assert pack(hardware, unpack(hardware, packets)) == packets
    assert [Packet.from_int(packet.to_int()) for packet in packets] == packets
    for data in (to_hex(hardware, packets).encode(), to_binary(hardware, packets)):
        head, read = read_bits(data)
        assert read == packets
        assert HardwareParameters.from_json(head["parameters"]) == hardware.parameters


@pytest.mark.parametrize("style", ["static", "modulo", "engine", "vpcma"])
def test_bits_of_mappings_survive_a_round_trip(style: str) -> None:
    for mapping in legal_mappings(style, 6):
        if mapping.arch.spec.get("level") == "paper":
            continue
        configuration = configure(mapping)
        hardware = Hardware(mapping.arch, fit_parameters(configuration))
        fields = encode(configuration, hardware, {"k": 7, "v": -3})
        packets = pack(hardware, fields)
        assert plain(unpack(hardware, packets)) == plain(fields)
        assert disassemble(hardware, packets)


def test_partial_reconfiguration_holds_the_packets_of_the_named_tiles() -> None:
    configuration = configure(hand_mappings.mesh_fifo_2())
    hardware = Hardware(configuration.arch, fit_parameters(configuration))
    fields = encode(configuration, hardware)
    whole = pack(hardware, fields)
    part = pack(hardware, fields, only=["pe_1_1"])
    number = next(unit.id for unit in hardware.units if unit.name == "pe_1_1")
    assert part == [packet for packet in whole if packet.unit == number]
    assert len(part) < len(whole) / 4
    with pytest.raises(MappingError, match="has no tile 'pe_9_9'"):
        pack(hardware, fields, only=["pe_9_9"])


def test_the_difference_of_two_configurations_is_what_changed() -> None:
    first, second = (configure(m) for m in (hand_mappings.mesh_fifo_2(), hand_mappings.mesh_fifo_split()))
    hardware = Hardware(first.arch, fit_parameters(second, fit_parameters(first)))
    old, new = (pack(hardware, encode(c, hardware)) for c in (first, second))
    changed = difference(old, new)
    names = {unit.id: unit.name for unit in hardware.units}
    assert {names[packet.unit] for packet in changed} == {"pe_1_0", "pe_1_1"}
    assert difference(new, new) == []


def test_the_size_is_that_of_all_memories() -> None:
    hardware = hardware_of("mesh:2x3")
    bits = sum(context_layout(unit.shape, hardware.parameters).bits for unit in hardware.units)
    measured = size(hardware, pack(hardware, Fields(ii=1)), 1)
    assert measured.bits == measured.capacity == bits + 6 * 5 * 32 + 1


def test_disassembly_names_ops_wires_and_values() -> None:
    configuration = configure(hand_mappings.mesh_fifo_2())
    hardware = Hardware(configuration.arch, fit_parameters(configuration))
    text = disassemble(hardware, pack(hardware, encode(configuration, hardware)))
    assert "pe_1_1\n  slot 0: add, from round 4, in0 2 cycles late, write\n" in text
    assert "    pe_0_1>pe_0_2 <- pe_0_0>pe_0_1 1 late\n" in text
    assert "pe_1_2\n  slot 0: mul, from round 3, in1 immediate 0, write\n" in text
    assert "pe_0_0\n  slot 0: move, from round 0, in0 stream, write\n" in text
    assert "  values 3\n" in text


# -- what does not fit ------------------------------------------------------------------------------------------------


def test_a_fifo_that_is_too_short_is_named() -> None:
    configuration = configure(hand_mappings.mesh_fifo_2())
    hardware = Hardware(configuration.arch, HardwareParameters(fifo=1))
    with pytest.raises(MappingError, match=r"^tile 'pe_1_1': operand 0 waits 2 cycles; the FIFO has 1$"):
        encode(configuration, hardware)


def test_an_op_that_the_hardware_lacks_is_named() -> None:
    configuration = configure(hand_mappings.mesh_fifo_2())
    hardware = Hardware(configuration.arch, fit_parameters(configuration, HardwareParameters(ops=("add",))))
    with pytest.raises(MappingError, match=r"^node 'c': op 'mul' is not in the function unit of tile 'pe_1_2'$"):
        encode(configuration, hardware)


def test_too_few_contexts_are_named() -> None:
    configuration = configure(hand_mappings.torus_register_transfer())
    hardware = Hardware(configuration.arch, HardwareParameters(contexts=4))
    with pytest.raises(MappingError, match="II 5 needs as many contexts; the hardware has 4"):
        encode(configuration, hardware)


def test_uninterpreted_graphs_have_no_hardware() -> None:
    configuration = configure(legal_mappings("static", 1, mixed=True)[0])
    with pytest.raises(MappingError, match="is in domain 'opaque'; this hardware computes 'i32'"):
        encode(configuration, Hardware(configuration.arch, fit_parameters(configuration)))


def test_bits_of_another_array_are_refused(tmp_path: Path) -> None:
    hardware = hardware_of("mesh:2x3")
    path = tmp_path / "config.hex"
    path.write_text(to_hex(hardware, pack(hardware, Fields(ii=1))))
    assert load_bits(path, build("mesh:2x3"))[1] == pack(hardware, Fields(ii=1))
    with pytest.raises(MappingError, match=r"the bits are for array 'mesh:2x3', not for 'mesh:3x2' as described now"):
        load_bits(path, build("mesh:3x2"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xfe\x00", "expected gridloom-bits in hex or binary, found other bytes"),
        (b"0123\n", "line 1: expected a comment with the header of gridloom-bits"),
        (b'// {"format": "x"}\nzz\n', "line 2: expected 16 hexadecimal digits, found 'zz'"),
        (b'// {"format": "x"}\n', "expected format 'gridloom-bits' version 1 in the header"),
        (b"GLBITS01\x00\x00\x00\x09{}", "expected a header and packets of 8 bytes, found 14 bytes in all"),
        (b"GLBITS01\x00\x00\x00\x02{]", "the header is not JSON"),
    ],
)
def test_damaged_files_say_what_is_wrong(data: bytes, message: str) -> None:
    with pytest.raises(MappingError) as caught:
        read_bits(data, "config.hex")
    assert str(caught.value) == f"config.hex: {message}"


def test_parameters_out_of_range_are_refused() -> None:
    with pytest.raises(OptionError, match=r"^width: expected 2 to 64, found 65$"):
        HardwareParameters(width=65)
    with pytest.raises(OptionError, match=r"^ops: 'fadd' is not an integer op of the op table$"):
        HardwareParameters(ops=("fadd",))


def test_context_memories_that_no_offset_reaches_are_refused() -> None:
    hardware = Hardware(build("torus:4x4,regs=64"), HardwareParameters(contexts=4096))
    with pytest.raises(MappingError) as error:
        pack(hardware, Fields(ii=1))
    assert str(error.value) == (
        "array 'torus:4x4,regs=64': 4096 contexts of up to 134 bits need offsets of 15 bits, and a packet has 14; "
        "lower contexts"
    )
    deep = Hardware(build("torus:4x4"), HardwareParameters(contexts=4096))
    assert max(packet.offset for packet in pack(deep, Fields(ii=4096))) < 1 << 14


@pytest.mark.parametrize("text", ["--5", "²", "9" * 5000])
def test_a_setting_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(OptionError) as error:
        parse_parameters({"width": text})
    assert str(error.value) == f"--set: width: expected 2 to 64, found {text!r}"


@pytest.mark.parametrize("ops", [3, [[1]], "add"])
def test_ops_that_are_no_list_are_refused(ops: object) -> None:
    with pytest.raises(OptionError) as error:
        HardwareParameters.from_json({"ops": ops})
    assert str(error.value) == f"parameters: ops: expected a list of ops, found {ops!r}"


def test_late_slots_without_operands_raise_the_stages() -> None:
    configuration = configure(hand_mappings.mesh_fifo_2())
    late = [replace(slot, start=99) if not slot.operands else slot for slot in configuration.slots]
    assert fit_parameters(replace(configuration, slots=tuple(late))).stages == 100


def test_an_access_that_the_hardware_does_not_make_is_refused() -> None:
    mapping = hand_mappings.torus_spill()
    ops = ("add", "mul", "load")
    with pytest.raises(MappingError) as error:
        encode(configure(mapping), Hardware(mapping.arch, HardwareParameters(ops=ops)))
    assert str(error.value) == "node 'w': 'store' is not among the accesses of the hardware (ops)"
