// A processing element without its switches: the firing window, the operands and the function unit.
// `sources`, `counts`, `bases`, `routed` and `streams` hold one field per operand, the highest index in the highest bits.
// CMA chooses the function unit of domain cma24 (W = 25) instead of the one for integers.
// `loaded` is what memory answers; `is_load` puts it in the place of the function unit's result.
module gl_pe #(
    parameter W = 32, OPERANDS = 3, STAGE_BITS = 6, VALUES = 4, VALUE_BITS = 2, COUNT_BITS = 3,
    parameter OFFSET_BITS = 8, CHUNK = 32, CMA = 0, OPCODE_BITS = 6,
    parameter [127:0] OPS = {128{1'b1}}
) (
    input  wire clk, run,
    input  wire [STAGE_BITS-1:0] stage, past,
    // Immediates and initial values, written through the configuration chain.
    input  wire value_write,
    input  wire [OFFSET_BITS-1:0] offset,
    input  wire [CHUNK-1:0] data,
    // What the context of this slot says.
    input  wire valid, always_on,
    input  wire [STAGE_BITS-1:0] start,
    input  wire [OPCODE_BITS-1:0] opcode,
    input  wire [OPERANDS*2-1:0] sources,
    input  wire [OPERANDS*COUNT_BITS-1:0] counts,
    input  wire [OPERANDS*VALUE_BITS-1:0] bases,
    // Words from wires, streams and memory.
    input  wire [OPERANDS*W-1:0] routed, streams,
    input  wire is_load,
    input  wire [W-1:0] loaded,
    output wire fire,
    output wire [STAGE_BITS-1:0] firing,
    output wire [OPERANDS-1:0] stream_read,
    output wire [OPERANDS*W-1:0] operands,
    output wire [W-1:0] result
);
    gl_window #(.STAGE_BITS(STAGE_BITS)) window (
        .run(run), .valid(valid), .always_on(always_on), .start(start), .stage(stage), .past(past), .fire(fire),
        .firing(firing));

    wire [OPERANDS*VALUE_BITS-1:0] index;
    wire [OPERANDS*W-1:0]          values;
    gl_values #(.W(W), .VALUES(VALUES), .VALUE_BITS(VALUE_BITS), .PORTS(OPERANDS), .OFFSET_BITS(OFFSET_BITS),
                .CHUNK(CHUNK)) constants (
        .clk(clk), .write(value_write), .offset(offset), .data(data), .index(index), .words(values));

    genvar k;
    generate
        for (k = 0; k < OPERANDS; k = k + 1) begin : operand
            gl_operand #(.W(W), .STAGE_BITS(STAGE_BITS), .VALUE_BITS(VALUE_BITS), .COUNT_BITS(COUNT_BITS)) pick (
                .source(sources[k*2 +: 2]), .count(counts[k*COUNT_BITS +: COUNT_BITS]),
                .base(bases[k*VALUE_BITS +: VALUE_BITS]), .firing(firing), .fire(fire), .routed(routed[k*W +: W]),
                .stream(streams[k*W +: W]), .value(values[k*W +: W]), .index(index[k*VALUE_BITS +: VALUE_BITS]),
                .read(stream_read[k]), .word(operands[k*W +: W]));
        end
    endgenerate

    // The function unit has three operands; those that the element lacks are 0.
    localparam GIVEN = OPERANDS > 3 ? 3 : OPERANDS;
    wire [3*W-1:0] taken;
    generate
        if (OPERANDS >= 3) begin : whole
            assign taken = operands[3*W-1:0];
        end else begin : short
            assign taken = {{((3-GIVEN)*W){1'b0}}, operands};
        end
    endgenerate
    wire [W-1:0] computed;
    generate
        if (CMA) begin : cma
            gl_cma_alu #(.OPS(OPS[63:0])) unit (
                .opcode(opcode), .a(taken[W-1:0]), .b(taken[2*W-1:W]), .y(computed));
            wire unused = &{1'b0, taken[3*W-1:2*W]};
        end else begin : integers
            gl_alu #(.W(W), .OPCODE_BITS(OPCODE_BITS), .OPS(OPS)) unit (
                .opcode(opcode), .a(taken[W-1:0]), .b(taken[2*W-1:W]), .c(taken[3*W-1:2*W]), .y(computed));
        end
    endgenerate
    assign result = is_load ? loaded : computed;
endmodule
