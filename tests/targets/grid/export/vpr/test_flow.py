"""``gridloom vpr``: what a placer hands back is judged by our rules; a placer that fails or is missing is told."""

from __future__ import annotations

import sys

import pytest

from gridloom.archs.spec import build
from gridloom.errors import OptionError
from gridloom.targets.grid.export.vpr.flow import command, compare, measured_elsewhere

#: Stands in for VPR: places the blocks of graph.blif one after the other, routes one net, and fails for seed 2.
PLACER = """#!{python}
import sys
if "--version" in sys.argv:
    print("VPR FPGA Placement and Routing.\\nVersion: 9.0.0-test")
    sys.exit()
if "--route" in sys.argv:
    with open("graph.route", "w") as file:
        file.write("Placement_File: graph.place\\nArray size: 6 x 6 logic blocks.\\n\\nRouting:\\n\\nNet 0 (a)\\n\\n")
        for line in ("1 SOURCE (1,3,0)", "9 CHANX (1,3,0) to (4,3,0) Track: 0", "4 SINK (4,3,0)"):
            file.write("Node: " + line + "\\n")
    sys.exit()
seed = int(sys.argv[-1])
blocks = [line.rpartition("=")[2].strip() for line in open("graph.blif") if line.startswith(".subckt")]
if seed == 2:
    sys.exit("no room")
with open("graph.place", "w") as file:
    file.write("Netlist_File: graph.net Netlist_ID: x\\nArray size: 6 x 6 logic blocks\\n")
    for k, block in enumerate(blocks):
        file.write(f"{{block}} {{k % 4 + 1}} {{k // 4 + 1}} 0 #{{k}}\\n")
"""


@pytest.fixture
def placer(tmp_path):
    path = tmp_path / "placer"
    path.write_text(PLACER.format(python=sys.executable))
    path.chmod(0o755)
    return str(path)


def test_a_placement_of_another_tool_is_routed_balanced_and_compared(tmp_path, placer):
    rows = compare("kernel:distance", "mesh:4x4,inputs=skewed", tmp_path / "files", runs=1, program=placer)
    assert [row.placer for row in rows] == ["vpr, seed 1", "gridloom"]
    assert rows[-1].legal
    assert rows[-1].wirelength is not None
    assert not rows[0].legal or rows[0].wirelength >= rows[-1].wirelength
    assert (tmp_path / "files" / "seed-1.place").is_file()
    assert (rows[0].routed, rows[0].version) == (4, "9.0.0-test")


def test_a_placer_that_fails_is_told_with_its_last_line(tmp_path, placer):
    with pytest.raises(OptionError, match="vpr with seed 2 failed with status 1: no room"):
        compare("kernel:distance", "mesh:4x4,inputs=skewed", tmp_path / "files", runs=2, program=placer)


def test_without_the_program_its_command_is_told_and_the_files_are_there(tmp_path):
    with pytest.raises(OptionError, match=r"'no-such-vpr' is not on the PATH; install VTR, or run 'vpr array\.xml"):
        compare("kernel:distance", "mesh:4x4", tmp_path / "files", runs=1, program="no-such-vpr")
    assert (tmp_path / "files" / "array.xml").is_file()
    assert command(7)[-2:] == ["--seed", "7"]


STORED = """graph,family,side,io,vpr_wirelength,vpr_fifo_max,vpr_cpu_s,seed,options,version
K4N4,mesh,8,any,40,1,0.5,1,[one kind of node per set of tile types],9.0
K4N4,mesh,8,any,,,0.5,2,--inner_num 10 [one kind of node per set of tile types],9.0
K4N4,mesh,8,any,60,1,0.5,1,[kinds of node as exported],9.0
K4N4,chess,8,any,50,1,0.5,1,[one kind of node per set of tile types],9.0
K4N4,mesh,8,border,70,2,0.5,1,[one kind of node per set of tile types],9.0
"""


@pytest.mark.parametrize(
    ("arch", "expected"),
    [
        (
            "mesh:8x8",
            [("vpr (stored), default, seed 1", 40, True), ("vpr (stored), inner_num 10, seed 2", None, False)],
        ),
        ("chess:8x8", [("vpr (stored), default, seed 1", 50, True)]),
        ("mesh:8x8,io=border", [("vpr (stored), default, seed 1", 70, True)]),
        ("mesh:9x9", []),
        ("mesh:8x8,mul=checkerboard", []),
    ],
)
def test_stored_results_are_those_of_the_graph_and_the_array(tmp_path, arch, expected):
    (tmp_path / "neosa").mkdir()
    (tmp_path / "neosa" / "vpr9_results.csv").write_text(STORED)
    rows = measured_elsewhere("neosa-K4N4", build(arch), tmp_path)
    assert [(row.placer, row.wirelength, row.legal) for row in rows] == expected
    if rows:
        io = "border" if "border" in arch else "any"
        assert rows[0].version == f"9.0; {arch.partition(':')[0]} 8x8, io={io}, mul=all"
