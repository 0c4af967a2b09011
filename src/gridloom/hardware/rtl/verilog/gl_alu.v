// Function unit for integers of W bits, at most 64 (W = 32: domain i32). OPS has a bit for each opcode that the unit knows;
// everything else is left out of the circuit. Opcodes are the codes of the op table; those of fused ops need seven bits.
// Division by zero yields 0 and leaves the dividend as the remainder. Ops that take the same part (adder, shifter,
// multiplier, divider) share it. PRODUCT and DIVISION = 0: products or quotients are computed elsewhere, in more cycles.
// `controls` are what gl_controls makes of the opcode.
module gl_alu #(
    parameter W = 32,
    parameter OPCODE_BITS = 7,
    parameter [127:0] OPS = {128{1'b1}},
    parameter PRODUCT = 1, DIVISION = 1
) (
    input  wire clk,
    input  wire [OPCODE_BITS-1:0] opcode,
    input  wire [9:0] controls,
    input  wire [W-1:0] a, b, c,
    output wire [W-1:0] y
);
    localparam [6:0]
        MOVE = @move@, ADD = @add@, SUB = @sub@, MUL = @mul@, DIV = @div@, REM = @rem@, UDIV = @udiv@, UREM = @urem@, MULH = @mulh@, MUL_ADD = @mul_add@,
        MUL_SUB = @mul_sub@, SHL_ADD = @shl_add@, SHL = @shl@, SHR = @shr@, LSHR = @lshr@, ROTL = @rotl@, AND = @and@, OR = @or@, XOR = @xor@, NOT = @not@,
        NEG = @neg@, ABS = @abs@, MIN = @min@, MAX = @max@, UMIN = @umin@, UMAX = @umax@, EQ = @eq@, NE = @ne@, LT = @lt@, LE = @le@, GT = @gt@,
        GE = @ge@, ULT = @ult@, ULE = @ule@, SELECT = @select@, SEXT8 = @sext8@, SEXT16 = @sext16@, ZEXT8 = @zext8@, ZEXT16 = @zext16@, POPCOUNT = @popcount@,
        CLZ = @clz@, SQUARE = @square@, MIN_TAG = @min_tag@, SELECT_TAG = @select_tag@, MUL_RSUB = @mul_rsub@, MUL_XOR = @mul_xor@,
        SHL_SUB = @shl_sub@, SHL_RSUB = @shl_rsub@, SHL_AND = @shl_and@, SHL_OR = @shl_or@, SHL_XOR = @shl_xor@, SHR_ADD = @shr_add@, SHR_SUB = @shr_sub@,
        SHR_RSUB = @shr_rsub@, SHR_AND = @shr_and@, SHR_OR = @shr_or@, SHR_XOR = @shr_xor@, LSHR_ADD = @lshr_add@, LSHR_SUB = @lshr_sub@, LSHR_RSUB = @lshr_rsub@,
        LSHR_AND = @lshr_and@, LSHR_OR = @lshr_or@, LSHR_XOR = @lshr_xor@;
    localparam HAS_PRODUCT = PRODUCT != 0 && (OPS[MUL] || OPS[MULH] || OPS[MUL_ADD] || OPS[MUL_SUB] || OPS[SQUARE] ||
        |OPS[MUL_XOR:MUL_RSUB]);
    localparam HAS_DIVISION = DIVISION != 0 && (OPS[DIV] || OPS[REM] || OPS[UDIV] || OPS[UREM]);
    localparam HAS_SHIFT_FUSED = OPS[SHL_ADD] || |OPS[LSHR_XOR:SHL_SUB];
    localparam HAS_LEFT = OPS[SHL] || OPS[ROTL] || OPS[SHL_ADD] || |OPS[SHL_XOR:SHL_SUB];
    localparam HAS_RIGHT = OPS[LSHR] || OPS[SHR] || |OPS[LSHR_XOR:SHR_ADD];
    // Whether something else than zeros comes into a word that is shifted.
    localparam FILLS = OPS[SHR] || OPS[ROTL] || |OPS[SHR_XOR:SHR_ADD];
    localparam AMOUNT_BITS = $clog2(W);

    wire [6:0] code = {{(7-OPCODE_BITS){1'b0}}, opcode};
    wire joins, meets, adds, subtracts, lefts, arithmetic, turns, shifts, multiplies, divides;
    assign {joins, meets, adds, subtracts, lefts, arithmetic, turns, shifts, multiplies, divides} = controls;

    // One adder for sums, differences, comparisons and what is computed bit by bit, which goes through it unchanged. A bit
    // of the word before the adder is a function of four bits.
    wire [W-1:0] first = joins ? (meets ? a ^ b : a | b) : (meets ? a & b : a);
    wire [W-1:0] sum;
    wire carry;
    gl_adder #(.W(W)) adder (
        .combines(adds || subtracts), .subtracts(subtracts), .a(first), .b(b), .sum(sum), .carry(carry));
    wire below = !carry;
    wire less = a[W-1] == b[W-1] ? sum[W-1] : a[W-1];
    wire same = a == b;
    wire [W-1:0] b_marked = {b[W-1:1], 1'b1};
    wire [W-1:0] a_marked = {a[W-1:1], 1'b1};
    wire [W-1:0] minus = -a;

    // One shifter, to the right; what goes left is mirrored leading and behind it.
    function [W-1:0] mirrored(input [W-1:0] plain);
        integer m;
        for (m = 0; m < W; m = m + 1) mirrored[m] = plain[W-1-m];
    endfunction
    wire [W-1:0] lower = lefts ? mirrored(a) : a;
    wire [W-1:0] upper = turns ? lower : {W{arithmetic && a[W-1]}};
    // An amount may be above W where W is no power of two; then the bits above the upper word are the sign.
    localparam REACH = W + (1 << AMOUNT_BITS) - 1;
    wire [REACH-1:0] funnel;
    generate
        if (REACH > 2 * W) begin : longer
            assign funnel = {{(REACH-2*W){arithmetic && a[W-1]}}, upper, lower};
        end else begin : whole
            assign funnel = {upper[REACH-W-1:0], lower};
        end
    endgenerate
    wire [W-1:0] moved;
    gl_shifter #(.W(W), .BITS(AMOUNT_BITS), .FILLS(FILLS)) shifter (
        .funnel(funnel), .amount(b[AMOUNT_BITS-1:0]), .moved(moved));
    wire [W-1:0] mirror = mirrored(moved);
    wire [W-1:0] shifted = lefts ? mirror : moved;

    wire [W-1:0] product;
    generate
        if (HAS_PRODUCT) begin : products
            gl_product #(.W(W), .OPCODE_BITS(OPCODE_BITS), .OPS(OPS)) unit (
                .clk(clk), .opcode(opcode), .a(a), .b(b), .c(c), .y(product));
        end else begin : no_product
            assign product = {W{1'b0}};
        end
    endgenerate

    wire [W-1:0] quotient;
    generate
        if (HAS_DIVISION) begin : division
            gl_division #(.W(W), .OPCODE_BITS(OPCODE_BITS)) unit (
                .clk(clk), .start(1'b0), .opcode(opcode), .a(a), .b(b), .y(quotient));
        end else begin : no_division
            assign quotient = {W{1'b0}};
        end
    endgenerate

    // Ones in a word, and zeros before the first of them.
    wire [W-1:0] ones, zeros;
    generate
        if (OPS[POPCOUNT] || OPS[CLZ]) begin : counting
            wire [W-1:0] word = {W{code == POPCOUNT || code == CLZ}} & a;
            reg [63:0] set, clear;
            integer k, leading;
            always @* begin
                set = 64'd0;
                leading = W;
                for (k = 0; k < W; k = k + 1) begin
                    set = set + {63'd0, word[k]};
                    if (word[k]) leading = W - 1 - k;
                end
                clear = {32'd0, leading};
            end
            assign {ones, zeros} = {set[W-1:0], clear[W-1:0]};
            wire unused_counts = &{1'b0, set, clear};
        end else begin : no_counting
            assign {ones, zeros} = {2*W{1'b0}};
        end
    endgenerate

    // Sign extension from bit N - 1, where the word is longer than that.
    function [W-1:0] extended(input [W-1:0] plain, input integer from, input fill);
        integer n;
        for (n = 0; n < W; n = n + 1) extended[n] = n < from ? plain[n] : fill;
    endfunction
    localparam TOP8 = W > 8 ? 7 : W - 1;
    localparam TOP16 = W > 16 ? 15 : W - 1;

    reg [W-1:0] rest;
    always @* begin
        rest = sum;
        case (code)
            NOT: if (OPS[NOT]) rest = ~a;
            NEG: if (OPS[NEG]) rest = minus;
            ABS: if (OPS[ABS]) rest = a[W-1] ? minus : a;
            MIN: if (OPS[MIN]) rest = less ? a : b;
            MAX: if (OPS[MAX]) rest = less ? b : a;
            UMIN: if (OPS[UMIN]) rest = below ? a : b;
            UMAX: if (OPS[UMAX]) rest = below ? b : a;
            EQ: if (OPS[EQ]) rest = {{(W-1){1'b0}}, same};
            NE: if (OPS[NE]) rest = {{(W-1){1'b0}}, !same};
            LT: if (OPS[LT]) rest = {{(W-1){1'b0}}, less};
            LE: if (OPS[LE]) rest = {{(W-1){1'b0}}, less || same};
            GT: if (OPS[GT]) rest = {{(W-1){1'b0}}, !(less || same)};
            GE: if (OPS[GE]) rest = {{(W-1){1'b0}}, !less};
            ULT: if (OPS[ULT]) rest = {{(W-1){1'b0}}, below};
            ULE: if (OPS[ULE]) rest = {{(W-1){1'b0}}, below || same};
            SELECT: if (OPS[SELECT]) rest = a != 0 ? b : c;
            SEXT8: if (OPS[SEXT8]) rest = extended(a, 8, a[TOP8]);
            SEXT16: if (OPS[SEXT16]) rest = extended(a, 16, a[TOP16]);
            ZEXT8: if (OPS[ZEXT8]) rest = extended(a, 8, 1'b0);
            ZEXT16: if (OPS[ZEXT16]) rest = extended(a, 16, 1'b0);
            POPCOUNT: if (OPS[POPCOUNT]) rest = ones;
            CLZ: if (OPS[CLZ]) rest = zeros;
            // Bit 0 is the tag of an earlier comparison and takes no part in this one; the left operand wins a tie.
            MIN_TAG: if (OPS[MIN_TAG]) rest = $signed(b_marked) < $signed(a_marked) ? b_marked : {a[W-1:1], 1'b0};
            SELECT_TAG: if (OPS[SELECT_TAG]) rest = a[0] ? b : c;
            default: ;
        endcase
        if (HAS_SHIFT_FUSED)
            case (code)
                SHL_ADD, SHR_ADD, LSHR_ADD: rest = shifted + c;
                SHL_SUB, SHR_SUB, LSHR_SUB: rest = c - shifted;
                SHL_RSUB, SHR_RSUB, LSHR_RSUB: rest = shifted - c;
                SHL_AND, SHR_AND, LSHR_AND: rest = shifted & c;
                SHL_OR, SHR_OR, LSHR_OR: rest = shifted | c;
                SHL_XOR, SHR_XOR, LSHR_XOR: rest = shifted ^ c;
                default: ;
            endcase
    end
    wire [W-1:0] other = divides ? quotient : rest;
    generate
        if (HAS_PRODUCT && HAS_LEFT && HAS_RIGHT) begin : four
            // The choice between the four parts is a single one, since all of them come late.
            gl_mux #(.W(W), .N(4), .SELECT_BITS(2)) pick (
                .sources({mirror, moved, product, other}), .select({shifts, shifts ? lefts : multiplies}), .chosen(y));
            wire unused_shifted = &{1'b0, shifted};
        end else begin : few
            // A product is the last to come, so that the choice between it and all others is the last one.
            (* keep *) wire [W-1:0] quick = shifts ? shifted : other;
            assign y = multiplies ? product : quick;
        end
    endgenerate
    wire unused = &{1'b0, clk, c, shifted, upper, MOVE[0], ADD[0], SUB[0], AND[0], OR[0], XOR[0]};
endmodule
