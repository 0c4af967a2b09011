"""Register files: names that rotate do what words that rotate do."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.hardware.conftest import simulate_verilog

from gridloom.archs.spec import build
from gridloom.hardware.parameters import HardwareParameters
from gridloom.hardware.rtl.generate import primitive, used_primitives
from gridloom.hardware.rtl.register_names import first_register, has_names
from gridloom.hardware.rtl.structure import Hardware

#: Both files get the same random writes, presets and rotations; register k of one is at place `at[k]` of the other.
BENCH = """
    module bench;
        localparam W = {width}, REGS = {registers}, BITS = {bits};
        reg clk = 0, rst = 1, preset = 0, turn = 0;
        reg [5:0] where = 0;
        reg [31:0] data;
        reg [2:0] rotating = 0;
        reg [REGS-1:0] write = 0;
        reg [W-1:0] word;
        wire [REGS*W-1:0] moved, held;
        wire [REGS*BITS-1:0] places;
        reg [REGS*BITS-1:0] at;
        gl_registers #(.W(W), .REGS(REGS), .COUNT_BITS(3), .OFFSET_BITS(6)) words (
            .clk(clk), .preset(preset), .offset(where), .data(data), .turn_round(turn), .rotating(rotating),
            .write(write), .words({{REGS{{word}}}}), .held(moved));
        gl_named_registers #(.W(W), .REGS(REGS), .PLACE_BITS(BITS), .COUNT_BITS(3), .OFFSET_BITS(6)) names (
            .clk(clk), .rst(rst), .preset(preset), .offset(where), .data(data), .turn_round(turn),
            .rotating(rotating), .write(write), .word(word), .places(places), .held(held));
        integer n, k, wrong = 0;
        always @(posedge clk) at <= places;
        initial begin
            repeat (2) begin #1 clk = 1; #1 clk = 0; end
            rst = 0;
            for (n = 0; n < 1500; n = n + 1) begin
                if (n % 250 == 0) rotating = $urandom % (REGS + 1);
                // Values are given before a run, in which registers are written and rotate.
                preset = n % 250 < 40;
                turn = !preset && $urandom % 3 == 0;
                data = $urandom;
                where = ($urandom % 2 << BITS) + $urandom % REGS;
                write = preset ? 0 : $urandom & $urandom;
                word = {{$urandom, $urandom}};
                #1 clk = 1;
                #1 clk = 0;
                for (k = 0; k < REGS; k = k + 1)
                    if (n > 40 && held[at[k*BITS +: BITS]*W +: W] !== moved[k*W +: W]) wrong = wrong + 1;
            end
            $display("wrong %0d", wrong);
            $finish;
        end
    endmodule"""


@pytest.mark.tools
@pytest.mark.parametrize(("width", "registers", "bits"), [(40, 5, 3), (8, 2, 1), (33, 4, 2)])
def test_names_that_rotate_hold_what_words_that_rotate_hold(
    width: int, registers: int, bits: int, tmp_path: Path, icarus: None
) -> None:
    text = BENCH.format(width=width, registers=registers, bits=bits)
    files = {f"{name}.v": primitive(name) for name in ("gl_registers", "gl_named_registers")}
    assert simulate_verilog(tmp_path, {"bench.v": text, **files}, "bench") == "wrong 0\n"


@pytest.mark.parametrize(
    ("array", "named"),
    [
        ("torus:4x4", True),
        ("torus:2x2,regs=2", True),
        # One register has nothing to rotate with; the registers of a shared file have words of their own each.
        ("torus:2x2,regs=1", False),
        ("torus:4x4,regs=8,file=central", False),
        ("mesh:2x2", False),
    ],
)
def test_registers_are_named_where_all_of_them_take_the_result(array: str, named: bool) -> None:
    hardware = Hardware(build(array), HardwareParameters(width=8))
    assert {has_names(unit.shape) for unit in hardware.units if unit.tile >= 0} == {named}
    assert ("gl_named_registers" in used_primitives(hardware)) == named


def test_a_multiplexer_that_reads_no_register_keeps_its_select() -> None:
    shape = Hardware(build("torus:4x4")).units[0].shape
    firsts = {mux.name: first_register(shape, mux) for mux in shape.muxes}
    assert firsts["in0"] == 5
    assert firsts["to_0"] is None


def test_a_memory_port_without_conditional_stores_has_two_operands() -> None:
    for ops, operands in ((("add",), 3), (("add", "load", "store"), 2), (("add", "load", "store_if"), 3)):
        hardware = Hardware(build("torus:2x2"), HardwareParameters(ops=ops))
        assert hardware.units[0].shape.operands == operands
