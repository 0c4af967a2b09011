// Operand FIFO: the word that arrived `tap` cycles ago, 0 to DEPTH. It is a chain of registers, because every cycle
// brings a word and the configuration fixes how long an operand waits.
module gl_fifo #(
    parameter W = 32, DEPTH = 1, TAP_BITS = 1
) (
    input  wire clk,
    input  wire [W-1:0] word,
    input  wire [TAP_BITS-1:0] tap,
    output wire [W-1:0] waited
);
    reg [DEPTH*W-1:0] stages;
    wire [(DEPTH+1)*W-1:0] taps = {stages, word};
    always @(posedge clk) stages <= taps[DEPTH*W-1:0];
    gl_mux #(.W(W), .N(DEPTH + 1), .SELECT_BITS(TAP_BITS)) pick (.sources(taps), .select(tap), .chosen(waited));
endmodule
