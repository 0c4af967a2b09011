"""Tables of the cost model for two states of the tool chain."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridloom.run.work import WorkFolder
from gridloom.targets.dataflow.learned import data

SMALL = ("gemm", {"inner": 64, "columns": 64})


@pytest.mark.slow
def test_a_model_trained_again_fits_the_tool_chain_it_was_trained_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("torch")
    from gridloom.targets.dataflow.learned import model

    monkeypatch.setattr(data, "graphs", lambda: [SMALL])
    held_out = [("gemm", {"inner": 64, "columns": 96}), ("mlp", {"width": 64, "layers": 2})]
    monkeypatch.setattr(data, "held_out_graphs", lambda: held_out)
    work = WorkFolder(folder=tmp_path, jobs=1)
    for era in data.ERAS:
        model.MODEL.make_data(model.CostModelConfig(era=era, decisions=48), work)
    config = model.CostModelConfig(report="adaptivity", decisions=48, epochs=40, folds=2)
    report = model.MODEL.evaluate(config, work)
    assert report["decisions"] == dict.fromkeys(data.ERAS, 48)
    rows = {(row["model"], row.get("trained"), row["tested"]): row for row in report["rows"]}
    # Seven rivals and three models of its own for each era, and those of the present in all of them.
    assert len(rows) == 7 * len(data.ERAS) + 3 * (2 * len(data.ERAS) - 1)
    assert all(set(row["families"]) == {"gemm", "mlp"} for row in rows.values())
    for era in data.ERAS:
        assert rows["trees", era, era]["relative_error"] < rows["heuristic", None, era]["relative_error"]
