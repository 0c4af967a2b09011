"""``gridloom vpr``: what a placer hands back is judged by our rules; a placer that fails or is missing is told."""

from __future__ import annotations

import sys

import pytest

from gridloom.archs.spec import build
from gridloom.errors import OptionError
from gridloom.targets.grid.export.vpr.flow import command, compare, measured_elsewhere

#: Stands in for VPR: places the blocks of graph.blif one after the other, and fails for seed 2.
PLACER = """#!{python}
import sys
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


def test_a_placer_that_fails_is_told_with_its_last_line(tmp_path, placer):
    with pytest.raises(OptionError, match="vpr with seed 2 failed with status 1: no room"):
        compare("kernel:distance", "mesh:4x4,inputs=skewed", tmp_path / "files", runs=2, program=placer)


def test_without_the_program_its_command_is_told_and_the_files_are_there(tmp_path):
    with pytest.raises(OptionError, match=r"'no-such-vpr' is not on the PATH; install VTR, or run 'vpr array\.xml"):
        compare("kernel:distance", "mesh:4x4", tmp_path / "files", runs=1, program="no-such-vpr")
    assert (tmp_path / "files" / "array.xml").is_file()
    assert command(7)[-2:] == ["--seed", "7"]


def test_results_measured_elsewhere_are_those_of_the_graph_and_the_size(tmp_path):
    (tmp_path / "neosa").mkdir()
    (tmp_path / "neosa" / "vpr_results.csv").write_text(
        "graph,nodes,edges,side,mode,seeds,cpu_s_per_run,wirelength_mean,wirelength_best\n"
        "K4N4,63,76,8,default,100,0.5,50.0,40\nK4N4,63,76,9,default,100,0.5,50.0,30\n"
    )
    rows = measured_elsewhere("neosa-K4N4", build("mesh:8x8"), tmp_path)
    assert [(row.placer, row.seconds, row.legal, row.wirelength) for row in rows] == [
        ("vpr, default, best of 100", 50.0, None, 40)
    ]
