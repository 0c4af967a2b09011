"""The schema takes what the loader takes, and refuses what it says is misspelt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.json_schema import problems
from tests.random_arrays import description

from gridloom.archs import build
from gridloom.archs.described.schema import schema
from gridloom.archs.described.writing import describe
from gridloom.archs.spec import plain
from gridloom.yaml_text import parse_yaml

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "arrays"


def read(path: Path) -> Any:
    return plain(parse_yaml(path.read_text(encoding="utf-8"), str(path)))


# Files that give parameters to another family are not described by tile.
@pytest.mark.parametrize(
    "path",
    [path for path in sorted(EXAMPLES.glob("*.yaml")) if read(path).get("family", "array") == "array"],
    ids=lambda path: path.stem,
)
def test_examples_are_taken(path: Path) -> None:
    assert problems(read(path), schema()) == []


@pytest.mark.parametrize("seed", range(20))
def test_random_descriptions_and_what_is_written_of_them_are_taken(seed: int) -> None:
    assert problems(description(seed), schema()) == []
    assert problems(describe(build(description(seed))), schema()) == []


@pytest.mark.parametrize(
    "damage",
    [
        {"link": "mesh"},
        {"links": "meshh"},
        {"tiles": [{"regs": 4}]},
        {"tiles": [{"latency": {"mull": 2}}]},
        {"tiles": [{"where": {"rows": 1, "columns": 2}}]},
        {"memory": {"banks": [{"port": 2}]}},
        {"buses": "row"},
        {"buses": [{"where": "all"}]},
        {"files": [{"name": "rf", "count": 2, "reads": 0}]},
        {"tiles": [{"registers": {"count": 2, "ports": 1}}]},
        {"tiles": [{"fifo": [1, -2]}]},
        {"tiles": [{"constants": -1}]},
        {"rows": 0},
    ],
)
def test_damaged_descriptions_are_not_taken(damage: dict[str, Any]) -> None:
    assert problems({"style": "modulo", "rows": 2, "cols": 2, **damage}, schema())
