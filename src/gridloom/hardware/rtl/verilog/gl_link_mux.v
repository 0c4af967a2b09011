// The multiplexer of a link or a switch output in a crossbar: `select` names one of N words of `sources` (word 0 is the
// lowest). Links of crossbars form rings, which a legal configuration never closes. The output changes once per change
// of the inputs, without a value in between: such a value would run around an open ring for ever in an event simulator.
module gl_link_mux #(
    parameter W = 32, N = 2, SELECT_BITS = 1
) (
    input  wire [N*W-1:0] sources,
    input  wire [SELECT_BITS-1:0] select,
    output wire [W-1:0] chosen
);
    function [W-1:0] pick(input [N*W-1:0] words, input [SELECT_BITS-1:0] which);
        integer k;
        begin
            pick = words[W-1:0];
            for (k = 1; k < N; k = k + 1)
                if (which == k[SELECT_BITS-1:0]) pick = words[k*W +: W];
        end
    endfunction
    assign chosen = pick(sources, select);
endmodule
