// Sums of singles, rounded to nearest even, and (CONVERTS) singles of integers: `converts` says that x is an integer. The
// two share the way from a number of 32 bits to a single. Every result that is not a number is 0x7FC00000.
// STAGES registers stand behind the addition, behind the alignment and behind the normalisation, in this order of
// importance; further ones delay the result.
module gl_float_sum #(
    parameter STAGES = 0, CONVERTS = 1
) (
    input  wire clk, converts,
    input  wire [31:0] x, y,
    output wire [31:0] z
);
    localparam BEHIND_SUM = STAGES > 0 ? 1 : 0;
    localparam BEHIND_ALIGNMENT = STAGES > 1 ? 1 : 0;
    localparam BEHIND_SHIFT = STAGES > 2 ? 1 : 0;
    localparam BEHIND_ALL = STAGES > 3 ? STAGES - 3 : 0;

    // The operand of the larger magnitude comes first; the other one moves to its exponent. Three more bits suffice, if
    // the last of them stands for all that is lost.
    wire swaps = x[30:0] < y[30:0];
    wire [31:0] great = swaps ? y : x;
    wire [31:0] little = swaps ? x : y;
    wire great_normal = |great[30:23];
    wire little_normal = |little[30:23];
    wire [7:0] high = great_normal ? great[30:23] : 8'd1;
    wire [7:0] low = little_normal ? little[30:23] : 8'd1;
    wire [7:0] distance = high - low;
    wire far = distance > 8'd26;
    wire [50:0] moved = {little_normal, little[22:0], 27'd0} >> distance[4:0];
    wire [26:0] aligned = far ? {26'd0, |little[30:0]} : {moved[50:25], |moved[24:0]};
    wire infinite = &great[30:23];
    wire opposite = great[31] != little[31];
    wire invalid = infinite && (|great[22:0] || (&little[30:23] && opposite));
    wire [31:0] magnitude = x[31] ? -x : x;
    wire is_whole = CONVERTS != 0 && converts;

    wire [23:0] first;
    wire [26:0] second;
    wire [31:0] integer_word;
    wire [7:0] exponent;
    wire subtracts, negative, takes_integer, is_nan, is_infinite;
    gl_cut #(.W(96), .CYCLES(BEHIND_ALIGNMENT)) alignment (
        .clk(clk),
        .word({great_normal, great[22:0], aligned, magnitude, high, opposite, is_whole ? x[31] : great[31], is_whole,
               invalid && !is_whole, infinite && !is_whole}),
        .later({first, second, integer_word, exponent, subtracts, negative, takes_integer, is_nan, is_infinite}));

    // The point of `total` is behind its second bit; the highest bit of `number` weighs 2^(top - 127).
    wire [27:0] total = subtracts ? {1'b0, first, 3'd0} - {1'b0, second} : {1'b0, first, 3'd0} + {1'b0, second};
    wire [31:0] number;
    wire [8:0] top;
    wire sign, nan, unlimited;
    gl_cut #(.W(44), .CYCLES(BEHIND_SUM)) addition (
        .clk(clk),
        .word({takes_integer ? integer_word : {total, 4'd0}, takes_integer ? 9'd158 : {1'b0, exponent} + 9'd1,
               // A difference of nothing is +0.
               negative && (takes_integer || !subtracts || |total), is_nan, is_infinite}),
        .later({number, top, sign, nan, unlimited}));

    // The number moves left until its first one is on top, or until the exponent is the least there is: the mark stands
    // where that is the case.
    wire [8:0] room = top - 9'd1;
    wire [31:0] mark = room < 9'd32 ? 32'h80000000 >> room[4:0] : 32'd0;
    reg [31:0] shifted, guide;
    reg [4:0] steps;
    integer k;
    always @* begin
        shifted = number;
        guide = number | mark;
        for (k = 4; k >= 0; k = k - 1) begin
            steps[k] = guide >> (32 - (1 << k)) == 0;
            if (steps[k]) begin
                guide = guide << (1 << k);
                shifted = shifted << (1 << k);
            end
        end
    end
    wire [8:0] left = shifted[31] ? top - {4'd0, steps} : 9'd0;
    wire [24:0] kept;
    wire [8:0] field;
    wire rest, minus, no_number, too_large;
    gl_cut #(.W(38), .CYCLES(BEHIND_SHIFT)) normalisation (
        .clk(clk), .word({shifted[31:7], left, |shifted[6:0], sign, nan, unlimited}),
        .later({kept, field, rest, minus, no_number, too_large}));
    wire unused_lead = &{1'b0, kept[24]};

    wire rounds = kept[0] && (rest || kept[1]);
    wire [31:0] packed_word = {field, kept[23:1]} + {31'd0, rounds};
    wire over = too_large || packed_word[31] || &packed_word[30:23];
    wire [31:0] rounded = no_number ? 32'h7FC00000 : over ? {minus, 8'hFF, 23'd0} : {minus, packed_word[30:0]};
    gl_cut #(.W(32), .CYCLES(BEHIND_ALL)) result (.clk(clk), .word(rounded), .later(z));
endmodule
