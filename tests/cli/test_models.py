"""`gridloom train` and `gridloom eval` around any model: options, limits, messages. The model here is a small one."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from gridloom.cli.entry import run_command
from gridloom.registry import Entry, groups
from gridloom.run import WorkFolder


@dataclass(frozen=True, kw_only=True)
class CounterConfig:
    """How far to count."""

    read_by: ClassVar[dict[str, frozenset[str]]] = {"evaluate": frozenset({"digits"})}
    until: int = 3
    digits: int = 4


class Counter:
    """Counts: what it is given goes to its report."""

    name = "counter"
    config = CounterConfig

    def make_data(self, config: CounterConfig, work: WorkFolder) -> dict[str, Any]:
        (work.folder / "data.txt").write_text("x" * config.until)
        return {"graphs": config.until, "jobs": work.jobs}

    def train(self, config: CounterConfig, work: WorkFolder) -> dict[str, Any]:
        work.progress("counting", 0.5)
        return {"seed": work.seed, "resume": work.resume, "over": work.over(), "weights": str(work.weights)}

    def evaluate(self, config: CounterConfig, work: WorkFolder) -> dict[str, Any]:
        return {"accuracy": 0.123456, "rows": [{"graph": "a", "nodes": 3}], "part": {"x": 1}}


@pytest.fixture(autouse=True)
def counter(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    module = types.ModuleType("counter_model")
    module.MODEL = Counter()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "counter_model", module)
    monkeypatch.setitem(groups()["models"], "counter", Entry("counter_model:MODEL", "counts"))
    monkeypatch.setitem(groups()["models"], "absent", Entry("no_such_package_here:MODEL", "not here", "learn"))
    yield


def test_make_data_goes_to_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a" / "b"
    arguments = ["--make-data", "--folder", str(folder), "--set", "until=5", "--jobs", "2", "--json"]
    assert run_command(["train", "counter", *arguments]) == 0
    assert json.loads(capsys.readouterr().out) == {"graphs": 5, "jobs": 2}
    assert (folder / "data.txt").read_text() == "xxxxx"


def test_train_passes_its_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = tmp_path / "w.npz"
    arguments = ["--folder", str(tmp_path), "--seed", "4", "--resume", "--time-limit", "0", "-o", str(weights)]
    assert run_command(["train", "counter", *arguments]) == 0
    assert capsys.readouterr().out.splitlines() == ["seed: 4", "resume: True", "over: True", f"weights: {weights}"]


def test_eval_prints_nested_parts_and_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["eval", "counter", "--folder", str(tmp_path)]) == 0
    expected = ["accuracy: 0.1235", "rows:", "  graph a  nodes 3", "part:", "  x: 1"]
    assert capsys.readouterr().out.splitlines() == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "conter"], "error: no model is called 'conter'; did you mean counter?"),
        (
            ["eval", "counter", "--set", "untl=3"],
            "error: --set: untl: model 'counter' has no such setting; did you mean until? it has: digits, until",
        ),
        (
            ["train", "counter", "--set", "digits=3"],
            "error: --set: setting 'digits' of model 'counter' is for gridloom eval; gridloom train does not read it",
        ),
        (
            ["train", "absent"],
            "error: model 'absent' needs no_such_package_here, which is not installed: pip install '.[learn]'",
        ),
    ],
)
def test_mistakes(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(arguments) == 2
    assert capsys.readouterr().err.strip() == message


def test_a_file_is_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert run_command(["train", "counter", "--folder", str(file)]) == 2
    assert capsys.readouterr().err.strip() == f"error: --folder: {file} is a file; expected a folder"
