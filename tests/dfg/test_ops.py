"""The op table: classes, codes, and what ``opaque`` takes."""

from __future__ import annotations

import pytest

from gridloom.dfg.ops import DOMAINS, FUSED, OP_CLASSES, OP_TABLE, Op, check_codes, lookup
from gridloom.errors import DfgError


def test_every_op_has_a_known_class() -> None:
    assert set(OP_TABLE) == set(DOMAINS)
    assert {op.op_class for table in OP_TABLE.values() for op in table.values()} <= set(OP_CLASSES)


#: Op class -> arity -> the 32-bit integer and memory ops that have both, written down once more.
INTEGER = {
    "const": {0: "const"},
    "livein": {0: "livein"},
    "input": {0: "input"},
    "output": {1: "output"},
    "mem": {1: "load load_address store_address", 2: "store", 3: "store_if"},
    "mem_data": {1: "load_data", 2: "store_data"},
    "div": {2: "div rem udiv urem"},
    "mul": {
        1: "square",
        2: "mul mulh",
        3: "mul_add mul_sub mul_rsub mul_and mul_or mul_xor shl_add shl_sub shl_rsub shl_and shl_or shl_xor shr_add "
        "shr_sub shr_rsub shr_and shr_or shr_xor lshr_add lshr_sub lshr_rsub lshr_and lshr_or lshr_xor",
    },
    "alu": {
        1: "move not neg abs sext8 sext16 zext8 zext16 popcount clz",
        2: "add sub shl shr lshr rotl and or xor min max umin umax eq ne lt le gt ge ult ule min_tag",
        3: "select select_tag select_sign select_zero",
    },
    "fp": {
        1: "fneg fabs fsqrt int_to_float float_to_int fsquare",
        2: "fadd fsub fmul fdiv fmin fmax feq flt fle fne fgt fge",
        3: "fmul_add fmul_sub fmul_rsub",
    },
}
#: In domain f32 these plain names are float ops.
FLOAT = "add sub mul div neg abs min max eq ne lt le gt ge sqrt square mul_add mul_sub mul_rsub"
CMA24 = {1: "nop cat not", 2: "add sub mult sl sr sra sel and or xor eql gt lt"}
#: First and last codes of what follows each other in bit files and Verilog.
KEPT = {
    "i32 const": 0, "i32 move": 4, "i32 store_data": 11, "i32 add": 12, "i32 mul": 14, "i32 div": 15, "i32 urem": 18,
    "i32 mulh": 19, "i32 mul_sub": 21, "i32 shl_add": 22, "i32 rotl": 26, "i32 and": 27, "i32 abs": 32, "i32 min": 33,
    "i32 ule": 44, "i32 select": 45, "i32 sext8": 46, "i32 clz": 51, "i32 square": 52, "i32 select_tag": 54,
    "i32 fadd": 55, "i32 fle": 65, "i32 fsqrt": 66, "i32 fmul_sub": 74, "i32 mul_rsub": 75, "i32 mul_xor": 78,
    "i32 shl_sub": 79, "i32 lshr_xor": 95, "i32 fmul_rsub": 96, "cma24 const": 100, "cma24 nop": 112, "cma24 add": 113,
    "cma24 lt": 127, "tensor const": 200, "tensor input": 202, "tensor gemm": 212, "tensor buffer": 218,
}  # fmt: skip


def rows(table: dict[str, Op]) -> dict[str, tuple[str, int, bool]]:
    return {name: (op.op_class, op.arity, op.result) for name, op in table.items()}


def test_rows_of_the_table_are_those_of_an_independent_list() -> None:
    stores = ("store", "store_if", "store_data")
    listed = [(group, *entry) for group, arities in INTEGER.items() for entry in arities.items()]
    integer = {name: (group, arity, name not in stores) for group, arity, names in listed for name in names.split()}
    common = {name: row for name, row in integer.items() if row[0] in ("const", "livein", "input", "output")}
    common |= {name: row for name, row in integer.items() if row[0].startswith("mem") or name == "move"}
    narrow = {name: ("alu", arity, True) for arity, names in CMA24.items() for name in names.split()}
    assert rows(OP_TABLE["i32"]) == integer
    assert rows(OP_TABLE["f32"]) == integer | {n: ("fp", integer[f"f{n}"][1], True) for n in FLOAT.split()}
    assert rows(OP_TABLE["cma24"]) == common | narrow
    assert {name: (row[0], row[2]) for name, row in rows(OP_TABLE["opaque"]).items()} == {
        name: (row[0], row[2]) for name, row in integer.items()
    }
    assert all(lookup(domain, name) is op for domain, table in OP_TABLE.items() for name, op in table.items())


def test_codes_tell_the_ops_of_a_domain_apart() -> None:
    for domain in ("i32", "cma24", "tensor"):
        assert len({op.code for op in OP_TABLE[domain].values()}) == len(OP_TABLE[domain])


def test_any_name_is_an_op_of_any_arity_in_domain_opaque() -> None:
    op = lookup("opaque", "butterfly")
    assert (op.arity, op.op_class, op.result) == (-1, "alu", True)
    assert lookup("opaque", "mul").op_class == "mul"


def test_two_ops_with_one_code_are_refused() -> None:
    ops = list(OP_TABLE["i32"].values())
    with pytest.raises(DfgError, match=r"^ops 'fmul_rsub' and 'planted' both have code 96$"):
        check_codes([*ops, Op("planted", 2, "alu", 96)])
    with pytest.raises(DfgError, match=r"^ops 'any op of domain opaque' and 'planted' both have code 99$"):
        check_codes([*ops, Op("planted", 2, "alu", 99)])
    check_codes([*ops, Op("planted", 2, "alu", 100)])


def test_codes_that_files_hold_stay_as_they_are() -> None:
    codes = {
        f"{domain} {op.name}": op.code for domain in ("i32", "cma24", "tensor") for op in OP_TABLE[domain].values()
    }
    assert {name: codes[name] for name in KEPT} == KEPT


def test_fused_ops_are_rows_of_the_table() -> None:
    assert FUSED.keys() <= OP_TABLE["i32"].keys()
    assert {part for first, second, _ in FUSED.values() for part in (first, second)} <= OP_TABLE["i32"].keys()
