// Context memory: one word of BITS bits for each slot. The configuration chain writes it in chunks
// (offset = {chunk, slot}). `soon` is the word of the slot after the next, `next` that of the next one and `word` that of
// the present one; with one context they are the same register, and otherwise each follows the one before it.
module gl_context_memory #(
    parameter BITS = 8, CONTEXTS = 1, SLOT_BITS = 1, OFFSET_BITS = 8, CHUNK = 32
) (
    input  wire clk, write,
    input  wire [OFFSET_BITS-1:0] offset,
    input  wire [CHUNK-1:0] data,
    input  wire [SLOT_BITS-1:0] soon_slot,
    output wire [BITS-1:0] soon, next, word
);
    localparam CHUNKS = (BITS + CHUNK - 1) / CHUNK;
    wire [OFFSET_BITS-SLOT_BITS-1:0] chunk = offset[OFFSET_BITS-1:SLOT_BITS];
    genvar k;
    generate
        for (k = 0; k < CHUNKS; k = k + 1) begin : part
            localparam WIDTH = (k == CHUNKS - 1) ? BITS - k * CHUNK : CHUNK;
            wire hit = write && chunk == k;
            if (CONTEXTS == 1) begin : single
                reg [WIDTH-1:0] store;
                always @(posedge clk) if (hit) store <= data[WIDTH-1:0];
                assign soon[k*CHUNK +: WIDTH] = store;
            end else begin : many
                reg [WIDTH-1:0] store [0:CONTEXTS-1];
                always @(posedge clk) if (hit) store[offset[SLOT_BITS-1:0]] <= data[WIDTH-1:0];
                assign soon[k*CHUNK +: WIDTH] = store[soon_slot];
            end
        end
        if (CONTEXTS == 1) begin : standing
            assign {next, word} = {soon, soon};
        end else begin : changing
            reg [BITS-1:0] coming, present;
            always @(posedge clk) {coming, present} <= {soon, coming};
            assign {next, word} = {coming, present};
        end
    endgenerate
    wire unused = &{1'b0, data, offset, soon_slot};
endmodule
