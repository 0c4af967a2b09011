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
    genvar k;
    generate
        if (VALUES == 1) begin : single
            reg [W-1:0] store;
            always @(posedge clk) if (write) store <= data[W-1:0];
            assign words = {PORTS{store}};
            wire unused_index = &{1'b0, index, offset};
        end else begin : many
            (* ram_style = "distributed" *) reg [W-1:0] store [0:(1<<VALUE_BITS)-1];
            always @(posedge clk) if (write) store[offset[VALUE_BITS-1:0]] <= data[W-1:0];
            for (k = 0; k < PORTS; k = k + 1) begin : port
                assign words[k*W +: W] = store[index[k*VALUE_BITS +: VALUE_BITS]];
            end
            wire unused_offset = &{1'b0, offset};
        end
    endgenerate
    wire unused = &{1'b0, data};
endmodule
