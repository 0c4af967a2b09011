"""Every family in the registry keeps what families promise; a new one is tested by its line in the registry."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.archs.test_conformance import NAMES, default

from gridloom.archs import build
from gridloom.testing import check_family
from gridloom.testing.families import _problems

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "arrays"

OTHERS = [
    "mesh:1x1", "mesh:2x3,inputs=skewed,io=border", "torus:2x2,memory=none", "torus:3x3,file=central,regs=8",
    "streaming-engine:8,simd=64",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_default_array_keeps_the_promises_of_its_family(name: str) -> None:
    check_family(default(name).name)


@pytest.mark.parametrize("text", OTHERS)
def test_array_with_parameters_keeps_the_promises_of_its_family(text: str) -> None:
    check_family(text)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_described_array_keeps_the_promises_of_families(path: Path) -> None:
    check_family(path)


@pytest.mark.parametrize(
    ("text", "mapped"),
    [
        ("mesh:4x4", ["op class alu", "op class mul", "op class div", "op class fp"]),
        ("vpcma", ["op class alu"]),
        ("rdu:4x4", ["every unit"]),
    ],
)
def test_every_op_class_of_an_array_is_mapped(text: str, mapped: list[str]) -> None:
    assert [what for what, _ in _problems(build(text))] == mapped


def test_findings_that_are_meant_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    path.write_text("style: static\nrows: 2\ncols: 2\ntiles:\n- {ops: [alu]}\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="input") as raised:
        check_family(path)
    findings = str(raised.value).removeprefix(f"{path}: ").split("; ")
    check_family(path, odd=findings)
