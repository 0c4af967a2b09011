"""Described arrays in the flow: mappings hold across descriptions, and the 6 x 6 of the documents runs its kernels."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import gridloom as gl
from gridloom.archs import build
from gridloom.archs.described.text import yaml_text
from gridloom.archs.described.writing import describe
from gridloom.flow.hardware import cosimulate_mapping
from gridloom.mapping import Mapping, json_format
from gridloom.sim import simulate
from gridloom.verify import legal

ROOT = Path(__file__).resolve().parents[2]
SIX = ROOT / "examples" / "arrays" / "six-by-six.yaml"
KERNELS = ("kernel:gemm", str(ROOT / "examples" / "kernels" / "histogram.c"), "kernel:fir")


def mapped(source: str, arch: object, effort: int = 8000) -> Mapping:
    result = gl.map(source, arch=arch, effort=effort, seed=1)
    assert result.mapping is not None, str(result)
    return result.mapping


@pytest.mark.parametrize(
    ("family", "source"),
    [
        ("mesh:4x4", "kernel:distance"),
        ("torus:3x3", "kernel:fir"),
        pytest.param("onehop:3x3", "kernel:vector_add", marks=pytest.mark.slow),
        pytest.param("hex:4x4", "kernel:distance", marks=pytest.mark.slow),
        pytest.param("chess:4x4", "kernel:distance", marks=pytest.mark.slow),
        pytest.param("ramp-5", "kernel:vector_add", marks=pytest.mark.slow),
        pytest.param("streaming-engine:8", "kernel:axpy", marks=pytest.mark.slow),
    ],
)
def test_a_mapping_onto_a_family_holds_on_its_description(family: str, source: str, tmp_path: Path) -> None:
    mapping = mapped(source, family)
    path = tmp_path / "array.yaml"
    path.write_text(yaml_text(describe(mapping.arch)), encoding="utf-8")
    data = json.loads(json_format.dumps(mapping))
    data["arch"] = {"spec": dict(build(path).spec), "fingerprint": mapping.arch.fingerprint}
    across = json_format.from_dict(data)
    assert legal(across) == []
    assert simulate(across)


@pytest.mark.parametrize("source", KERNELS[2:])
def test_the_six_by_six_runs_a_kernel(source: str) -> None:
    found = mapped(source, SIX)
    assert legal(found) == []
    assert simulate(found)
    assert set(found.settings["banks"].values()) <= {"low", "high"}


@pytest.mark.slow
@pytest.mark.tools
@pytest.mark.skipif(not shutil.which("iverilog"), reason="Icarus Verilog is not installed")
@pytest.mark.parametrize("source", KERNELS)
def test_the_six_by_six_runs_its_kernels_as_hardware(source: str) -> None:
    found = mapped(source, SIX, effort=20000)
    assert legal(found) == []
    assert cosimulate_mapping(found, iterations=16).findings == ()
