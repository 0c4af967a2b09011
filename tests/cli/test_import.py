"""``gridloom import``."""

from __future__ import annotations

import json

import pytest
from tests.targets.modulo.foreign.test_neura import LOOP, text


@pytest.fixture
def files(tmp_path):
    """Files of neura: a mapping, one that breaks a rule, and one that is none."""
    rows = [row for row in LOOP if row[2] != 30001]
    (tmp_path / "good.yaml").write_text(text(rows))
    (tmp_path / "bad.yaml").write_text(text([*rows, ((0, 0), 2, 7, 2, "ADD", ["$1"], [])]))
    (tmp_path / "none.yaml").write_text(text([*rows, ((1, 0), 0, 9, 3, "RETURN", ["WEST"], [])]))
    return tmp_path


def test_a_mapping_is_judged_and_written(gridloom, files):
    done = gridloom("import", "neura", files / "good.yaml", "-o", files / "good.json")
    assert done.status == 0
    assert done.out.startswith("legal: good on hycube:2x2,")
    assert done.out.endswith(" at II 3, 4 nodes, 5 edges\n")
    assert gridloom("check", files / "good.json").status == 0
    assert gridloom("simulate", files / "good.json").status == 0
    record = json.loads(gridloom("import", "neura", files / "good.yaml", "--json").out)
    assert {key: record[key] for key in ("status", "dfg", "ii", "nodes", "edges", "findings")} == {
        "status": "legal", "dfg": "good", "ii": 3, "nodes": 4, "edges": 5, "findings": [],
    }  # fmt: skip


def test_a_mapping_that_breaks_a_rule_is_written_with_its_faults(gridloom, files):
    done = gridloom("import", "neura", files / "bad.yaml", "-o", files / "bad.json")
    assert done.status == 1
    assert done.out.startswith("illegal: bad on ")
    assert "pe_0_0.fu" in done.out
    assert gridloom("check", files / "bad.json").status == 1


def test_a_file_without_a_mapping_is_refused_with_its_reason(gridloom, files):
    done = gridloom("import", "neura", files / "none.yaml", "-o", files / "none.json")
    reason = "RETURN (id 9) on core 1,0 reads WEST in slot 0 of core 1,0, which nothing drives"
    assert (done.status, done.out) == (1, f"no mapping: {reason}\n")
    assert not (files / "none.json").exists()
    told = gridloom("import", "neura", files / "none.yaml", "--json")
    assert json.loads(told.out) == {"status": "refused", "findings": [reason]}


def test_an_unknown_format_is_refused(gridloom, files):
    done = gridloom("import", "neur", files / "good.yaml")
    assert done.status == 2
    assert done.err == "error: FORMAT: there is no format 'neur'; known: neura, satmapit\n"
