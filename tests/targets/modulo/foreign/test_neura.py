"""neura's configurations as mappings: what is read, and what no mapping is. Files of the group run where they are."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from gridloom.errors import MappingError, SourceError
from gridloom.flow.confirmation import find_faults
from gridloom.targets.modulo.foreign.neura import read

#: (column, row), slot, id, cycle, opcode, sources, targets: a counter, and its square two links away.
LOOP = [
    ((0, 0), 0, 0, 0, "GRANT_ONCE", ["#0"], ["$0"]),
    ((0, 0), 1, 1, 1, "PHI_START", ["$0", "$8"], ["$1", "EAST"]),
    ((0, 0), 2, 2, 2, "ADD", ["$1", "#1"], ["$8"]),
    ((1, 0), 2, 30000, 2, "DATA_MOV", ["WEST"], ["NORTH"]),
    ((1, 0), 0, 30001, 3, "DATA_MOV", ["WEST"], ["$4"]),
    ((1, 1), 0, 3, 3, "MUL", ["SOUTH", "SOUTH"], []),
]


def text(rows, ii: object = 3) -> str:
    """A file of neura."""
    lines = ["array_config:", "  columns: 2", "  rows: 2", *([f"  compiled_ii: {ii}"] if ii else []), "  cores:"]
    for (column, row), slot, number, cycle, opcode, sources, targets in rows:
        lines += [f"    - column: {column}", f"      row: {row}", "      entries:", '        - entry_id: "entry0"',
                  "          instructions:", f"            - index_per_ii: {slot}", "              operations:",
                  f'                - opcode: "{opcode}"', f"                  id: {number}",
                  f"                  time_step: {cycle}"]  # fmt: skip
        for key, operands in (("src_operands", sources), ("dst_operands", targets)):
            lines += [f"                  {key}:"] if operands else []
            lines += [f'                    - {{operand: "{operand}", color: "RED"}}' for operand in operands]
    return "\n".join([*lines, ""])


def changed(at: int, **fields):
    """The loop with other fields of a row."""
    names = ("core", "slot", "id", "cycle", "opcode", "sources", "targets")
    row = tuple(fields.get(name, value) for name, value in zip(names, LOOP[at]))
    return [*LOOP[:at], row, *LOOP[at + 1 :]]


def read_rows(folder: Path, rows, ii: object = 3):
    """The mapping of rows."""
    path = folder / "loop.yaml"
    path.write_text(text(rows, ii), encoding="utf-8")
    return read(path)


def test_edges_and_routes_are_found(tmp_path: Path):
    rows = [row for row in LOOP if row[2] != 30001]
    mapping = read_rows(tmp_path, rows)
    assert find_faults(mapping) == []
    edges = [(edge.source, edge.target, edge.operand, edge.distance) for edge in mapping.dfg.edges]
    assert edges == [("0", "1", 0, 0), ("2", "1", 1, 1), ("1", "2", 0, 0), ("1", "3", 0, 0), ("1", "3", 1, 0)]
    assert mapping.routes[1].hops == (("pe_0_0.r8", 3), ("pe_0_0.r8", 4), ("pe_0_0.in1", 4))
    assert mapping.routes[3].hops == (("pe_0_0>pe_0_1", 2), ("pe_0_1>pe_1_1", 3), ("pe_1_1.in0", 3))
    assert [(row.node, row.place, row.cycle) for row in mapping.instances][-1] == ("3", "pe_1_1", 3)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([*LOOP[:4], ((1, 0), 0, 9, 3, "RETURN", ["WEST"], [])],
         "RETURN (id 9) on core 1,0 reads WEST in slot 0 of core 1,0, which nothing drives"),
        ([*LOOP[:4], ((1, 0), 1, 9, 4, "RETURN", ["$3"], [])],
         "RETURN (id 9) on core 1,0 reads $3 of core 1,0, which nothing writes"),
        (changed(4, slot=2, cycle=2, targets=["NORTH"]),
         "DATA_MOV (id 30000) on core 1,0 and DATA_MOV (id 30001) on core 1,0 both drive NORTH in slot 2"),
        (changed(1, opcode="SUB")[:4],
         "SUB (id 1) on core 0,0 reads the result of ADD (id 2) on core 0,0 of an iteration before, and is no phi"),
        (changed(2, cycle=5)[:4],
         "ADD (id 2) on core 0,0 reads $1, in which iterations overwrite the result of PHI_START (id 1) on core 0,0 "
         "before it is read"),
        (changed(3, slot=1), "DATA_MOV of cycle 2 is in slot 1 of II 3"),
    ],
)  # fmt: skip
def test_what_is_no_mapping_is_refused_with_its_reason(tmp_path: Path, rows, reason: str):
    with pytest.raises(MappingError, match=re.escape(reason)):
        read_rows(tmp_path, rows)


def test_a_file_without_ii_is_refused(tmp_path: Path):
    with pytest.raises(MappingError, match="array_config names no compiled_ii, without which slots have no order"):
        read_rows(tmp_path, LOOP, ii=None)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (changed(3, targets=["NORTHEAST"]), "DATA_MOV has the operand 'NORTHEAST'; expected a register or direction"),
        (changed(2, targets=["$32"]), "ADD has the operand '$32'; expected a register or direction"),
        (changed(2, id=1), "two operations have the id 1"),
        (changed(0, slot=3), "index_per_ii of an instruction is 3; expected 0 to 2"),
        (changed(0, core=(2, 0)), "column of a core is 2; expected 0 to 1"),
    ],
)
def test_a_broken_file_is_refused(tmp_path: Path, rows, reason: str):
    with pytest.raises(SourceError, match=re.escape(reason)):
        read_rows(tmp_path, rows)


def test_another_yaml_is_refused(tmp_path: Path):
    path = tmp_path / "other.yaml"
    path.write_text("family: torus\n", encoding="utf-8")
    with pytest.raises(SourceError, match="the file has no array_config; expected neura's instructions"):
        read(path)


def test_two_ops_of_a_core_in_one_slot_are_illegal(tmp_path: Path):
    """Planted fault: the judge, and not the reader, finds a core that runs two operations."""
    rows = [*LOOP[:4], ((0, 0), 2, 7, 2, "ADD", ["$1"], [])]
    faults = find_faults(read_rows(tmp_path, rows))
    assert any("pe_0_0.fu" in fault for fault in faults), faults


def test_memory_away_from_the_border_is_illegal(tmp_path: Path):
    rows = changed(5, opcode="LOAD")
    faults = find_faults(read_rows(tmp_path, [row for row in rows if row[2] != 30001]))
    assert any("pe_1_1" in fault for fault in faults), faults


@pytest.mark.skipif("GRIDLOOM_FOREIGN" not in os.environ, reason="GRIDLOOM_FOREIGN names no clones")
def test_files_of_the_group_are_read_or_refused_by_name():
    files = sorted(Path(os.environ["GRIDLOOM_FOREIGN"]).rglob("*.yaml"))
    read_ones = 0
    for path in files:
        try:
            mapping = read(path)
        except MappingError as error:
            assert "compiled_ii" in str(error)
        except SourceError as error:
            assert "array_config" in str(error)
        else:
            read_ones += 1
            assert find_faults(mapping) == []
    assert read_ones
