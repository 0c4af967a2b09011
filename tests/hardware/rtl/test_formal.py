"""Proofs by Yosys (temporal induction, all inputs and all reachable states) of the primitives that keep time."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gridloom.hardware.rtl.generate import primitive
from gridloom.hardware.synthesis import yosys

pytestmark = pytest.mark.tools

#: What a word was some cycles ago, and how many cycles have passed: nothing is claimed about words from before.
HISTORY = """
    reg [{top}:0] past [0:{cycles}];
    reg [7:0] age = 0;
    integer k;
    always @(posedge clk) begin
        past[0] <= word;
        for (k = 1; k <= {cycles}; k = k + 1) past[k] <= past[k-1];
        if (age != 255) age <= age + 1;
    end
"""


def proves(folder: Path, bench: str, names: tuple[str, ...], steps: int) -> bool:
    """Whether Yosys proves the assertions of a module ``bench`` that instantiates some primitives."""
    (folder / "bench.v").write_text(bench)
    for name in names:
        (folder / f"{name}.v").write_text(primitive(name))
    script = (
        f"read_verilog -formal -sv bench.v {' '.join(f'{name}.v' for name in names)}; prep -flatten -top bench; "
        f"memory_map; opt -fast; sat -tempinduct -prove-asserts -seq 1 -maxsteps {steps} -verify"
    )
    done = subprocess.run(["yosys", "-q", "-p", script], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode == 0


@pytest.fixture(autouse=True)
def needs_yosys() -> None:
    if not yosys.available():
        pytest.skip("Yosys is not installed")


def delay_bench(claimed: int) -> str:
    return f"""
        module bench (input clk, input [1:0] word);
            {HISTORY.format(top=1, cycles=4)}
            wire [1:0] delayed;
            gl_delay #(.W(2), .CYCLES(3)) unit (.clk(clk), .word(word), .delayed(delayed));
            always @* if (age > 4) assert (delayed == past[{claimed - 1}]);
        endmodule"""


def test_a_delay_line_gives_the_word_of_so_many_cycles_ago(tmp_path: Path) -> None:
    assert proves(tmp_path, delay_bench(3), ("gl_delay",), 8)


def test_a_wrong_claim_about_a_delay_line_is_not_proved(tmp_path: Path) -> None:
    assert not proves(tmp_path, delay_bench(2), ("gl_delay",), 8)


@pytest.mark.parametrize("depth", [1, 2, 4, 6])
def test_a_fifo_gives_the_word_that_will_have_waited(depth: int, tmp_path: Path) -> None:
    bits = depth.bit_length()
    bench = f"""
        module bench (input clk, input [1:0] word, input [{bits - 1}:0] tap);
            {HISTORY.format(top=1, cycles=depth + 1)}
            reg rst = 1;
            always @(posedge clk) rst <= 0;
            wire [1:0] late;
            gl_fifo #(.W(2), .DEPTH({depth}), .TAP_BITS({bits})) unit (
                .clk(clk), .rst(rst), .word(word), .next_tap(tap), .late(late));
            always @* if (age > {2 * depth + 2} && tap >= 1 && tap <= {depth})
                assert (late == (tap == 1 ? word : past[tap - 2]));
        endmodule"""
    assert proves(tmp_path, bench, ("gl_fifo", "gl_mux"), 3 * depth + 6)


def test_a_configuration_port_hands_on_every_packet_and_takes_its_own(tmp_path: Path) -> None:
    bench = """
        module bench (input clk, input rst, input valid, input [8:0] packet);
            reg was_valid, was_rst;
            reg [8:0] was_packet;
            reg begun = 0;
            always @(posedge clk) {was_valid, was_rst, was_packet, begun} <= {valid, rst, packet, 1'b1};
            wire valid_out, write;
            wire [8:0] packet_out;
            wire [1:0] region, offset, data;
            gl_config_port #(.ID_BITS(3), .OFFSET_BITS(2), .CHUNK(2)) unit (.number(3'd5),
                .clk(clk), .rst(rst), .valid_in(valid), .packet_in(packet), .valid_out(valid_out),
                .packet_out(packet_out), .write(write), .region(region), .offset(offset), .data(data));
            always @* if (begun) begin
                assert (valid_out == (was_valid && !was_rst));
                assert (packet_out == was_packet);
                assert (write == (valid_out && was_packet[8:6] == 5));
                assert ({region, offset, data} == was_packet[5:0]);
            end
        endmodule"""
    assert proves(tmp_path, bench, ("gl_config_port",), 4)
