"""The op table: classes, codes, and what ``opaque`` takes."""

from __future__ import annotations

from gridloom.dfg.ops import DOMAINS, OP_CLASSES, OP_TABLE, lookup


def test_every_op_has_a_known_class() -> None:
    assert set(OP_TABLE) == set(DOMAINS)
    assert {op.op_class for table in OP_TABLE.values() for op in table.values()} <= set(OP_CLASSES)


def test_codes_tell_the_ops_of_a_domain_apart() -> None:
    for domain in ("i32", "cma24", "tensor"):
        assert len({op.code for op in OP_TABLE[domain].values()}) == len(OP_TABLE[domain])


def test_any_name_is_an_op_of_any_arity_in_domain_opaque() -> None:
    op = lookup("opaque", "butterfly")
    assert (op.arity, op.op_class, op.result) == (-1, "alu", True)
    assert lookup("opaque", "mul").op_class == "mul"
