"""A testbench for the function unit for singles, its operands, and what the interpreter computes from them."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gridloom.dfg.ops import OP_TABLE
from gridloom.dfg.semantics import evaluate
from gridloom.hardware.parameters import FLOATS
from gridloom.hardware.rtl.generate import primitive

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


#: A unit of n stages beside a delay line that keeps its operands and the expected result.
UNIT = """
            wire [31:0] y{n};
            wire [127:0] past{n};
            gl_float #(.STAGES({n})) unit{n} (
                .clk(clk), .opcode(opcode), .a(row[127:96]), .b(row[95:64]), .c(row[63:32]), .y(y{n}));
            gl_cut #(.W(128), .CYCLES({n})) beside{n} (.clk(clk), .word(row), .later(past{n}));"""
CHECK = """
                    if (k >= {n} && y{n} !== past{n}[31:0]) begin
                        wrong = wrong + 1;
                        if (wrong < 20) $display("{n} stages, %h: not %h", past{n}, y{n});
                    end"""


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


def bench(rows: int, stages: Sequence[int]) -> str:
    """A testbench that feeds one row per cycle to a unit for each number of stages and prints results that differ."""
    units = "\n".join(UNIT.format(n=n) for n in stages)
    checks = "\n".join(CHECK.format(n=n) for n in stages)
    return f"""
        module bench;
            reg clk = 0;
            reg [6:0] opcode;
            reg [127:0] rows [0:{rows - 1}];
            integer k, wrong;
            reg [127:0] row;
            {units}
            initial begin
                if (!$value$plusargs("opcode=%d", opcode)) opcode = 0;
                $readmemh("rows.hex", rows);
                wrong = 0;
                for (k = 0; k < {rows + max(stages)}; k = k + 1) begin
                    row = rows[k < {rows} ? k : {rows - 1}];
                    #1;
                    {checks}
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


def compiled(folder: Path, rows: int, stages: Sequence[int]) -> Path:
    """The testbench compiled by Verilator, which pays for many rows."""
    files = {"bench.v": bench(rows, stages), **texts()}
    for name, text in files.items():
        (folder / name).write_text(text)
    command = ["verilator", "--binary", "--timing", "-O3", "-Wno-fatal", "-Wno-lint", "-Wno-style", "-Wno-STMTDLY",
               "--top-module", "bench", "--Mdir", "verilated", *files]  # fmt: skip
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "verilated" / "Vbench"


def differing(program: Path, folder: Path, op: str, operands: Words, *, unit_op: str = "") -> list[str]:
    """The rows on which a compiled testbench finds another result than the interpreter's, the first few as text.

    ``unit_op`` sets the unit to another op than the interpreter's, to see that differences are found.
    """
    write_rows(folder, op, operands)
    code = OPS[unit_op or op]
    done = subprocess.run([program, f"+opcode={code}"], cwd=folder, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    # The number behind the last word is 0 in any case where Verilator 5.006 compiled it.
    assert any(line.startswith("wrong ") for line in lines), "the testbench did not come to its end"
    return [line for line in lines if ": not " in line]
