"""The classics: what is published of each array is so of ours."""

from __future__ import annotations

from collections import Counter

import pytest

import gridloom as gl
from gridloom.archs import build
from gridloom.targets.modulo.families.classics import text_of
from gridloom.verify import legal


@pytest.mark.parametrize(("name", "words"), [("adres", "FPL 2003"), ("openedge-cgra", "CF 2023")])
def test_a_description_names_its_source(name: str, words: str) -> None:
    assert words in text_of(name)


def test_adres_has_64_units_in_four_quadrants_with_full_rows_and_columns() -> None:
    arch = build("adres")
    assert len(arch.tiles) == 64
    near = {(a, b) for a, b, _ in arch.links}
    for a, one in enumerate(arch.tiles):
        for b, other in enumerate(arch.tiles):
            together = (one.row // 4, one.col // 4) == (other.row // 4, other.col // 4)
            aligned = (one.row == other.row) != (one.col == other.col)
            adjacent = abs(one.row - other.row) + abs(one.col - other.col) == 1
            assert ((a, b) in near) == (adjacent or (together and aligned))


def test_the_first_row_of_adres_shares_one_register_file_and_the_memory() -> None:
    arch = build("adres")
    shared = next(file for file in arch.register_files if file.name == "vliw")
    writers = {int(arch.tile[s]) for s in arch.arc_source[arch.arc_target == shared.registers[0]].tolist()} - {-1}
    assert writers == set(range(8)) == set(arch.tiles_for("mem"))
    assert len(arch.register_files) == 1 + 56


def test_openedge_cgra_is_a_torus_whose_columns_share_a_memory_port() -> None:
    arch = build("openedge-cgra")
    assert Counter(Counter(a for a, _, _ in arch.links).values()) == {4: 16}
    assert int(arch.hops.max()) == 4
    assert [(pool.capacity, len({arch.tiles[k].col for k in pool.tiles}), len(pool.tiles)) for pool in arch.pools] == [
        (1, 1, 4)
    ] * 4
    assert all(len(file.registers) == 4 and file.rotating == 0 and not file.adjustable for file in arch.register_files)


def test_accesses_of_a_loop_wait_for_the_ports_of_openedge_cgra() -> None:
    """Four accesses per iteration fit one instruction, one per column; a fifth needs another instruction."""
    few, many = (gl.map(f"kernel:{kernel}", "openedge-cgra", effort=20_000, seed=1) for kernel in ("axpy", "bicg"))
    for result in (few, many):
        assert result.mapping is not None
        assert legal(result.mapping) == []
        accesses = Counter(
            (result.mapping.arch.tiles[result.mapping.arch.tile_index[i.place]].col, i.cycle % result.mapping.ii)
            for i in result.mapping.instances
            if result.mapping.dfg.op_class(i.node) == "mem"
        )
        assert max(accesses.values()) == 1


def test_keys_of_a_classic_can_be_replaced() -> None:
    arch = build("openedge-cgra,rows=3,cols=5")
    assert (arch.rows, arch.cols, arch.name, len(arch.pools)) == (3, 5, "openedge-cgra:3x5", 5)
    assert build(arch.name).fingerprint == arch.fingerprint
