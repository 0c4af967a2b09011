// Operand FIFO: the word that arrived `tap` cycles ago, 0 to DEPTH. It is a chain of registers, because every cycle
// brings a word and the configuration fixes how long an operand waits.
module gl_fifo #(
    parameter W = 32, DEPTH = 1, TAP_BITS = 1
) (
    input  wire clk,
    input  wire [W-1:0] word,
    input  wire [TAP_BITS-1:0] tap,
    output reg  [W-1:0] waited
);
    reg [DEPTH*W-1:0] stages;
    integer k;
    always @(posedge clk) begin
        stages[W-1:0] <= word;
        for (k = 1; k < DEPTH; k = k + 1) stages[k*W +: W] <= stages[(k-1)*W +: W];
    end
    always @* begin
        waited = word;
        for (k = 1; k <= DEPTH; k = k + 1)
            if (tap == k[TAP_BITS-1:0]) waited = stages[(k-1)*W +: W];
    end
endmodule
