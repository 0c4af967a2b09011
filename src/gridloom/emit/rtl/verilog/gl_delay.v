// A word as it was CYCLES cycles ago. Data registers have no reset: nothing reads them before they are written.
module gl_delay #(
    parameter W = 32,
    parameter CYCLES = 1
) (
    input  wire         clk,
    input  wire [W-1:0] word,
    output wire [W-1:0] delayed
);
    reg [W-1:0] stage [0:CYCLES-1];
    integer k;
    always @(posedge clk) begin
        stage[0] <= word;
        for (k = 1; k < CYCLES; k = k + 1) stage[k] <= stage[k-1];
    end
    assign delayed = stage[CYCLES-1];
endmodule
