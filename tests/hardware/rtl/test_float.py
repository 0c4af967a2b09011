"""The function unit for singles in Verilog against the interpreter: special cases, rounding, random operands."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray
from tests.hardware.conftest import simulate_verilog

from gridloom.dfg.ops import OP_TABLE
from gridloom.dfg.semantics import DOMAIN_CODE, evaluate
from gridloom.hardware.cosimulation import available
from gridloom.hardware.parameters import FLOATS
from gridloom.hardware.rtl.generate import primitive

pytestmark = [pytest.mark.tools, pytest.mark.usefixtures("icarus")]

Words = NDArray[np.int64]
OPS = {name: op.code for name, op in OP_TABLE["i32"].items() if FLOATS >> op.code & 1}
PARTS = ("gl_float", "gl_float_sum", "gl_float_product", "gl_float_order", "gl_cut", "gl_delay")
#: Zeros, the least and greatest subnormal and normal numbers, numbers around 1 and 2^31, infinities, NaNs.
EDGES = [
    sign | bits
    for sign in (0, 1 << 31)
    for bits in (
        0, 1, 2, 0x400000, 0x7FFFFE, 0x7FFFFF, 0x800000, 0x800001, 0xFFFFFF, 0x1000000, 0x3EFFFFFF, 0x3F000000,
        0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3FC00000, 0x33800000, 0x34000000, 0x4B000000, 0x4B7FFFFF, 0x4B800000,
        0x4EFFFFFF, 0x4F000000, 0x4F000001, 0x5F000000, 0x7EFFFFFF, 0x7F000000, 0x7F7FFFFE, 0x7F7FFFFF, 0x7F800000,
        0x7F800001, 0x7FC00000, 0x7FFFFFFF,
    )
]  # fmt: skip


@njit
def results(code: int, count: int, operands: Words) -> Words:
    """What the interpreter computes from each row of operands."""
    found = np.empty(len(operands), dtype=np.int64)
    for k in range(len(operands)):
        found[k] = evaluate(0, code, 0, operands[k], count)
    return found


def directed() -> Words:
    """Every pair of edge cases with every third one, as far as the list reaches."""
    rng = random.Random(4)
    return signed(np.array([(a, b, rng.choice(EDGES)) for a in EDGES for b in EDGES]))


def drawn(count: int, seed: int) -> Words:
    """Random operands: a third of any bits, a third of near exponents, a third about the ends of the range."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 1 << 32, (count, 3), dtype=np.int64)
    exponents = rng.integers(0, 256, (count, 1)) + rng.integers(-26, 27, (count, 3))
    kind = rng.integers(0, 3, (count, 1))
    near = np.clip(exponents, 0, 254) << 23 | words & 0x807FFFFF
    # Few set bits at both ends of a significand are where rounding has ties.
    ends = rng.integers(0, 4, (count, 3)) << 21 | rng.integers(0, 4, (count, 3)) | words & 0x80000000
    halves = rng.choice([0, 1, 2, 63, 64, 102, 103, 126, 127, 128, 150, 151, 157, 158, 190, 253, 254, 255], (count, 3))
    return signed(np.where(kind == 0, words, np.where(kind == 1, near, halves << 23 | ends)))


def signed(words: Words) -> Words:
    """Patterns of 32 bits as the interpreter carries them."""
    return (words + (1 << 31) & 0xFFFFFFFF) - (1 << 31)


def bench(rows: int, stages: int) -> str:
    """A testbench that feeds one row per cycle and prints each result that differs."""
    return f"""
        module bench;
            reg clk = 0;
            reg [6:0] opcode;
            reg [127:0] rows [0:{rows - 1}];
            integer k, wrong;
            wire [31:0] y;
            reg [127:0] row;
            wire [127:0] past;
            gl_float #(.STAGES({stages})) unit (
                .clk(clk), .opcode(opcode), .a(row[127:96]), .b(row[95:64]), .c(row[63:32]), .y(y));
            gl_cut #(.W(128), .CYCLES({stages})) beside (.clk(clk), .word(row), .later(past));
            initial begin
                if (!$value$plusargs("opcode=%d", opcode)) opcode = 0;
                $readmemh("rows.hex", rows);
                wrong = 0;
                for (k = 0; k < {rows + stages}; k = k + 1) begin
                    row = rows[k < {rows} ? k : {rows - 1}];
                    #1;
                    if (k >= {stages} && y !== past[31:0]) begin
                        wrong = wrong + 1;
                        if (wrong < 20) $display("%h: not %h", past, y);
                    end
                    clk = 1;
                    #1 clk = 0;
                end
                $display("wrong %0d", wrong);
                $finish;
            end
        endmodule"""


def write_rows(folder: Path, op: str, operands: Words) -> None:
    wanted = results(OPS[op], OP_TABLE["i32"][op].arity, operands)
    table = np.column_stack([operands, wanted]).astype(np.int32).astype(">i4")
    digits = table.tobytes().hex()
    (folder / "rows.hex").write_text("\n".join(digits[k : k + 32] for k in range(0, len(digits), 32)) + "\n")


def texts() -> dict[str, str]:
    return {f"{name}.v": primitive(name) for name in PARTS}


def test_the_hardware_has_every_op_but_quotients_and_roots() -> None:
    assert {name for name, op in OP_TABLE["i32"].items() if op.op_class == "fp"} - OPS.keys() == {"fdiv", "fsqrt"}
    assert OP_TABLE["f32"]["add"].code == OPS["fadd"]
    assert DOMAIN_CODE["f32"] == 0


@pytest.mark.parametrize("stages", [0, 4])
def test_special_cases_and_random_operands_give_what_the_interpreter_gives(stages: int, tmp_path: Path) -> None:
    operands = np.concatenate([directed()[:: 1 + stages], drawn(500, stages)])
    files = {"bench.v": bench(len(operands), stages), **texts()}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    subprocess.run(["iverilog", "-g2012", "-o", "a.vvp", "-s", "bench", *files], cwd=tmp_path, check=True)
    for op, code in OPS.items():
        write_rows(tmp_path, op, operands)
        done = subprocess.run(["vvp", "-n", "a.vvp", f"+opcode={code}"], cwd=tmp_path, capture_output=True, text=True)
        assert done.stdout == "wrong 0\n", f"{op}: {done.stdout}"


@pytest.mark.slow
@pytest.mark.parametrize("op", OPS)
def test_a_million_operand_pairs_give_what_the_interpreter_gives(
    op: str, tmp_path: Path, million: dict[int, Path]
) -> None:
    write_rows(tmp_path, op, np.concatenate([directed(), drawn(1_000_000 - len(EDGES) ** 2, OPS[op])]))
    for stages, program in million.items():
        run = [program, f"+opcode={OPS[op]}"]
        done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[0] == "wrong 0", f"{stages} stages: {done.stdout}"


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """The unit without registers and with three, each compiled by Verilator with a bench of a million rows."""
    if not available("verilator"):
        pytest.skip("Verilator is not installed")
    programs = {}
    for stages in (0, 3):
        folder = tmp_path_factory.mktemp("million")
        files = {"bench.v": bench(1_000_000, stages), **texts()}
        for name, text in files.items():
            (folder / name).write_text(text)
        command = ["verilator", "--binary", "--timing", "-O3", "-Wno-fatal", "-Wno-lint", "-Wno-style", "-Wno-STMTDLY",
                   "--top-module", "bench", "--Mdir", "verilated", *files]  # fmt: skip
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        programs[stages] = folder / "verilated" / "Vbench"
    return programs


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
