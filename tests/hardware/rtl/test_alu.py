"""The function units in Verilog against the op table's semantics, op by op, on numbers at the edges and between."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.hardware.conftest import simulate_verilog

from gridloom.dfg.ops import OP_TABLE
from gridloom.dfg.semantics import DOMAIN_CODE, evaluate
from gridloom.dfg.words import evaluate_word
from gridloom.hardware.rtl.generate import primitive

pytestmark = [pytest.mark.tools, pytest.mark.usefixtures("icarus")]

EDGES = (0, 1, 2, 3, 7, 31, 32, 33, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF)
MODULES = {"i32": "gl_alu", "cma24": "gl_cma_alu"}
Row = tuple[str, int, int, int]
UNITS = [("i32", width) for width in (32, 24, 16, 8, 13, 4, 2, 33, 64)] + [("cma24", 25)]


def texts(domain: str) -> dict[str, str]:
    """The function unit of a domain with the modules below it."""
    parts = (
        ("gl_controls", "gl_adder", "gl_shifter", "gl_mux", "gl_product", "gl_division", "gl_delay")
        if domain == "i32"
        else ("gl_adder", "gl_shifter", "gl_mux")
    )
    return {f"{name}.v": primitive(name) for name in (MODULES[domain], *parts)}


def ops_of(domain: str) -> dict[str, int]:
    base = OP_TABLE[domain]["const"].code
    return {
        name: op.code - base
        for name, op in OP_TABLE[domain].items()
        if op.op_class in ("alu", "mul", "div") and op.in_hardware
    }


def vectors(domain: str, width: int) -> list[Row]:
    rng = random.Random(f"{domain} {width}")
    mask = (1 << width) - 1
    edges = sorted({edge & mask for edge in (*EDGES, width - 1, width, width + 1, mask >> 1, (mask >> 1) + 1, mask)})
    pairs = [(a, b) for a in edges for b in edges]
    rows = []
    for op in ops_of(domain):
        chosen = pairs if 25 <= width <= 32 else rng.sample(pairs, min(len(pairs), 80))
        rows += [(op, a, b, rng.getrandbits(width)) for a, b in chosen]
        rows += [(op, *(rng.getrandbits(width) for _ in range(3))) for _ in range(100)]
    return rows


def expected(domain: str, width: int, op: str, *words: int) -> int:
    row = OP_TABLE[domain][op]
    if domain == "i32":
        result = evaluate_word(op, width, *words[: row.arity])
    else:
        result = int(evaluate(DOMAIN_CODE[domain], row.code, 0, np.array(words, dtype=np.int64), row.arity))
    return result & (1 << width) - 1


def computed(folder: Path, domain: str, width: int, rows: list[Row], *, ops: int | None = None) -> list[str]:
    """What the function unit makes of each row, in digits; ``ops`` are the opcodes that it has, as a mask.

    A unit with given ops is that of an ECP5, with Yosys's models of its cells.
    """
    codes, digits = ops_of(domain), -(-width // 4)
    lines = [f"{codes[op]:02x}{a:0{digits}x}{b:0{digits}x}{c:0{digits}x}" for op, a, b, c in rows]
    (folder / "vectors.hex").write_text("\n".join(lines) + "\n")
    span = 4 * digits
    third = f", .c(row[{width - 1}:0]), .controls(controls)" if domain == "i32" else ""
    module = f"{MODULES[domain]} #(.W({width}))" if domain == "i32" else MODULES[domain]
    module += f" #(.OPS(64'h{ops:x}))" if ops is not None else ""
    top = 6 if domain == "i32" else 5
    decoder = f"gl_controls decoder (.opcode(row[{3 * span + top}:{3 * span}]), .controls(controls));"
    decoder = decoder if domain == "i32" else ""
    bench = f"""
        module bench;
            reg [{8 + 3 * span - 1}:0] rows [0:{len(rows) - 1}];
            reg [{8 + 3 * span - 1}:0] row;
            wire [{width - 1}:0] y;
            wire [9:0] controls;
            integer k;
            {decoder}
            {module} unit (.opcode(row[{3 * span + top}:{3 * span}]), .a(row[{2 * span + width - 1}:{2 * span}]),
                .b(row[{span + width - 1}:{span}]){third}, .y(y));
            initial begin
                $readmemh("vectors.hex", rows);
                for (k = 0; k < {len(rows)}; k = k + 1) begin
                    row = rows[k];
                    #1 $display("%h", y);
                end
            end
        endmodule"""
    files = {"bench.v": bench, **texts(domain)}
    if ops is not None:
        for models in cell_models().parent.glob("cells_*.v*"):
            shutil.copy(models, folder)
        files = {"device.v": '`define GRIDLOOM_ECP5\n`include "cells_sim.v"\n', **files}
    return simulate_verilog(folder, files, "bench").split()


def wrong(domain: str, width: int, rows: list[Row], shown: list[str]) -> list[tuple[Row, str]]:
    """The rows whose result is not that of the op table."""
    digits = -(-width // 4)
    assert len(shown) == len(rows)
    return [(row, word) for row, word in zip(rows, shown) if word != f"{expected(domain, width, *row):0{digits}x}"]


def cell_models() -> Path:
    """Yosys's own models of the cells of an ECP5."""
    found = [Path(p) for p in ("/usr/share/yosys/ecp5/cells_sim.v", "/usr/local/share/yosys/ecp5/cells_sim.v")]
    models = next((path for path in found if path.exists()), None)
    if models is None:
        pytest.skip("Yosys is not installed")
    return models


@pytest.mark.parametrize(("domain", "width"), UNITS)
def test_function_unit_computes_what_the_op_table_says(domain: str, width: int, tmp_path: Path) -> None:
    rows = vectors(domain, width)
    assert wrong(domain, width, rows, computed(tmp_path, domain, width, rows)) == []


@pytest.mark.parametrize("missing", [(), ("sra", "sel", "not", "eql", "gt", "lt"), ("mult",), ("sl", "sr", "sra")])
def test_rows_compute_the_same_on_the_cells_of_an_fpga(missing: tuple[str, ...], tmp_path: Path) -> None:
    codes = {op: code for op, code in ops_of("cma24").items() if op not in missing}
    rows = [row for row in vectors("cma24", 25) if row[0] in codes]
    shown = computed(tmp_path, "cma24", 25, rows, ops=sum(1 << code for code in codes.values()))
    assert wrong("cma24", 25, rows, shown) == []


@pytest.mark.parametrize("domain", ["i32", "cma24"])
def test_opcodes_in_the_verilog_are_those_of_the_op_table(domain: str) -> None:
    constants = [part for text in texts(domain).values() for part in re.findall(r"localparam \[[^;]+;", text)]
    names = re.findall(r"\b([A-Z][A-Z_0-9]+) = (\d+)[,;]", " ".join(constants))
    listed = {name.lower(): int(code) for name, code in names if name != "MOST"}
    assert listed.items() <= ops_of(domain).items()
    passing = {"nop", "cat", "move"}
    assert ops_of(domain).keys() - listed.keys() <= passing
