// A multiplexer: `select` names one of N words of `sources` (word 0 is the lowest).
module gl_mux #(
    parameter W = 32, N = 2, SELECT_BITS = 1
) (
    input  wire [N*W-1:0] sources,
    input  wire [SELECT_BITS-1:0] select,
    output reg  [W-1:0] chosen
);
    integer k;
    always @* begin
        chosen = sources[W-1:0];
        for (k = 1; k < N; k = k + 1)
            if (select == k[SELECT_BITS-1:0]) chosen = sources[k*W +: W];
    end
endmodule
