// The live-out registers: each keeps the last word that left through the port which it listens to, in its slot.
module gl_liveouts #(
    parameter W = 32, LIVEOUTS = 1, PORTS = 1, SLOT_BITS = 1
) (
    input  wire clk, tick,
    input  wire [SLOT_BITS-1:0] slot,
    input  wire [LIVEOUTS-1:0] selects,
    input  wire [LIVEOUTS*16-1:0] selected,
    input  wire [PORTS-1:0] valid,
    input  wire [PORTS*W-1:0] words,
    output reg  [LIVEOUTS*32-1:0] liveouts
);
    localparam PORT_BITS = PORTS > 1 ? $clog2(PORTS) : 1;
    integer k;
    always @(posedge clk)
        for (k = 0; k < LIVEOUTS; k = k + 1)
            if (tick && selects[k] && valid[selected[k*16 +: PORT_BITS]] && slot == selected[k*16+8 +: SLOT_BITS])
                liveouts[k*32 +: 32] <= {{(33-W){words[selected[k*16 +: PORT_BITS]*W + W - 1]}},
                                         words[selected[k*16 +: PORT_BITS]*W +: W-1]};
    wire unused = &{1'b0, selected};
endmodule
