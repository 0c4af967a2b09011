"""The runners of hardware against its references go on where they ended."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from tests.fuzz import singles, waiting
from tests.random_cases import candidates

from gridloom.hardware.cosimulation import Bench, available
from gridloom.verify import legal

pytestmark = pytest.mark.tools


def static_cases(count: int) -> list[waiting.Case]:
    """One mapping on a static array under several names."""
    mapping = next(waiting.drawn("static"))
    return [waiting.Case(f"static {k}", k, mapping) for k in range(count)]


def test_changed_ops_keep_mappings_legal_and_classes_equal() -> None:
    for plain, changed in islice(zip(candidates("static"), waiting.drawn("static")), 3):
        assert legal(changed) == []
        classes = [[m.dfg.op_class(node.id) for node in m.dfg.nodes] for m in (plain, changed)]
        assert classes[0] == classes[1]


def test_a_run_that_was_stopped_goes_on_where_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not available("icarus"):
        pytest.skip("Icarus Verilog is not installed")
    chosen, store = static_cases(2), tmp_path / "waiting.jsonl"
    rows, covered = waiting.run(chosen[:1], store)
    with store.open("a") as file:
        file.write('{"name": "static')
    assert [row["wrong"] for row in rows] == [[]]
    assert all(coverage.inputs_used for coverage in covered.values())
    made: list[str] = []
    monkeypatch.setattr(waiting, "simulated", lambda case, bench: made.append(case.name) or {"name": case.name})
    monkeypatch.setattr(Bench, "__init__", lambda bench, hardware, **_: None)
    assert len(waiting.run(chosen, store)[0]) == 2
    assert made == [chosen[1].name]


def test_a_store_of_singles_is_read_again(tmp_path: Path) -> None:
    store = tmp_path / "singles.jsonl"
    rows = [{"name": f"{op} 0", "op": op, "count": singles.BLOCK, "wrong": []} for op in singles.OPS]
    store.write_text("".join(f"{waiting.json.dumps(row)}\n" for row in rows))
    assert singles.run(1, store) == rows
