"""Prices see what joins the tiles: buses, memory ports, banks, and crossbars that pass several links per cycle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gridloom.archs import build
from gridloom.archs.model import Arch
from gridloom.explore.hardware import Cost, cost
from gridloom.explore.space import read_space


def priced(array: str | Arch) -> Cost:
    found = cost(array if isinstance(array, Arch) else build(array))
    assert found is not None
    return found


def test_a_port_for_each_tile_costs_more_than_one_for_each_row() -> None:
    row, dedicated, none = (priced(f"torus:4x4,bus={bus}").area for bus in ("row", "dedicated", "none"))
    assert row < dedicated
    assert dedicated == none


def test_fewer_memory_tiles_cost_less() -> None:
    assert priced("torus:4x4,bus=dedicated,memory=columns").area < priced("torus:4x4,bus=dedicated").area


def test_two_banks_cost_less_than_one_memory_with_as_many_ports() -> None:
    plain = {"family": "array", "rows": 4, "cols": 4, "links": "mesh"}
    banks = [{"name": "a", "where": {"rows": [0, 1]}, "ports": 2}, {"name": "b", "where": {"rows": [2, 3]}, "ports": 2}]
    divided = build({**plain, "memory": {"banks": banks}})
    assert priced(divided).area < priced(build({**plain, "memory": {"ports": "tile"}})).area


def test_each_link_of_a_cycle_lengthens_the_path_and_crossbars_take_area() -> None:
    levels = [priced(f"hycube:4x4,regs=4,hops={hops}").levels for hops in (2, 3, 4)]
    assert levels == sorted(levels)
    assert levels[1] - levels[0] > 1
    mesh = {"family": "array", "rows": 4, "cols": 4, "links": "mesh", "tiles": [{"registers": 4}]}
    assert priced(build(mesh)).area < priced(build({**mesh, "bypass": 2})).area


def described(**keys: Any) -> Cost:
    return priced(build({"family": "array", "rows": 4, "cols": 4, "links": "mesh", **keys}))


def test_read_ports_are_cheaper_than_operands_that_read_every_register() -> None:
    one, two, none = (described(tiles=[{"registers": {"count": 8, "reads": n}}]).area for n in (1, 2, None))
    assert one < two
    assert one < none


def test_write_ports_of_a_shared_file_are_cheaper_than_registers_that_choose_their_writer() -> None:
    areas = [described(files=[{"name": "rf", "count": 16, "writes": writes}]).area for writes in (1, 2, None)]
    assert areas == sorted(areas)
    assert areas[0] < areas[-1]


def test_buses_take_area_and_time() -> None:
    plain, row = described(), described(buses="rows")
    assert plain.area < row.area < described(buses=["rows", "columns"]).area
    assert plain.levels < row.levels


def test_fifos_and_constant_stores_are_paid_by_the_word() -> None:
    assert described(tiles=[{"constants": 4}]).area < described(tiles=[{"constants": 8}]).area
    static = {"style": "static"}
    assert described(**static, tiles=[{"fifo": [4, 0, 0]}]).area < described(**static, tiles=[{"fifo": 4}]).area


def test_parameters_inside_the_file_of_an_array_are_axes(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        'family: array\nrows: 3\ncols: "{cols}"\nlinks: mesh\nbypass: "{hops}"\ntiles: [{registers: 2}]\n'
    )
    (tmp_path / "space.yaml").write_text(
        'kernels: ["kernel:vector_add"]\narray: mine.yaml\nparameters: {cols: [2, 3], hops: {from: 1, to: 4}}\n'
    )
    space = read_space(tmp_path / "space.yaml")
    assert space.size == 8
    last = build(dict(space.at(7).array))  # type: ignore[arg-type]
    assert (last.cols, last.links_per_cycle) == (3, 4)
