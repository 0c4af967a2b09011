"""``gridloom rtl`` and ``gridloom show BITS``."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    from tests import hand_mappings

    from gridloom.mapping.json_format import dumps

    folder = tmp_path_factory.mktemp("saved")
    (folder / "good.json").write_text(dumps(hand_mappings.mesh_fifo_2()))
    (folder / "bad.json").write_text(dumps(hand_mappings.mesh_unbalanced()))
    (folder / "torus.json").write_text(dumps(hand_mappings.torus_spill()))
    return folder


def test_an_array_is_written_as_modules_testbench_and_readme(gridloom, tmp_path):
    done = gridloom("rtl", "mesh:2x2", "-o", tmp_path / "out", "--set", "width=16")
    assert done.status == 0
    assert done.out.startswith("mesh:2x2: 4 tiles, words of 16 bits, ")
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"gridloom_array.v", "tile_0.v", "gl_pe.v", "testbench.v", "files.f", "README.md"} <= written
    assert "config.hex" not in written


def test_a_mapping_has_bits_that_can_be_shown(gridloom, saved, tmp_path):
    done = gridloom("rtl", saved / "good.json", "-o", tmp_path / "out", "--json")
    record = json.loads(done.out)
    assert record["status"] == "written"
    assert record["configuration"]["bits"] == record["configuration"]["capacity"] > 0
    for name in ("config.hex", "config.bin"):
        shown = gridloom("show", tmp_path / "out" / name, "--arch", "mesh:2x3")
        assert shown.out == (tmp_path / "out" / "config.txt").read_text()
        assert "mul, from round 3" in shown.out


@pytest.mark.tools
@pytest.mark.skipif(not (shutil.which("iverilog") and shutil.which("make")), reason="Icarus Verilog is not installed")
def test_the_folder_runs_its_testbench_and_notices_a_wrong_result(gridloom, saved, tmp_path):
    folder = tmp_path / "out"
    gridloom("rtl", saved / "torus.json", "-o", folder)
    expected = (folder / "run" / "expected.txt").read_text().splitlines()
    agreed = subprocess.run(["make", "-s", "STALL=3"], cwd=folder, capture_output=True, text=True)
    assert agreed.stdout.splitlines()[-1] == f"hardware and simulator agree in {len(expected)} words"
    kind, cycle, tile, word = expected[-1].split()
    expected[-1] = f"{kind} {cycle} {tile} {int(word, 16) ^ 1:0{len(word)}x}"
    (folder / "run" / "expected.txt").write_text("\n".join([*expected, ""]))
    differing = subprocess.run(["make", "-s"], cwd=folder, capture_output=True, text=True)
    assert differing.returncode != 0
    assert differing.stdout.splitlines()[-2:] == ["results that the hardware did not give:", expected[-1]]


@pytest.mark.slow
@pytest.mark.tools
@pytest.mark.skipif(not (shutil.which("verilator") and shutil.which("make")), reason="Verilator is not installed")
def test_the_folder_runs_with_verilator(gridloom, saved, tmp_path):
    gridloom("rtl", saved / "good.json", "-o", tmp_path / "out")
    done = subprocess.run(["make", "-s", "verilator"], cwd=tmp_path / "out", capture_output=True, text=True)
    assert done.stdout.splitlines()[-1].startswith("hardware and simulator agree in ")


def test_a_mapping_that_is_not_legal_gets_no_bits(gridloom, saved, tmp_path):
    done = gridloom("rtl", saved / "bad.json", "-o", tmp_path / "out")
    assert done.status == 1
    assert done.out.startswith("not legal: ")
    assert not (tmp_path / "out").exists()


@pytest.mark.tools
@pytest.mark.skipif(not shutil.which("iverilog"), reason="Icarus Verilog is not installed")
def test_a_mapping_is_run_on_its_hardware(gridloom, saved, tmp_path):
    done = gridloom("rtl", saved / "torus.json", "-o", tmp_path / "out", "--cosim")
    assert done.status == 0
    assert done.out.endswith("hardware and simulator agree, on random streams and memories (seed 0)\n")
    assert done.err.startswith("co-simulated runs of 1, 2, 32 iterations, ")


@pytest.mark.tools
@pytest.mark.skipif(not shutil.which("iverilog"), reason="Icarus Verilog is not installed")
def test_a_mapping_is_run_in_narrow_words(gridloom, saved, tmp_path):
    done = gridloom("rtl", saved / "good.json", "-o", tmp_path / "out", "--cosim", "--set", "width=8")
    assert done.status == 0
    assert done.out.endswith("hardware agrees in words of 8 bits, on random streams and memories (seed 0)\n")


def biquad(folder):
    """A filter whose coefficients are live-ins, mapped."""
    import gridloom as gl
    from gridloom.dfg import DfgBuilder
    from gridloom.mapping.json_format import dumps

    b = DfgBuilder("biquad")
    x = b.input("x")
    b.add("mul", x, b.livein("b0"), id="now")
    b.add("mul", b.livein("b1"), id="before")
    b.carry(x, "before", operand=1, distance=1, initial=[0])
    b.output(b.add("add", "now", "before"), "y")
    result = gl.map(b.build(), "mesh:3x3", effort=5000)
    (folder / "biquad.json").write_text(dumps(result.mapping))
    return folder / "biquad.json"


def test_live_ins_are_given_in_one_list_or_one_by_one(gridloom, tmp_path):
    file = biquad(tmp_path)
    together = gridloom("rtl", file, "-o", tmp_path / "a", "--livein", "b0=3,b1=0x10", "--json")
    apart = gridloom("rtl", file, "-o", tmp_path / "b", "--livein", "b0=3", "--livein", "b1=16", "--json")
    assert json.loads(together.out)["unset_liveins"] == json.loads(apart.out)["unset_liveins"] == []
    assert (tmp_path / "a" / "config.bin").read_bytes() == (tmp_path / "b" / "config.bin").read_bytes()


@pytest.mark.tools
@pytest.mark.skipif(not shutil.which("iverilog"), reason="Icarus Verilog is not installed")
def test_live_ins_that_are_not_given_are_random_and_said_to_be(gridloom, tmp_path):
    file = biquad(tmp_path)
    done = gridloom("rtl", file, "-o", tmp_path / "out", "--cosim", "--livein", "b1=7", "--seed", "3")
    assert done.out.splitlines()[-2:] == [
        "live-ins set to 0 in the bits: b0",
        "hardware and simulator agree, on random streams, memories and 1 live-in (seed 3)",
    ]
    record = json.loads(gridloom("rtl", file, "-o", tmp_path / "out", "--cosim", "--json").out)
    assert record["findings"] == []
    assert record["cosimulation"]["random_liveins"] == ["b0", "b1"]
    assert record["cosimulation"]["seed"] == 0


def test_cosimulated_stimuli_have_live_ins_other_than_0_and_those_that_are_given(tmp_path):
    from gridloom.flow.hardware import _expected
    from gridloom.hardware.bitstream.encode import fit_parameters
    from gridloom.hardware.rtl.structure import Hardware
    from gridloom.mapping.configuration import configure
    from gridloom.mapping.json_format import loads

    mapping = loads(biquad(tmp_path).read_text())
    configuration = configure(mapping)
    hardware = Hardware(mapping.arch, fit_parameters(configuration))
    ((stimulus, expected),) = _expected(configuration, hardware, 8, 1, {"b1": 0xFFFFFFFF})
    assert stimulus.liveins["b0"] != 0
    assert stimulus.liveins["b1"] == -1
    assert expected.outputs["y"].any()


def test_numbers_that_do_not_fit_a_word_are_refused(gridloom, saved, tmp_path):
    done = gridloom("rtl", saved / "torus.json", "-o", tmp_path / "out", "--set", "width=8")
    assert done.status == 2
    assert done.err == "error: edge 'x' -> 's': initial value 300 does not fit words of 8 bits; raise width\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["mesh:2x2", "--set", "widht=3"],
            "--set: no such parameter: 'widht'; known: bypass, carries, contexts, fifo, ",
        ),
        (["mesh:2x2", "--set", "width=65"], "--set: width: expected 2 to 64, found 65"),
        (["mesh:2x2", "--cosim"], "--cosim, --livein: needs a mapping; an array alone computes nothing"),
        (["kernel:fir"], "'kernel:fir' is a graph; expected an array or a mapping"),
        (["rdu:2x2"], "array 'rdu:2x2' is elastic: hardware is generated for arrays that run by cycles"),
    ],
)
def test_mistakes_are_named(gridloom, tmp_path, arguments, message):
    done = gridloom("rtl", *arguments, "-o", tmp_path / "out")
    assert done.status == 2
    assert done.err.startswith(f"error: {message}")
    assert not (tmp_path / "out").exists()


def test_live_ins_that_the_graph_lacks_are_refused(gridloom, saved, tmp_path):
    done = gridloom("rtl", saved / "good.json", "-o", tmp_path / "out", "--livein", "k=3")
    assert (done.status, done.err) == (2, "error: --livein: graph 'diamond' has no live-in 'k'; it has: none\n")
