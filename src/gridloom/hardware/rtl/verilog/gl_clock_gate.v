// A clock that stands still while `enable` is low. `enable` may change after a rising edge and has to be settled before
// the next one. On an ECP5 it is a block of the clock network; elsewhere a latch holds `enable` while the clock is high.
module gl_clock_gate (
    input  wire clk, enable,
    output wire gated
);
`ifdef GRIDLOOM_ECP5
    DCCA gate (.CLKI(clk), .CE(enable), .CLKO(gated));
`else
    reg open;
    // verilator lint_off LATCH
    always @* if (!clk) open = enable;
    // verilator lint_on LATCH
    assign gated = clk && open;
`endif
endmodule
