"""Block RAM of several ports behaves as the model of a memory does."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.hardware.conftest import simulate_verilog

from gridloom.hardware.rtl.generate import primitive

pytestmark = [pytest.mark.tools, pytest.mark.usefixtures("icarus")]


@pytest.mark.parametrize("synchronous", [0, 1])
@pytest.mark.parametrize("ports", [1, 2, 4])
def test_block_memory_answers_as_the_model_does(ports: int, synchronous: int, tmp_path: Path) -> None:
    bench = f"""
        module bench;
            reg clk = 0;
            reg [{ports - 1}:0] store = 0;
            reg [{4 * ports - 1}:0] address = 0;
            reg [{8 * ports - 1}:0] word = 0;
            wire [{8 * ports - 1}:0] model, blocks;
            integer cycle, p, q, wrong = 0;
            gl_data_memory #(.W(8), .PORTS({ports}), .ADDRESS_BITS(4), .SYNCHRONOUS({synchronous})) first (
                .clk(clk), .store(store), .address(address), .word(word), .loaded(model));
            gl_block_memory #(.W(8), .PORTS({ports}), .ADDRESS_BITS(4), .SYNCHRONOUS({synchronous})) second (
                .clk(clk), .store(store), .address(address), .word(word), .loaded(blocks));
            initial begin
                for (p = 0; p < 16; p = p + 1) first.words[p] = 0;
                for (cycle = 0; cycle < 3000; cycle = cycle + 1) begin
                    {{store, address, word}} = {{$random, $random, $random}};
                    // A block has to be read once before what it held counts.
                    if (cycle < 2) store = 0;
                    // No two ports store to one address in one cycle: the configuration sees to it.
                    for (p = 1; p < {ports}; p = p + 1)
                        for (q = 0; q < p; q = q + 1)
                            if (address[4*p +: 4] == address[4*q +: 4]) store[p] = 0;
                    #5 clk = 0;
                    #4 if (cycle > 2 && blocks !== model) wrong = wrong + 1;
                    #1 clk = 1;
                    #1 if (cycle > 2 && {synchronous} && blocks !== model) wrong = wrong + 1;
                    #1;
                end
                $display("%0d", wrong);
            end
        endmodule"""
    texts = {"bench.v": bench} | {f"{name}.v": primitive(name) for name in ("gl_data_memory", "gl_block_memory")}
    assert simulate_verilog(tmp_path, texts, "bench").split() == ["0"]


@pytest.mark.parametrize(("cycles", "shared"), [(1, 1), (4, 1), (9, 1), (17, 1), (1, 0), (3, 0), (9, 0)])
def test_a_divider_of_several_cycles_divides_as_the_one_of_one_cycle_does(
    cycles: int, shared: int, tmp_path: Path
) -> None:
    bench = f"""
        module bench;
            reg clk = 0, start = 0;
            reg [5:0] opcode;
            reg [7:0] a, b;
            wire [7:0] late, now;
            integer k, n, wrong = 0;
            gl_division #(.W(8), .OPCODE_BITS(6), .CYCLES({cycles}), .SHARED({shared})) first (
                .clk(clk), .start(start), .opcode(opcode), .a(a), .b(b), .y(late));
            gl_division #(.W(8), .OPCODE_BITS(6)) second (
                .clk(1'b0), .start(1'b0), .opcode(opcode), .a(a), .b(b), .y(now));
            reg [7:0] expected;
            initial begin
                for (k = 0; k < 4000; k = k + 1) begin
                    {{a, b}} = $random;
                    if (k % 7 == 0) b = 0;
                    if (k % 11 == 0) {{a, b}} = 16'h80ff;
                    opcode = 15 + k % 4;
                    start = 1;
                    #1 expected = now;
                    for (n = 0; n < {cycles}; n = n + 1) begin
                        #5 clk = 1;
                        #5 clk = 0;
                        start = 0;
                    end
                    #1 if (late !== expected) wrong = wrong + 1;
                end
                $display("%0d", wrong);
            end
        endmodule"""
    texts = {"bench.v": bench} | {f"{name}.v": primitive(name) for name in ("gl_division", "gl_delay")}
    assert simulate_verilog(tmp_path, texts, "bench").split() == ["0"]
