"""Terminal drawings, as plain text; and that names cannot steer the terminal."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from rich.console import Console
from tests import hand_mappings as hand

from gridloom.archs import build
from gridloom.dfg.model import Dfg, DfgBuilder, Node
from gridloom.emit.terminal.drawing import terminal
from gridloom.errors import OptionError
from gridloom.mapping import Instance, Mapping


def drawn(thing: object, *, colours: bool = False) -> str:
    system = "256" if colours else None
    console = Console(width=200, color_system=system, force_terminal=colours, legacy_windows=False)
    with console.capture() as capture:
        console.print(terminal(thing), end="")  # type: ignore[arg-type]
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def test_a_mesh_mapping_is_a_grid_with_arrows_and_waits() -> None:
    b = DfgBuilder("pair", "i32")
    b.add("neg", b.input("x"), id="minus")
    hops = (("pe_0_0.out", 1), ("pe_0_0>pe_0_1", 1), ("pe_0_1.in0", 1))
    mapping = hand.make(
        b.build(), "mesh:2x2", 1, {"x": ("pe_0_0", 0), "minus": ("pe_0_1", 3)}, {("x", "minus", 0): (hops, 2)}
    )
    assert drawn(mapping) == "\n".join(
        [
            "pair on mesh:2x2",
            "2 nodes · 2 of 4 tiles · II 1 · latency 4",
            "",
            "╭─@0────╮   ╭─@3────╮",
            "│ input │ → │  neg  │",
            "│   x   │   │ minus │",
            "╰───────╯   ╰─+2────╯",
            "",
            "╭╌╌╌╌╌╌╌╮   ╭╌╌╌╌╌╌╌╮",
            "╎       ╎   ╎       ╎",
            "╎       ╎   ╎       ╎",
            "╰╌╌╌╌╌╌╌╯   ╰╌╌╌╌╌╌╌╯",
            "",
            "■ ALU  ■ input",
        ]
    )


def test_hexagons_of_odd_rows_stand_half_a_tile_to_the_right() -> None:
    lines = drawn(build("hex:2x2")).splitlines()
    tops = [line for line in lines if "╭" in line]
    assert [line.index("╭") for line in tops] == [0, 6]


def test_rows_of_vpcma_go_up() -> None:
    text = drawn(build("vpcma:3x2,constants=0"))
    assert text.index("pe_2_0") < text.index("pe_0_0") < text.index("load_0") < text.index("store_0")


def test_a_modulo_mapping_is_a_table_of_tiles_by_slots() -> None:
    mapping = hand.torus_rotating()
    lines = drawn(mapping).splitlines()
    head = next(line for line in lines if "slot 0" in line)
    assert [f"slot {k}" in head for k in range(mapping.ii)] == [True] * mapping.ii
    for instance in mapping.instances:
        row = next(line for line in lines if line.startswith(instance.place))
        assert f"{instance.node} @{instance.cycle}" in row


def test_moves_stand_in_their_slots() -> None:
    assert "store" in drawn(hand.torus_spill()) and "load" in drawn(hand.torus_spill())


def test_a_graph_lists_operands_with_constants_and_distances() -> None:
    b = DfgBuilder("sum", "i32")
    total = b.add("add", b.add("mul", b.input("x"), b.const(3), id="m"), id="s")
    b.carry(total, total, operand=1)
    lines = [line.split() for line in drawn(b.build()).splitlines()]
    assert ["1", "m", "mul", "x,", "3"] in lines
    assert ["2", "s", "add", "m,", "s[-1]"] in lines


@pytest.mark.parametrize("name", hand.LEGAL)
def test_every_node_of_a_hand_written_mapping_is_drawn(name: str) -> None:
    mapping = hand.LEGAL[name]()
    text = drawn(mapping)
    for instance in mapping.instances:
        if instance.place in mapping.arch.tile_index:
            assert instance.node in text


def test_colours_follow_the_op_class() -> None:
    assert "\x1b[" in drawn(hand.mesh_local(), colours=True)
    assert "\x1b[" not in drawn(hand.mesh_local())


def test_names_cannot_steer_the_terminal() -> None:
    evil = "\x1b[2J\x07[red]x[/red]\n\t"
    dfg = Dfg(name=evil, domain="i32", nodes=(Node(id=evil, op="input", label=evil),))
    mapping = Mapping(
        dfg=dfg, arch=build("mesh:1x1"), ii=1, instances=(Instance(node=evil, place="pe_0_0"),), routes=()
    )
    for thing in (mapping, dfg, replace(mapping, arch=build("torus:1x1"))):
        text = drawn(thing)
        assert "\x1b" not in text and "\x07" not in text and "\t" not in text
    assert "[red]" in drawn(dfg)


def test_long_ids_keep_their_end() -> None:
    b = DfgBuilder("long", "i32")
    b.add("neg", b.input("x"), id="accumulator_17")
    dfg = b.build()
    mapping = hand.make(dfg, "mesh:1x2", 1, {"x": ("pe_0_0", 0), "accumulator_17": ("pe_0_1", 1)}, {})
    assert "acc…_17" in drawn(mapping)


def test_wide_characters_keep_the_frame_straight() -> None:
    dfg = Dfg(name="wide", domain="i32", nodes=(Node(id="加算加算加算", op="input"),))
    mapping = hand.make(dfg, "mesh:1x1", 1, {"加算加算加算": ("pe_0_0", 0)}, {})
    row = next(line for line in drawn(mapping).splitlines() if "加" in line)
    from rich.cells import cell_len

    assert cell_len(row) == 9


def test_other_things_are_refused() -> None:
    with pytest.raises(OptionError, match="cannot draw a str"):
        terminal("mesh")  # type: ignore[arg-type]


def test_importing_emit_does_not_import_rich() -> None:
    code = "import sys, gridloom.emit; sys.exit('rich' in sys.modules or 'numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
