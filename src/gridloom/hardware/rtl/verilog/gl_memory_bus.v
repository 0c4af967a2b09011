// A memory bus that N tiles share. The configuration lets at most one of them ask in a cycle. A load is answered in the
// same cycle, a store is in memory in the next one.
module gl_memory_bus #(
    parameter W = 32, N = 1, ADDRESS_BITS = 10
) (
    input  wire [N-1:0] ask, ask_store,
    input  wire [N*ADDRESS_BITS-1:0] ask_address,
    input  wire [N*W-1:0] ask_word,
    output wire request, store,
    output reg  [ADDRESS_BITS-1:0] address,
    output reg  [W-1:0] word
);
    assign request = |ask;
    assign store = |(ask & ask_store);
    integer k;
    always @* begin
        address = {ADDRESS_BITS{1'b0}};
        word = {W{1'b0}};
        for (k = 0; k < N; k = k + 1)
            if (ask[k]) begin
                address = address | ask_address[k*ADDRESS_BITS +: ADDRESS_BITS];
                word = word | ask_word[k*W +: W];
            end
    end
endmodule
