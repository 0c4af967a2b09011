// A memory bank with PORTS ports that N tiles reach. The upper bits of an address name the bank. Of the tiles that ask
// for it in a cycle the first PORTS are served, in the order of the tiles; the configuration sees to it that there are
// no more. A load is answered in the same cycle, or in the next one where SYNCHRONOUS is set; a store is in memory in the
// next one.
module gl_memory_bank #(
    parameter W = 32, N = 1, PORTS = 1, ADDRESS_BITS = 10, BANK_BITS = 1, BANK = 0, SYNCHRONOUS = 0
) (
    input  wire clk,
    input  wire [N-1:0] ask, ask_store,
    input  wire [N*ADDRESS_BITS-1:0] ask_address,
    input  wire [N*W-1:0] ask_word,
    input  wire [PORTS*W-1:0] loaded,
    output reg  [PORTS-1:0] request, store,
    output reg  [PORTS*ADDRESS_BITS-1:0] address,
    output reg  [PORTS*W-1:0] word,
    output reg [N*W-1:0] answer
);
    localparam [ADDRESS_BITS-1:0] ONES = {ADDRESS_BITS{1'b1}};
    localparam [ADDRESS_BITS-1:0] MASK = ~(ONES >> BANK_BITS);
    localparam [ADDRESS_BITS-1:0] HERE = BANK << (ADDRESS_BITS - BANK_BITS);
    // Which port serves which tile; a synchronous memory answers one cycle later.
    reg [N*PORTS-1:0] served;
    wire [N*PORTS-1:0] answers;
    integer k, p;
    always @* begin
        request = {PORTS{1'b0}};
        store = {PORTS{1'b0}};
        address = {(PORTS*ADDRESS_BITS){1'b0}};
        word = {(PORTS*W){1'b0}};
        served = {(N*PORTS){1'b0}};
        p = 0;
        for (k = 0; k < N; k = k + 1)
            if (ask[k] && p < PORTS && (ask_address[k*ADDRESS_BITS +: ADDRESS_BITS] & MASK) == HERE) begin
                request[p] = 1'b1;
                store[p] = ask_store[k];
                address[p*ADDRESS_BITS +: ADDRESS_BITS] = ask_address[k*ADDRESS_BITS +: ADDRESS_BITS];
                word[p*W +: W] = ask_word[k*W +: W];
                served[k*PORTS + p] = 1'b1;
                p = p + 1;
            end
    end
    generate
        if (SYNCHRONOUS != 0) begin : later
            gl_delay #(.W(N * PORTS), .CYCLES(1)) hold (.clk(clk), .word(served), .delayed(answers));
        end else begin : at_once
            assign answers = served;
            wire unused = &{1'b0, clk};
        end
    endgenerate
    integer t, q;
    always @* begin
        answer = {N*W{1'b0}};
        for (t = 0; t < N; t = t + 1)
            for (q = 0; q < PORTS; q = q + 1)
                answer[t*W +: W] = answer[t*W +: W] | ({W{answers[t*PORTS + q]}} & loaded[q*W +: W]);
    end
endmodule
