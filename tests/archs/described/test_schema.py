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


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_examples_are_taken(path: Path) -> None:
    data = plain(parse_yaml(path.read_text(encoding="utf-8"), str(path)))
    assert problems(data, schema()) == []


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
        {"rows": 0},
    ],
)
def test_damaged_descriptions_are_not_taken(damage: dict[str, Any]) -> None:
    assert problems({"style": "modulo", "rows": 2, "cols": 2, **damage}, schema())
