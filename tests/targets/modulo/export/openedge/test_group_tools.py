"""The group's own simulator and RTL leave what the interpreter leaves.

They run where ``GRIDLOOM_OPENEDGE`` names a folder with clones of ``ESL-CGRA-simulator`` and ``OpenEdgeCGRA``.
"""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.targets.modulo.export.openedge.test_programs import FOLDER, PUBLISHED, SOURCES, mapping_of

from gridloom.errors import MappingError
from gridloom.targets.modulo.export.openedge.assembly import assemble
from gridloom.targets.modulo.export.openedge.package import instructions_csv, memory_csv
from gridloom.targets.modulo.export.openedge.program import PeProgram
from gridloom.targets.modulo.export.openedge.trial import Trial, try_program
from gridloom.targets.modulo.export.openedge.words import encode

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("GRIDLOOM_OPENEDGE" not in os.environ, reason="GRIDLOOM_OPENEDGE names no clones"),
]
#: Parameters of the templates of the RTL.
SIZES = {
    "cgra_num_rows": "4", "cgra_num_columns": "4", "cgra_max_columns": "4", "cgra_rcs_num_instr": "32",
    "cgra_cmem_bk_depth": "128", "cgra_kmem_depth": "16", "5+2*cgra_max_columns+2*cgra_num_columns": "21",
}  # fmt: skip
MODULES = [
    "mux", "alu", "reg_file", "conf_reg_file", "datapath", "program_counter", "reconfigurable_cell", "cgra_rcs",
    "cgra_controller", "data_bus_handler",
]  # fmt: skip
#: Words of the memory of the bench.
WORDS = 1 << 17


def clone(name: str) -> Path:
    """The folder of a clone; the test is skipped where it is missing."""
    folder = Path(os.environ["GRIDLOOM_OPENEDGE"]).resolve() / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is missing")
    return folder


def tried(source: str) -> tuple[PeProgram, Trial]:
    """The program of a loop and its longest trial; the test is skipped where there is no program."""
    mapping = mapping_of(source)
    try:
        program = assemble(mapping)
    except MappingError as error:
        pytest.skip(str(error))
    return program, try_program(program, mapping.dfg)[0]


LOOPS = [*SOURCES, *(str(FOLDER / "loops" / f"{name}.c") for name in PUBLISHED)]


@pytest.mark.parametrize("source", LOOPS)
def test_the_simulator_of_the_group_agrees(source: str, tmp_path: Path):
    simulator = clone("ESL-CGRA-simulator") / "src"
    program, trial = tried(source)
    (tmp_path / "instructions.csv").write_text(instructions_csv(program), encoding="utf-8")
    (tmp_path / "memory.csv").write_text(memory_csv(trial.before), encoding="utf-8")
    code = (
        "import cgra; cgra.PRINT_OUTS = 0; "
        f"cgra.run({str(tmp_path)!r}, pr=[], limit=100_000, load_addrs={list(trial.reads)}, "
        f"store_addrs={list(trial.writes)}, output_basename='found')"
    )
    subprocess.run([sys.executable, "-c", code], cwd=simulator, check=True, capture_output=True)
    found = dict(map(int, row) for row in csv.reader(io.StringIO((tmp_path / "found.csv").read_text())))
    assert {at: found.get(at) for at in trial.after} == trial.after


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that simulates the RTL, built by Verilator."""
    if shutil.which("verilator") is None:
        pytest.skip("verilator is missing")
    rtl, folder = clone("OpenEdgeCGRA") / "hw" / "rtl", tmp_path_factory.mktemp("rtl")
    package = re.sub(r"\$\{(.*?)\}", lambda match: SIZES[match[1]], (rtl / "cgra_pkg.sv.tpl").read_text())
    (folder / "cgra_pkg.sv").write_text(package)
    command = ["verilator", "--binary", "--timing", "-Wno-fatal", "-Wno-lint", "--top-module", "openedge_bench",
               "cgra_pkg.sv", *(str(rtl / f"{name}.sv") for name in MODULES),
               str(FOLDER / "openedge_bench.sv"), "-o", "bench"]  # fmt: skip
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "obj_dir" / "bench"


def write_hex(path: Path, words: list[int]) -> None:
    """Write words as Verilog reads them."""
    path.write_text("".join(f"{word % (1 << 32):08x}\n" for word in words))


@pytest.mark.parametrize("source", LOOPS)
def test_the_rtl_agrees_on_every_bus(source: str, bench: Path, tmp_path: Path):
    """A free bus, one grant per clock, random stalls. Clocks of the model are those of a free bus, within 1 %."""
    program, trial = tried(source)
    rows = [[encode(line[4 * r + c]) for c in range(4) for line in program.lines] for r in range(4)]
    write_hex(tmp_path / "words.hex", [word for row in rows for word in (row + [0] * 128)[:128]])
    write_hex(tmp_path / "memory.hex", [trial.before.get(4 * k, 0) for k in range(WORDS)])
    write_hex(tmp_path / "pointers.hex", [*trial.reads, *trial.writes])
    for grant in range(3):
        command = [str(bench), f"+length={len(program.lines)}", f"+grant={grant}"]
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        lines = (tmp_path / "found.hex").read_text().splitlines()
        found = [int(line, 16) for line in lines if line and line[0] not in "@/"]
        assert {at: found[at // 4] for at in trial.after} == {at: word % (1 << 32) for at, word in trial.after.items()}
        clocks = int(re.findall(r"^clocks (\d+)$", done.stdout, re.MULTILINE)[0])
        # The bench counts the clock in which the columns stop.
        assert grant or clocks == trial.clocks + 1
        assert clocks > trial.clocks
