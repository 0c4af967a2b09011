"""Opcodes and masks in generated hardware are those of the op table, and ops without hardware stay out of it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from gridloom.archs.spec import build
from gridloom.dfg.ops import OP_TABLE, Op
from gridloom.errors import OptionError
from gridloom.hardware.parameters import HardwareParameters
from gridloom.hardware.rtl.generate import PRIMITIVES, fill_codes, primitive
from gridloom.hardware.rtl.structure import PRODUCTS, QUOTIENTS, SHIFTED, Hardware


def test_masks_in_the_verilog_are_those_of_the_op_table() -> None:
    text = primitive("gl_units")
    assert "PRODUCTS = (128'd1 << 14) | (128'd7 << 19) | (128'd1 << 52) | (128'd15 << 75);" in text
    assert "QUOTIENTS = 128'd15 << 15;" in text
    assert [code for code in range(128) if SHIFTED >> code & 1] == [22, *range(79, 96)]
    assert not PRODUCTS & (SHIFTED | QUOTIENTS)


def test_codes_are_filled_in_from_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = replace(OP_TABLE["i32"]["add"], code=101)
    monkeypatch.setitem(OP_TABLE["i32"], "add", moved)
    assert " ADD = 101," in primitive("gl_alu")
    assert [name for name in PRIMITIVES if re.search(r"@\w", primitive(name))] == []
    with pytest.raises(KeyError, match="planted"):
        fill_codes("PLANTED = @planted@;")


@pytest.mark.parametrize("code", [60, 100, 200])
def test_op_without_hardware_is_in_no_function_unit(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Hardware(build("torus:2x2"))
    monkeypatch.setitem(OP_TABLE["i32"], "planted", Op("planted", 2, "alu", code))
    after = Hardware(build("torus:2x2"))
    assert [unit.shape for unit in after.units] == [unit.shape for unit in before.units]
    assert after.opcode(after.units[0], "planted") is None
    with pytest.raises(OptionError, match=r"^ops: no hardware is generated for 'planted'$"):
        HardwareParameters(ops=("add", "planted"))


def test_op_with_hardware_is_in_the_function_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OP_TABLE["i32"], "planted", Op("planted", 2, "alu", 60, in_hardware=True))
    hardware = Hardware(build("torus:2x2"))
    assert hardware.opcode(hardware.units[0], "planted") == 60
    assert HardwareParameters(ops=("add", "planted")).ops == ("add", "planted")
