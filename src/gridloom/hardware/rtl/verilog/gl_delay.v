// A word as it was CYCLES cycles ago. Data registers have no reset, since nothing reads them before they are written.
module gl_delay #(
    parameter W = 32, CYCLES = 1
) (
    input  wire clk,
    input  wire [W-1:0] word,
    output wire [W-1:0] delayed
);
    reg [CYCLES*W-1:0] stages;
    integer k;
    always @(posedge clk) begin
        stages[W-1:0] <= word;
        for (k = 1; k < CYCLES; k = k + 1) stages[k*W +: W] <= stages[(k-1)*W +: W];
    end
    assign delayed = stages[(CYCLES-1)*W +: W];
endmodule
