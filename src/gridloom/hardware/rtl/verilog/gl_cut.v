// A place where a register may stand: the word as it was CYCLES cycles ago, and the word itself where CYCLES = 0.
module gl_cut #(
    parameter W = 32, CYCLES = 0
) (
    input  wire clk,
    input  wire [W-1:0] word,
    output wire [W-1:0] later
);
    generate
        if (CYCLES > 0) begin : closed
            gl_delay #(.W(W), .CYCLES(CYCLES)) hold (.clk(clk), .word(word), .delayed(later));
        end else begin : open
            assign later = word;
            wire unused = &{1'b0, clk};
        end
    endgenerate
endmodule
