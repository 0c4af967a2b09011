"""The array of OpenEdgeCGRA: what is published of it is so of ours."""

from __future__ import annotations

from collections import Counter

import pytest

from gridloom.archs import build
from gridloom.archs.model import Kind
from gridloom.dfg.ops import OP_TABLE
from gridloom.errors import ArchError
from gridloom.targets.modulo.families import openedge


def test_the_array_names_its_source() -> None:
    assert "CF 2023" in str(openedge.__doc__)


def test_the_array_is_a_torus_of_four_registers_without_spills_or_ports() -> None:
    arch = build("openedge-cgra")
    assert Counter(Counter(a for a, _, _ in arch.links).values()) == {4: 16}
    assert int(arch.hops.max()) == 4
    assert all(len(file.registers) == 4 and file.rotating == 0 and not file.adjustable for file in arch.register_files)
    assert not arch.pools
    assert not {Kind.MEM, Kind.LOAD, Kind.STORE} & set(arch.kind.tolist())


def test_a_flag_reads_output_registers_only() -> None:
    arch = build("openedge-cgra")
    sources: dict[int, Counter[Kind]] = {}
    for source, target in zip(arch.arc_source.tolist(), arch.arc_target.tolist()):
        if arch.kind[target] == Kind.IN:
            sources.setdefault(int(arch.position[target]), Counter())[Kind(arch.kind[source])] += 1
    assert sources == {
        0: {Kind.OUT: 16, Kind.LINK: 64, Kind.REG: 64},
        1: {Kind.OUT: 16, Kind.LINK: 64, Kind.REG: 64},
        2: {Kind.OUT: 16, Kind.LINK: 64},
    }


def test_a_pe_runs_the_ops_of_its_instructions() -> None:
    tile = build("openedge-cgra").tiles[0]
    runs = {name for name, op in OP_TABLE["i32"].items() if tile.runs(name, frozenset({op.op_class}))}
    assert runs == {*openedge.OPS, "load", "store", "store_if", "load_address", "store_address"}


def test_the_array_has_other_sizes() -> None:
    arch = build("openedge-cgra,rows=3,cols=5")
    assert (arch.rows, arch.cols, arch.name) == (3, 5, "openedge-cgra:3x5")
    assert build(arch.name).fingerprint == arch.fingerprint
    with pytest.raises(ArchError, match="rows: expected 1 to 128, found 0"):
        build("openedge-cgra,rows=0")
