"""The function unit for singles in Verilog against the interpreter: special cases, rounding, random operands."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.hardware.conftest import simulate_verilog
from tests.hardware.rtl.float_bench import EDGES, OPS, bench, compiled, differing, directed, drawn, texts, write_rows

from gridloom.dfg.ops import OP_TABLE
from gridloom.dfg.semantics import DOMAIN_CODE
from gridloom.hardware.cosimulation import available

pytestmark = [pytest.mark.tools, pytest.mark.usefixtures("icarus")]

#: Rows of operands for each op in the slow test; ``python -m tests.fuzz.singles`` runs as many as wanted.
ROWS = 100_000


def test_the_hardware_has_every_op_but_quotients_and_roots() -> None:
    assert {name for name, op in OP_TABLE["i32"].items() if op.op_class == "fp"} - OPS.keys() == {"fdiv", "fsqrt"}
    assert OP_TABLE["f32"]["add"].code == OPS["fadd"]
    assert DOMAIN_CODE["f32"] == 0


@pytest.mark.parametrize("stages", [0, 4])
def test_special_cases_and_random_operands_give_what_the_interpreter_gives(stages: int, tmp_path: Path) -> None:
    operands = np.concatenate([directed()[:: 1 + stages], drawn(500, stages)])
    files = {"bench.v": bench(len(operands), [stages]), **texts()}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    subprocess.run(["iverilog", "-g2012", "-o", "a.vvp", "-s", "bench", *files], cwd=tmp_path, check=True)
    for op, code in OPS.items():
        write_rows(tmp_path, op, operands)
        done = subprocess.run(["vvp", "-n", "a.vvp", f"+opcode={code}"], cwd=tmp_path, capture_output=True, text=True)
        assert done.stdout == "wrong 0\n", f"{op}: {done.stdout}"


@pytest.mark.slow
@pytest.mark.parametrize("op", OPS)
def test_many_operand_rows_give_what_the_interpreter_gives(op: str, tmp_path: Path, program: Path) -> None:
    operands = np.concatenate([directed(), drawn(ROWS - len(EDGES) ** 2, OPS[op])])
    assert differing(program, tmp_path, op, operands) == []
    assert differing(program, tmp_path, op, operands, unit_op="fsub" if op == "fadd" else "fadd")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unit without registers and with three, compiled by Verilator."""
    if not available("verilator"):
        pytest.skip("Verilator is not installed")
    return compiled(tmp_path_factory.mktemp("many"), ROWS, (0, 3))


def test_parts_that_no_op_needs_are_left_out(tmp_path: Path) -> None:
    """With additions alone the unit has no multiplier, and it still adds."""
    mask = 1 << OPS["fadd"]
    text = f"""
        module bench;
            wire [31:0] y;
            gl_float #(.OPS(128'h{mask:x})) unit (
                .clk(1'b0), .opcode(7'd55), .a(32'h3fc00000), .b(32'h40000000), .c(32'd0), .y(y));
            initial #1 $display("%h", y);
        endmodule"""
    assert simulate_verilog(tmp_path, {"bench.v": text, **texts()}, "bench") == "40600000\n"
