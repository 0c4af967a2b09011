// The function units of a tile with a SIMD unit: gl_units once for each lane, behind one opcode and one firing. Operands and
// results have a word for each lane, that of lane 0 in the lowest bits. All lanes do the same, so that the first one says
// for all of them when a result is there.
module gl_simd_units #(
    parameter LANES = 2, W = 32, CMA = 0, OPCODE_BITS = 6, LATENCY_BITS = 1,
    parameter PRODUCT = 0, DIVISION = 0, DIVIDES_IN = 1, LOAD = 0, SINGLE = 0, SETTLE = 0, READY = 0,
    parameter [127:0] OPS = {128{1'b1}}, FLOATS = 128'd0
) (
    input  wire clk, fire, write, is_load,
    input  wire [LATENCY_BITS-1:0] latency,
    input  wire [OPCODE_BITS-1:0] opcode,
    input  wire [9:0] controls,
    input  wire [LANES*W-1:0] a, b, c, loaded,
    output wire [4:0] writes,
    output wire [5*LATENCY_BITS-1:0] latencies,
    output wire [5*LANES*W-1:0] words,
    output wire fired,
    output wire [LANES*W-1:0] settled
);
    genvar l, p;
    generate
        for (l = 0; l < LANES; l = l + 1) begin : lane
            wire [4:0] lane_writes;
            wire [5*LATENCY_BITS-1:0] lane_latencies;
            wire [5*W-1:0] lane_words;
            wire lane_fired;
            gl_units #(.W(W), .CMA(CMA), .OPCODE_BITS(OPCODE_BITS), .LATENCY_BITS(LATENCY_BITS), .PRODUCT(PRODUCT),
                       .DIVISION(DIVISION), .DIVIDES_IN(DIVIDES_IN), .LOAD(LOAD), .SINGLE(SINGLE), .SETTLE(SETTLE),
                       .READY(READY), .OPS(OPS), .FLOATS(FLOATS)) units (
                .clk(clk), .fire(fire), .write(write), .is_load(is_load), .latency(latency), .opcode(opcode),
                .controls(controls), .a(a[l*W +: W]), .b(b[l*W +: W]), .c(c[l*W +: W]), .loaded(loaded[l*W +: W]),
                .writes(lane_writes), .latencies(lane_latencies), .words(lane_words), .fired(lane_fired),
                .settled(settled[l*W +: W]));
            for (p = 0; p < 5; p = p + 1) begin : port
                assign words[(p*LANES + l)*W +: W] = lane_words[p*W +: W];
            end
            if (l == 0) begin : first
                assign writes = lane_writes;
                assign latencies = lane_latencies;
                assign fired = lane_fired;
            end else begin : other
                wire unused = &{1'b0, lane_writes, lane_latencies, lane_fired};
            end
        end
    endgenerate
endmodule
