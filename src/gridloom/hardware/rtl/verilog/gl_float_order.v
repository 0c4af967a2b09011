// What needs no rounding: comparisons of singles, the smaller and the larger one, changes of the sign, and the integer
// before the point. A comparison with a NaN holds for `fne` alone; minimum and maximum then are the second operand. An
// integer out of range is the nearest one in range, and that of a NaN is 0.
module gl_float_order #(
    parameter [127:0] OPS = {128{1'b1}}
) (
    input  wire [6:0] code,
    input  wire [31:0] a, b,
    output reg  [31:0] y
);
    localparam [6:0] FNEG = @fneg@, FABS = @fabs@, FMIN = @fmin@, FMAX = @fmax@, FEQ = @feq@, FLT = @flt@, FLE = @fle@, FLOAT_TO_INT = @float_to_int@, FNE = @fne@,
        FGT = @fgt@, FGE = @fge@;
    wire a_nan = &a[30:23] && |a[22:0];
    wire ordered = !(a_nan || (&b[30:23] && |b[22:0]));
    wire nothing = ~|a[30:0] && ~|b[30:0];
    wire same = a == b || nothing;
    wire nearer = a[30:0] < b[30:0];
    wire less = !same && (a[31] != b[31] ? a[31] : a[31] != nearer);
    wire below = ordered && less;
    wire above = ordered && !less && !same;

    // The significand stands so that an exponent of 30 needs no shift.
    wire [7:0] distance = 8'd157 - a[30:23];
    wire fraction = a[30:23] < 8'd127;
    wire beyond = a[30:23] > 8'd157;
    wire [30:0] whole = {1'b1, a[22:0], 7'd0} >> distance[4:0];
    wire [31:0] signed_whole = a[31] ? -{1'b0, whole} : {1'b0, whole};
    wire [31:0] converted = a_nan || fraction ? 32'd0 : beyond ? {a[31], {31{!a[31]}}} : signed_whole;

    always @* begin
        y = a;
        case (code)
            FNEG: if (OPS[FNEG]) y = {!a[31], a[30:0]};
            FABS: if (OPS[FABS]) y = {1'b0, a[30:0]};
            FMIN: if (OPS[FMIN]) y = below ? a : b;
            FMAX: if (OPS[FMAX]) y = above ? a : b;
            FEQ: if (OPS[FEQ]) y = {31'd0, ordered && same};
            FLT: if (OPS[FLT]) y = {31'd0, below};
            FLE: if (OPS[FLE]) y = {31'd0, below || (ordered && same)};
            FNE: if (OPS[FNE]) y = {31'd0, !(ordered && same)};
            FGT: if (OPS[FGT]) y = {31'd0, above};
            FGE: if (OPS[FGE]) y = {31'd0, above || (ordered && same)};
            FLOAT_TO_INT: if (OPS[FLOAT_TO_INT]) y = converted;
            default: ;
        endcase
    end
    wire unused = &{1'b0, distance};
endmodule
