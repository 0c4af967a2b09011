// Products of singles, rounded to nearest even. Every result that is not a number is 0x7FC00000. STAGES registers stand
// behind the multiplier and behind the normalisation; further ones delay the result.
module gl_float_product #(
    parameter STAGES = 0
) (
    input  wire clk,
    input  wire [31:0] x, y,
    output wire [31:0] z
);
    localparam BEHIND_PRODUCT = STAGES > 0 ? 1 : 0;
    localparam BEHIND_SHIFT = STAGES > 1 ? 1 : 0;
    localparam BEHIND_ALL = STAGES > 2 ? STAGES - 2 : 0;

    wire x_normal = |x[30:23];
    wire y_normal = |y[30:23];
    wire x_endless = &x[30:23];
    wire y_endless = &y[30:23];
    wire [47:0] multiplied = {24'd0, x_normal, x[22:0]} * {24'd0, y_normal, y[22:0]};
    // The highest bit of the product weighs 2^(top - 127).
    wire [9:0] x_exponent = {2'd0, x[30:24], x[23] || !x_normal};
    wire [9:0] y_exponent = {2'd0, y[30:24], y[23] || !y_normal};
    wire [9:0] weight = x_exponent + y_exponent - 10'd126;
    wire invalid = (x_endless && (|x[22:0] || ~|y[30:0])) || (y_endless && (|y[22:0] || ~|x[30:0]));

    wire [47:0] number;
    wire [9:0] top;
    wire sign, nan, unlimited;
    gl_cut #(.W(61), .CYCLES(BEHIND_PRODUCT)) multiplication (
        .clk(clk), .word({multiplied, weight, x[31] != y[31], invalid, x_endless || y_endless}),
        .later({number, top, sign, nan, unlimited}));

    // Below the least exponent the number moves right. Otherwise it moves left until its first one is on top, or until
    // the exponent is the least there is: the mark stands where that is the case.
    wire tiny = top[9] || top == 10'd0;
    wire [9:0] excess = 10'd1 - top;
    wire [9:0] room = top - 10'd1;
    wire [47:0] mark = room < 10'd48 ? 48'h800000000000 >> room[5:0] : 48'd0;
    reg [47:0] raised, guide;
    reg [5:0] steps;
    integer k;
    always @* begin
        raised = number;
        guide = number | mark;
        for (k = 5; k >= 0; k = k - 1) begin
            steps[k] = k < 5 ? guide >> (48 - (1 << k)) == 0 : guide >> 16 == 0;
            if (steps[k]) begin
                guide = guide << (1 << k);
                raised = raised << (1 << k);
            end
        end
    end
    wire [47:0] lowered = number >> excess[5:0];
    // What leaves the number on the right: it is read from a word that is shifted the same way.
    wire [47:0] lost = number & ~({48{1'b1}} << excess[5:0]);
    wire gone = excess > 10'd47;
    wire [24:0] head = !tiny ? raised[47:23] : gone ? 25'd0 : lowered[47:23];
    wire tail = !tiny ? |raised[22:0] : gone ? |number : |lowered[22:0] || |lost;
    wire [9:0] left = tiny ? {9'd0, head[24]} : head[24] ? top - {4'd0, steps} : 10'd0;

    wire [24:0] kept;
    wire [9:0] field;
    wire rest, minus, no_number, too_large;
    gl_cut #(.W(39), .CYCLES(BEHIND_SHIFT)) normalisation (
        .clk(clk), .word({head, left, tail, sign, nan, unlimited}),
        .later({kept, field, rest, minus, no_number, too_large}));
    wire unused_lead = &{1'b0, kept[24]};

    wire rounds = kept[0] && (rest || kept[1]);
    wire [32:0] packed_word = {field, kept[23:1]} + {32'd0, rounds};
    wire over = too_large || |packed_word[32:31] || &packed_word[30:23];
    wire [31:0] rounded = no_number ? 32'h7FC00000 : over ? {minus, 8'hFF, 23'd0} : {minus, packed_word[30:0]};
    gl_cut #(.W(32), .CYCLES(BEHIND_ALL)) result (.clk(clk), .word(rounded), .later(z));
endmodule
