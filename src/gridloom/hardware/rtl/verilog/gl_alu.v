// Function unit for integers of W bits (W = 32: domain i32). OPS has a bit for each opcode that the unit knows;
// everything else is left out of the circuit. Opcodes are the codes of the op table; those of fused ops need seven bits.
// Division by zero yields 0 and leaves the dividend as the remainder.
module gl_alu #(
    parameter W = 32,
    parameter OPCODE_BITS = 7,
    parameter [127:0] OPS = {128{1'b1}}
) (
    input  wire [OPCODE_BITS-1:0] opcode,
    input  wire [W-1:0] a, b, c,
    output reg  [W-1:0] y
);
    localparam [6:0]
        MOVE = 4, ADD = 12, SUB = 13, MUL = 14, DIV = 15, REM = 16, UDIV = 17, UREM = 18, MULH = 19, MUL_ADD = 20,
        MUL_SUB = 21, SHL_ADD = 22, SHL = 23, SHR = 24, LSHR = 25, ROTL = 26, AND = 27, OR = 28, XOR = 29, NOT = 30,
        NEG = 31, ABS = 32, MIN = 33, MAX = 34, UMIN = 35, UMAX = 36, EQ = 37, NE = 38, LT = 39, LE = 40, GT = 41,
        GE = 42, ULT = 43, ULE = 44, SELECT = 45, SEXT8 = 46, SEXT16 = 47, ZEXT8 = 48, ZEXT16 = 49, POPCOUNT = 50,
        CLZ = 51, SQUARE = 52, MIN_TAG = 53, SELECT_TAG = 54, MUL_RSUB = 75, MUL_AND = 76, MUL_OR = 77, MUL_XOR = 78,
        SHL_SUB = 79, SHL_RSUB = 80, SHL_AND = 81, SHL_OR = 82, SHL_XOR = 83, SHR_ADD = 84, SHR_SUB = 85,
        SHR_RSUB = 86, SHR_AND = 87, SHR_OR = 88, SHR_XOR = 89, LSHR_ADD = 90, LSHR_SUB = 91, LSHR_RSUB = 92,
        LSHR_AND = 93, LSHR_OR = 94, LSHR_XOR = 95;
    localparam HAS_PRODUCT = OPS[MUL] || OPS[MULH] || OPS[MUL_ADD] || OPS[MUL_SUB] || OPS[SQUARE] ||
        |OPS[MUL_XOR:MUL_RSUB];
    localparam HAS_DIVISION = OPS[DIV] || OPS[REM] || OPS[UDIV] || OPS[UREM];
    localparam AMOUNT_BITS = $clog2(W);

    wire [6:0] code = {{(7-OPCODE_BITS){1'b0}}, opcode};
    wire less = $signed(a) < $signed(b);
    wire below = a < b;
    wire same = a == b;
    wire [AMOUNT_BITS-1:0] amount = b[AMOUNT_BITS-1:0];
    wire [W-1:0] shifted = a << amount;
    wire [W-1:0] halved = $unsigned($signed(a) >>> amount);
    wire [W-1:0] lowered = a >> amount;
    wire [2*W-1:0] turned = {a, a} << amount;
    wire [W-1:0] b_marked = {b[W-1:1], 1'b1};
    wire [W-1:0] a_marked = {a[W-1:1], 1'b1};

    // One multiplier for all ops that need a product.
    wire [W-1:0] low, high;
    generate
        if (HAS_PRODUCT) begin : product
            wire [W-1:0] other = (OPS[SQUARE] && code == SQUARE) ? a : b;
            wire [2*W-1:0] full = {{W{a[W-1]}}, a} * {{W{other[W-1]}}, other};
            assign {high, low} = full;
        end else begin : no_product
            assign {high, low} = {2*W{1'b0}};
        end
    endgenerate

    // One divider works on magnitudes; the signs are put back behind it. Its operands are 0 while no op divides.
    wire [W-1:0] quotient, remainder;
    generate
        if (HAS_DIVISION) begin : division
            wire is_signed = code == DIV || code == REM;
            wire busy = is_signed || code == UDIV || code == UREM;
            wire minus_a = is_signed && a[W-1];
            wire minus_b = is_signed && b[W-1];
            wire [W-1:0] dividend = {W{busy}} & (minus_a ? -a : a);
            wire [W-1:0] divisor = {W{busy}} & (minus_b ? -b : b);
            wire [W-1:0] whole = dividend / divisor;
            wire [W-1:0] left = dividend % divisor;
            assign quotient = b == 0 ? {W{1'b0}} : minus_a != minus_b ? -whole : whole;
            assign remainder = b == 0 ? a : minus_a ? -left : left;
        end else begin : no_division
            assign {quotient, remainder} = {2*W{1'b0}};
        end
    endgenerate

    // Ones in a word, and zeros before the first of them.
    wire [W-1:0] ones, zeros;
    generate
        if (OPS[POPCOUNT] || OPS[CLZ]) begin : counting
            wire [W-1:0] word = {W{code == POPCOUNT || code == CLZ}} & a;
            reg [W-1:0] set, clear;
            integer k;
            always @* begin
                set = 0;
                clear = W[W-1:0];
                for (k = 0; k < W; k = k + 1) begin
                    set = set + {{(W-1){1'b0}}, word[k]};
                    if (word[k]) clear = W[W-1:0] - 1 - k[W-1:0];
                end
            end
            assign {ones, zeros} = {set, clear};
        end else begin : no_counting
            assign {ones, zeros} = {2*W{1'b0}};
        end
    endgenerate

    // Sign extension from bit N - 1, where the word is longer than that.
    function [W-1:0] extended(input [W-1:0] word, input integer from, input fill);
        integer n;
        for (n = 0; n < W; n = n + 1) extended[n] = n < from ? word[n] : fill;
    endfunction
    localparam TOP8 = W > 8 ? 7 : W - 1;
    localparam TOP16 = W > 16 ? 15 : W - 1;

    always @* begin
        y = a;
        case (code)
            MOVE: y = a;
            ADD: if (OPS[ADD]) y = a + b;
            SUB: if (OPS[SUB]) y = a - b;
            MUL: if (OPS[MUL]) y = low;
            DIV: if (OPS[DIV]) y = quotient;
            REM: if (OPS[REM]) y = remainder;
            UDIV: if (OPS[UDIV]) y = quotient;
            UREM: if (OPS[UREM]) y = remainder;
            MULH: if (OPS[MULH]) y = high;
            MUL_ADD: if (OPS[MUL_ADD]) y = low + c;
            MUL_SUB: if (OPS[MUL_SUB]) y = c - low;
            SHL_ADD: if (OPS[SHL_ADD]) y = shifted + c;
            SHL: if (OPS[SHL]) y = shifted;
            SHR: if (OPS[SHR]) y = halved;
            LSHR: if (OPS[LSHR]) y = lowered;
            ROTL: if (OPS[ROTL]) y = turned[2*W-1:W];
            AND: if (OPS[AND]) y = a & b;
            OR: if (OPS[OR]) y = a | b;
            XOR: if (OPS[XOR]) y = a ^ b;
            NOT: if (OPS[NOT]) y = ~a;
            NEG: if (OPS[NEG]) y = -a;
            ABS: if (OPS[ABS]) y = a[W-1] ? -a : a;
            MIN: if (OPS[MIN]) y = less ? a : b;
            MAX: if (OPS[MAX]) y = less ? b : a;
            UMIN: if (OPS[UMIN]) y = below ? a : b;
            UMAX: if (OPS[UMAX]) y = below ? b : a;
            EQ: if (OPS[EQ]) y = {{(W-1){1'b0}}, same};
            NE: if (OPS[NE]) y = {{(W-1){1'b0}}, !same};
            LT: if (OPS[LT]) y = {{(W-1){1'b0}}, less};
            LE: if (OPS[LE]) y = {{(W-1){1'b0}}, less || same};
            GT: if (OPS[GT]) y = {{(W-1){1'b0}}, !(less || same)};
            GE: if (OPS[GE]) y = {{(W-1){1'b0}}, !less};
            ULT: if (OPS[ULT]) y = {{(W-1){1'b0}}, below};
            ULE: if (OPS[ULE]) y = {{(W-1){1'b0}}, below || same};
            SELECT: if (OPS[SELECT]) y = a != 0 ? b : c;
            SEXT8: if (OPS[SEXT8]) y = extended(a, 8, a[TOP8]);
            SEXT16: if (OPS[SEXT16]) y = extended(a, 16, a[TOP16]);
            ZEXT8: if (OPS[ZEXT8]) y = extended(a, 8, 1'b0);
            ZEXT16: if (OPS[ZEXT16]) y = extended(a, 16, 1'b0);
            POPCOUNT: if (OPS[POPCOUNT]) y = ones;
            CLZ: if (OPS[CLZ]) y = zeros;
            SQUARE: if (OPS[SQUARE]) y = low;
            // Bit 0 is the tag of an earlier comparison and takes no part in this one; the left operand wins a tie.
            MIN_TAG: if (OPS[MIN_TAG]) y = $signed(b_marked) < $signed(a_marked) ? b_marked : {a[W-1:1], 1'b0};
            SELECT_TAG: if (OPS[SELECT_TAG]) y = a[0] ? b : c;
            MUL_RSUB: if (OPS[MUL_RSUB]) y = low - c;
            MUL_AND: if (OPS[MUL_AND]) y = low & c;
            MUL_OR: if (OPS[MUL_OR]) y = low | c;
            MUL_XOR: if (OPS[MUL_XOR]) y = low ^ c;
            SHL_SUB: if (OPS[SHL_SUB]) y = c - shifted;
            SHL_RSUB: if (OPS[SHL_RSUB]) y = shifted - c;
            SHL_AND: if (OPS[SHL_AND]) y = shifted & c;
            SHL_OR: if (OPS[SHL_OR]) y = shifted | c;
            SHL_XOR: if (OPS[SHL_XOR]) y = shifted ^ c;
            SHR_ADD: if (OPS[SHR_ADD]) y = halved + c;
            SHR_SUB: if (OPS[SHR_SUB]) y = c - halved;
            SHR_RSUB: if (OPS[SHR_RSUB]) y = halved - c;
            SHR_AND: if (OPS[SHR_AND]) y = halved & c;
            SHR_OR: if (OPS[SHR_OR]) y = halved | c;
            SHR_XOR: if (OPS[SHR_XOR]) y = halved ^ c;
            LSHR_ADD: if (OPS[LSHR_ADD]) y = lowered + c;
            LSHR_SUB: if (OPS[LSHR_SUB]) y = c - lowered;
            LSHR_RSUB: if (OPS[LSHR_RSUB]) y = lowered - c;
            LSHR_AND: if (OPS[LSHR_AND]) y = lowered & c;
            LSHR_OR: if (OPS[LSHR_OR]) y = lowered | c;
            LSHR_XOR: if (OPS[LSHR_XOR]) y = lowered ^ c;
            default: y = a;
        endcase
    end
    wire unused = &{1'b0, c, turned[W-1:0], high, low};
endmodule
