// Data memory with one port per bus: a load answers in the same cycle, or in the next one where SYNCHRONOUS is set; a
// store is in memory in the next one. This is a model for simulation; a chip has a compiled memory in its place, and an
// FPGA has gl_block_memory.
module gl_data_memory #(
    parameter W = 32, PORTS = 1, ADDRESS_BITS = 10, SYNCHRONOUS = 0
) (
    input  wire clk,
    input  wire [PORTS-1:0] store,
    input  wire [PORTS*ADDRESS_BITS-1:0] address,
    input  wire [PORTS*W-1:0] word,
    output wire [PORTS*W-1:0] loaded
);
    reg [W-1:0] words [0:(1<<ADDRESS_BITS)-1];
    integer p;
    always @(posedge clk)
        for (p = 0; p < PORTS; p = p + 1)
            if (store[p]) words[address[p*ADDRESS_BITS +: ADDRESS_BITS]] <= word[p*W +: W];
    genvar k;
    generate
        for (k = 0; k < PORTS; k = k + 1) begin : port
            if (SYNCHRONOUS != 0) begin : later
                reg [W-1:0] answer;
                always @(posedge clk) answer <= words[address[k*ADDRESS_BITS +: ADDRESS_BITS]];
                assign loaded[k*W +: W] = answer;
            end else begin : at_once
                assign loaded[k*W +: W] = words[address[k*ADDRESS_BITS +: ADDRESS_BITS]];
            end
        end
    endgenerate
endmodule
