// The front of a tile with a SIMD unit, as gl_pe is that of a tile with one lane: the firing window and the operands. Names
// that begin with `next` belong to the next cycle and those with `soon` to the one after it: what is known ahead comes
// out of registers. `next_sources`, `next_counts`, `next_bases`, `arrived`, `late` and `streams` hold one field per operand,
// the highest index in the highest bits; the first STREAMS operands may come from a stream. An operand has a word for each
// of the LANES of a SIMD unit, that of lane 0 in the lowest bits; immediates and initial values are the same in all lanes.
// gl_pe with LANES = 1 would be the same logic, but a synthesiser that sees other names finds other areas for it: arrays of
// one lane keep gl_pe and the areas that documents state.
module gl_simd_pe #(
    parameter W = 32, LANES = 2, OPERANDS = 3, STREAMS = 3, STAGE_BITS = 6, VALUES = 4, VALUE_BITS = 2, COUNT_BITS = 3,
    parameter OFFSET_BITS = 8, CHUNK = 32,
    // A bit for each operand: whether its words may wait in a FIFO.
    parameter [31:0] WAITS = 32'hFFFFFFFF
) (
    input  wire clk, run,
    input  wire [STAGE_BITS-1:0] soon_stage, soon_past,
    // Immediates and initial values, written through the configuration chain.
    input  wire value_write,
    input  wire [OFFSET_BITS-1:0] offset,
    input  wire [CHUNK-1:0] data,
    // What the contexts of the coming slots say.
    input  wire soon_valid, soon_always,
    input  wire [STAGE_BITS-1:0] soon_start,
    input  wire [OPERANDS*2-1:0] next_sources,
    input  wire [OPERANDS*COUNT_BITS-1:0] next_counts,
    input  wire [OPERANDS*VALUE_BITS-1:0] next_bases,
    input  wire [OPERANDS-1:0] next_waits,
    // Words from wires, FIFOs and streams.
    input  wire [OPERANDS*LANES*W-1:0] arrived, late, streams,
    output wire fire,
    output wire [OPERANDS-1:0] stream_read,
    output wire [OPERANDS*LANES*W-1:0] operands
);
    localparam V = LANES * W;
    wire [STAGE_BITS-1:0] next_firing;
    gl_window #(.STAGE_BITS(STAGE_BITS)) window (
        .clk(clk), .run(run), .soon_valid(soon_valid), .soon_always(soon_always), .soon_start(soon_start),
        .soon_stage(soon_stage), .soon_past(soon_past), .fire(fire), .next_firing(next_firing));

    wire [OPERANDS*VALUE_BITS-1:0] index;
    wire [OPERANDS*W-1:0]          values;
    gl_values #(.W(W), .VALUES(VALUES), .VALUE_BITS(VALUE_BITS), .PORTS(OPERANDS), .OFFSET_BITS(OFFSET_BITS),
                .CHUNK(CHUNK)) constants (
        .clk(clk), .write(value_write), .offset(offset), .data(data), .index(index), .words(values));

    genvar k;
    generate
        for (k = 0; k < OPERANDS; k = k + 1) begin : operand
            gl_operand #(.W(V), .STAGE_BITS(STAGE_BITS), .VALUE_BITS(VALUE_BITS), .COUNT_BITS(COUNT_BITS),
                         .STREAM(k < STREAMS), .WAITS(WAITS[k])) pick (
                .clk(clk), .fire(fire), .next_source(next_sources[k*2 +: 2]),
                .next_count(next_counts[k*COUNT_BITS +: COUNT_BITS]),
                .next_base(next_bases[k*VALUE_BITS +: VALUE_BITS]), .next_firing(next_firing),
                .next_waits(next_waits[k]), .arrived(arrived[k*V +: V]), .late(late[k*V +: V]),
                .stream(streams[k*V +: V]), .value({LANES{values[k*W +: W]}}),
                .index(index[k*VALUE_BITS +: VALUE_BITS]), .read(stream_read[k]), .word(operands[k*V +: V]));
        end
    endgenerate
endmodule
