"""The classics: what is published of each array is so of ours."""

from __future__ import annotations

from gridloom.archs import build
from gridloom.targets.modulo.families.classics import text_of


def test_a_description_names_its_source() -> None:
    assert "FPL 2003" in text_of("adres")


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


def test_keys_of_a_classic_can_be_replaced() -> None:
    arch = build("adres,loop_levels=2")
    assert (arch.loop_levels, arch.name) == (2, "adres:loop_levels=2")
    assert build(arch.name).fingerprint == arch.fingerprint
