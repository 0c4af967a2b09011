// Function unit for singles (IEEE 754, binary32): sums, products, fused ops that round twice, comparisons, conversions.
// OPS has a bit for each opcode of the op table that the unit knows; parts that none of them needs are left out.
// A result is there STAGES cycles after its operands: the first register is before the unit (unless READY says that the
// operands come from registers), the others inside it.
module gl_float #(
    parameter OPCODE_BITS = 7, STAGES = 0, READY = 0,
    parameter [127:0] OPS = {128{1'b1}}
) (
    input  wire clk,
    input  wire [OPCODE_BITS-1:0] opcode,
    input  wire [31:0] a, b, c,
    output wire [31:0] y
);
    localparam [6:0] FADD = @fadd@, FSUB = @fsub@, FMUL = @fmul@, FNEG = @fneg@, FLE = @fle@, FMUL_ADD = @fmul_add@, INT_TO_FLOAT = @int_to_float@,
        FLOAT_TO_INT = @float_to_int@, FGE = @fge@, FSQUARE = @fsquare@, FMUL_SUB = @fmul_sub@, FMUL_RSUB = @fmul_rsub@;
    localparam FUSED = OPS[FMUL_ADD] || OPS[FMUL_SUB] || OPS[FMUL_RSUB];
    localparam HAS_PRODUCT = FUSED || OPS[FMUL] || OPS[FSQUARE];
    localparam HAS_SUM = FUSED || OPS[FADD] || OPS[FSUB] || OPS[INT_TO_FLOAT];
    localparam HAS_ORDER = |OPS[FLE:FNEG] || |OPS[FGE:FLOAT_TO_INT];

    localparam FRONT = (STAGES > 0 && READY == 0) ? 1 : 0;
    localparam INSIDE = STAGES - FRONT;
    // With fused ops a product comes before the sum: one register between the two, and the others shared among them.
    localparam BETWEEN = FUSED && INSIDE > 0 ? 1 : 0;
    localparam IN_PRODUCT = FUSED ? (INSIDE - BETWEEN) / 2 : INSIDE;
    localparam BEFORE_SUM = FUSED ? IN_PRODUCT + BETWEEN : 0;
    localparam IN_SUM = INSIDE - BEFORE_SUM;

    wire [31:0] first, second, third;
    wire [6:0] code;
    gl_cut #(.W(103), .CYCLES(FRONT)) front (
        .clk(clk), .word({a, b, c, {(7-OPCODE_BITS){1'b0}}, opcode}), .later({first, second, third, code}));

    wire [31:0] early_product, product;
    generate
        if (HAS_PRODUCT) begin : products
            wire [31:0] factor = (OPS[FSQUARE] && code == FSQUARE) ? first : second;
            wire [31:0] rounded;
            gl_float_product #(.STAGES(IN_PRODUCT)) unit (.clk(clk), .x(first), .y(factor), .z(rounded));
            gl_cut #(.W(32), .CYCLES(BETWEEN)) behind (.clk(clk), .word(rounded), .later(early_product));
            gl_cut #(.W(32), .CYCLES(FUSED ? IN_SUM : 0)) wait_for_sum (
                .clk(clk), .word(early_product), .later(product));
        end else begin : no_products
            assign early_product = 32'd0;
            assign product = 32'd0;
        end
    endgenerate

    wire [31:0] sum;
    generate
        if (HAS_SUM) begin : sums
            wire [31:0] left, right, extra;
            wire [6:0] at;
            gl_cut #(.W(103), .CYCLES(BEFORE_SUM)) beside (
                .clk(clk), .word({first, second, third, code}), .later({left, right, extra, at}));
            wire adds_product = FUSED && (at == FMUL_ADD || at == FMUL_SUB || at == FMUL_RSUB);
            wire [31:0] x = adds_product ? early_product : left;
            wire [31:0] y_plain = adds_product ? extra : right;
            wire turns_x = FUSED && at == FMUL_SUB;
            wire turns_y = at == FSUB || (FUSED && at == FMUL_RSUB);
            gl_float_sum #(.STAGES(IN_SUM), .CONVERTS(OPS[INT_TO_FLOAT])) unit (
                .clk(clk), .converts(at == INT_TO_FLOAT), .x({x[31] != turns_x, x[30:0]}),
                .y({y_plain[31] != turns_y, y_plain[30:0]}), .z(sum));
            wire unused = &{1'b0, extra};
        end else begin : no_sums
            assign sum = 32'd0;
        end
    endgenerate

    wire [31:0] ordered;
    generate
        if (HAS_ORDER) begin : orders
            wire [31:0] known;
            gl_float_order #(.OPS(OPS)) unit (.code(code), .a(first), .b(second), .y(known));
            gl_cut #(.W(32), .CYCLES(INSIDE)) beside (.clk(clk), .word(known), .later(ordered));
        end else begin : no_orders
            assign ordered = 32'd0;
        end
    endgenerate

    wire [6:0] last;
    gl_cut #(.W(7), .CYCLES(INSIDE)) codes (.clk(clk), .word(code), .later(last));
    wire multiplies = HAS_PRODUCT && (last == FMUL || last == FSQUARE);
    wire adds = last == FADD || last == FSUB || last == INT_TO_FLOAT || last == FMUL_ADD || last == FMUL_SUB ||
        last == FMUL_RSUB;
    assign y = multiplies ? product : HAS_SUM && adds ? sum : ordered;
    wire unused = &{1'b0, third, early_product, second};
endmodule
