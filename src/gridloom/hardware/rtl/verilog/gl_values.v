// The words of a tile that do not travel: immediates, live-ins and the values that the first firings read.
// There is one read port per operand; the configuration chain writes the words (offset = number of the word).
module gl_values #(
    parameter W = 32, VALUES = 4, VALUE_BITS = 2, PORTS = 3, OFFSET_BITS = 8, CHUNK = 32
) (
    input  wire clk, write,
    input  wire [OFFSET_BITS-1:0] offset,
    input  wire [CHUNK-1:0] data,
    input  wire [PORTS*VALUE_BITS-1:0] index,
    output wire [PORTS*W-1:0] words
);
    reg [VALUES*W-1:0] store;
    integer v;
    always @(posedge clk)
        for (v = 0; v < VALUES; v = v + 1)
            if (write && offset == v[OFFSET_BITS-1:0]) store[v*W +: W] <= data[W-1:0];
    genvar k;
    generate
        if (VALUES == 1) begin : single
            assign words = {PORTS{store}};
            wire unused_index = &{1'b0, index};
        end else begin : many
            for (k = 0; k < PORTS; k = k + 1) begin : port
                gl_mux #(.W(W), .N(VALUES), .SELECT_BITS(VALUE_BITS)) pick (
                    .sources(store), .select(index[k*VALUE_BITS +: VALUE_BITS]), .chosen(words[k*W +: W]));
            end
        end
    endgenerate
    wire unused = &{1'b0, data};
endmodule
