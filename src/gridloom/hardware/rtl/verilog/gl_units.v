// The function units of a tile. Port 0 of the results is the unit that answers in the cycle of the issue; port 1 is the
// multiplier, PRODUCT cycles later; port 2 the divider, DIVISION cycles later; port 3 the data memory, LOAD cycles later;
// port 4 the unit for singles, SINGLE cycles later (FLOATS has the opcodes that it computes; 0: there is none).
// A port with 0 cycles is part of port 0. `latency` counts the cycles from the issue to the output register, less 1.
// `settled` is the result of the firing SETTLE cycles ago, whichever unit it came from.
// READY: operands come from registers. `controls` are what gl_controls made of the opcode a cycle before.
// CMA chooses the function unit of domain cma24 (W = 25) instead of the one for integers.
module gl_units #(
    parameter W = 32, CMA = 0, OPCODE_BITS = 6, LATENCY_BITS = 1,
    parameter PRODUCT = 0, DIVISION = 0, DIVIDES_IN = 1, LOAD = 0, SINGLE = 0, SETTLE = 0, READY = 0,
    parameter [127:0] OPS = {128{1'b1}}, FLOATS = 128'd0
) (
    input  wire clk, fire, write, is_load,
    input  wire [LATENCY_BITS-1:0] latency,
    input  wire [OPCODE_BITS-1:0] opcode,
    input  wire [9:0] controls,
    input  wire [W-1:0] a, b, c, loaded,
    output wire [4:0] writes,
    output wire [5*LATENCY_BITS-1:0] latencies,
    output wire [5*W-1:0] words,
    output wire fired,
    output wire [W-1:0] settled
);
    // The opcodes of products and quotients.
    localparam [127:0] PRODUCTS = @PRODUCTS@;
    localparam [127:0] QUOTIENTS = @QUOTIENTS@;
    wire [127:0] one = 128'd1 << opcode;
    wire is_product = PRODUCT != 0 && !CMA && |(one & PRODUCTS & OPS);
    wire is_quotient = DIVISION != 0 && !CMA && |(one & QUOTIENTS & OPS);
    wire is_late = LOAD != 0 && is_load;
    wire is_float = !CMA && |(one & FLOATS);
    wire is_single = SINGLE != 0 && is_float;
    wire at_once = !(is_product || is_quotient || is_late || is_single);

    wire [W-1:0] computed;
    generate
        if (CMA) begin : cma
            gl_cma_alu #(.OPS(OPS[63:0])) unit (.opcode(opcode), .a(a), .b(b), .y(computed));
            wire unused = &{1'b0, c, controls};
        end else begin : integers
            gl_alu #(.W(W), .OPCODE_BITS(OPCODE_BITS), .OPS(OPS), .PRODUCT(PRODUCT == 0), .DIVISION(DIVISION == 0)) unit (
                .clk(clk), .opcode(opcode), .controls(controls), .a(a), .b(b), .c(c), .y(computed));
        end
    endgenerate
    wire [W-1:0] single;
    wire [W-1:0] result = (LOAD == 0 && is_load) ? loaded : (SINGLE == 0 && is_float) ? single : computed;
    assign words[W-1:0] = result;
    assign writes[0] = fire && write && at_once;
    assign latencies[LATENCY_BITS-1:0] = latency;

    // The flag and the rest of the latency travel beside each late result.
    wire [W-1:0] product, quotient;
    generate
        if (PRODUCT != 0 && !CMA) begin : products
            gl_product #(.W(W), .OPCODE_BITS(OPCODE_BITS), .STAGES(PRODUCT), .READY(READY), .OPS(OPS)) unit (
                .clk(clk), .opcode(opcode), .a(a), .b(b), .c(c), .y(product));
            gl_delay #(.W(1 + LATENCY_BITS), .CYCLES(PRODUCT)) flag (
                .clk(clk), .word({fire && write && is_product, latency - PRODUCT[LATENCY_BITS-1:0]}),
                .delayed({writes[1], latencies[LATENCY_BITS +: LATENCY_BITS]}));
        end else begin : no_products
            assign product = {W{1'b0}};
            assign writes[1] = 1'b0;
            assign latencies[LATENCY_BITS +: LATENCY_BITS] = {LATENCY_BITS{1'b0}};
        end
        if (DIVISION != 0 && !CMA) begin : quotients
            // The divider is free again after DIVIDES_IN cycles; with 1 it takes an operation in each of them.
            localparam CYCLES = DIVIDES_IN > 1 && DIVIDES_IN < DIVISION ? DIVIDES_IN : DIVISION;
            wire [W-1:0] divided;
            gl_division #(.W(W), .OPCODE_BITS(OPCODE_BITS), .CYCLES(CYCLES), .SHARED(DIVIDES_IN > 1)) unit (
                .clk(clk), .start(fire && is_quotient), .opcode(opcode), .a(a), .b(b), .y(divided));
            if (DIVISION > CYCLES) begin : later
                gl_delay #(.W(W), .CYCLES(DIVISION - CYCLES)) rest (.clk(clk), .word(divided), .delayed(quotient));
            end else begin : ready
                assign quotient = divided;
            end
            gl_delay #(.W(1 + LATENCY_BITS), .CYCLES(DIVISION)) flag (
                .clk(clk), .word({fire && write && is_quotient, latency - DIVISION[LATENCY_BITS-1:0]}),
                .delayed({writes[2], latencies[2*LATENCY_BITS +: LATENCY_BITS]}));
        end else begin : no_quotients
            assign quotient = {W{1'b0}};
            assign writes[2] = 1'b0;
            assign latencies[2*LATENCY_BITS +: LATENCY_BITS] = {LATENCY_BITS{1'b0}};
        end
        if (LOAD != 0) begin : loads
            gl_delay #(.W(1 + LATENCY_BITS), .CYCLES(LOAD)) flag (
                .clk(clk), .word({fire && write && is_late, latency - LOAD[LATENCY_BITS-1:0]}),
                .delayed({writes[3], latencies[3*LATENCY_BITS +: LATENCY_BITS]}));
        end else begin : no_loads
            assign writes[3] = 1'b0;
            assign latencies[3*LATENCY_BITS +: LATENCY_BITS] = {LATENCY_BITS{1'b0}};
        end
        if (FLOATS != 0 && !CMA) begin : singles
            gl_float #(.OPCODE_BITS(OPCODE_BITS), .STAGES(SINGLE), .READY(READY), .OPS(FLOATS)) unit (
                .clk(clk), .opcode(opcode), .a(a), .b(b), .c(c), .y(single));
        end else begin : no_singles
            assign single = {W{1'b0}};
        end
        if (FLOATS != 0 && SINGLE != 0) begin : late_singles
            gl_delay #(.W(1 + LATENCY_BITS), .CYCLES(SINGLE)) flag (
                .clk(clk), .word({fire && write && is_single, latency - SINGLE[LATENCY_BITS-1:0]}),
                .delayed({writes[4], latencies[4*LATENCY_BITS +: LATENCY_BITS]}));
        end else begin : singles_at_once
            assign writes[4] = 1'b0;
            assign latencies[4*LATENCY_BITS +: LATENCY_BITS] = {LATENCY_BITS{1'b0}};
        end
    endgenerate
    assign words[5*W-1:W] = {single, loaded, quotient, product};

    genvar s;
    generate
        if (SETTLE == 0) begin : settled_at_once
            assign fired = fire;
            assign settled = result;
        end else begin : settled_later
            wire [3:0] kind [0:SETTLE];
            wire valid [0:SETTLE];
            wire [W-1:0] word [0:SETTLE];
            assign kind[0] = {is_single, is_late, is_quotient, is_product};
            assign valid[0] = fire;
            assign word[0] = result;
            for (s = 1; s <= SETTLE; s = s + 1) begin : stage
                wire [W-1:0] kept;
                gl_delay #(.W(W + 5), .CYCLES(1)) hold (
                    .clk(clk), .word({kind[s-1], valid[s-1], word[s-1]}), .delayed({kind[s], valid[s], kept}));
                assign word[s] = s == PRODUCT && kind[s][0] ? product : s == DIVISION && kind[s][1] ? quotient :
                    s == LOAD && kind[s][2] ? loaded : s == SINGLE && kind[s][3] ? single : kept;
            end
            assign fired = valid[SETTLE];
            assign settled = word[SETTLE];
        end
    endgenerate
    wire unused = &{1'b0, clk, product, quotient, single, is_load, READY[0], FLOATS[0], PRODUCT[0], DIVIDES_IN[0]};
endmodule
