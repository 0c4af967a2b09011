"""The runners of hardware against its references go on where they ended."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fuzz import singles, waiting

from gridloom.hardware.cosimulation import Bench, available

pytestmark = pytest.mark.tools


def static_cases(count: int) -> list[waiting.Case]:
    """The first mappings of the first array of style ``static``."""
    found = [waiting.Case(f"static {k}", k, m) for k, m in zip(range(8 * count), waiting.drawn("static"))]
    return [case for case in found if case.mapping.arch.fingerprint == found[0].mapping.arch.fingerprint][:count]


def test_changed_ops_keep_mappings_legal_and_classes_equal() -> None:
    for case in static_cases(3):
        for node in case.mapping.dfg.nodes:
            assert case.mapping.dfg.op_class(node.id) in ("input", "output", "const", "alu", "mul")


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
    monkeypatch.setattr(Bench, "_compile", lambda bench, names: None)
    assert len(waiting.run(chosen, store)[0]) == 2
    assert made == [chosen[1].name]


def test_a_store_of_singles_is_read_again(tmp_path: Path) -> None:
    store = tmp_path / "singles.jsonl"
    rows = [{"name": f"{op} 0", "op": op, "count": singles.BLOCK, "wrong": []} for op in singles.OPS]
    store.write_text("".join(f"{waiting.json.dumps(row)}\n" for row in rows))
    assert singles.run(1, store) == rows
