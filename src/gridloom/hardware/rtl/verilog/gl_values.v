// The words of a tile that do not travel: immediates, live-ins and the values that the first firings read.
// There is one read port per operand; the configuration chain writes the words. The offset is the number of the word; the
// parts of words that are longer than CHUNK follow one another, the number of the part above that of the word.
module gl_values #(
    parameter W = 32, VALUES = 4, VALUE_BITS = 2, PORTS = 3, OFFSET_BITS = 8, CHUNK = 32
) (
    input  wire clk, write,
    input  wire [OFFSET_BITS-1:0] offset,
    input  wire [CHUNK-1:0] data,
    input  wire [PORTS*VALUE_BITS-1:0] index,
    output wire [PORTS*W-1:0] words
);
    localparam PARTS = (W + CHUNK - 1) / CHUNK;
    genvar k, p;
    generate
        for (p = 0; p < PARTS; p = p + 1) begin : part
            localparam FIRST = p * CHUNK;
            localparam [31:0] NUMBER = p;
            localparam BITS = W - FIRST > CHUNK ? CHUNK : W - FIRST;
            wire taken;
            if (PARTS == 1) begin : whole
                assign taken = write;
            end else begin : one
                assign taken = write && {{(32-OFFSET_BITS){1'b0}}, offset} >> VALUE_BITS == NUMBER;
            end
            if (VALUES == 1) begin : single
                reg [BITS-1:0] store;
                always @(posedge clk) if (taken) store <= data[BITS-1:0];
                for (k = 0; k < PORTS; k = k + 1) begin : port
                    assign words[k*W+FIRST +: BITS] = store;
                end
            end else begin : many
                (* ram_style = "distributed" *) reg [BITS-1:0] store [0:(1<<VALUE_BITS)-1];
                always @(posedge clk) if (taken) store[offset[VALUE_BITS-1:0]] <= data[BITS-1:0];
                for (k = 0; k < PORTS; k = k + 1) begin : port
                    assign words[k*W+FIRST +: BITS] = store[index[k*VALUE_BITS +: VALUE_BITS]];
                end
            end
        end
    endgenerate
    wire unused = &{1'b0, data, index, offset};
endmodule
