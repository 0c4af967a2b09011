// Function unit of domain cma24: 24 data bits with the carry in bit 24. Opcodes are the codes of the op table, counted
// from the start of the domain; an opcode that the unit does not have hands operand A on. Only `sel` looks at a carry;
// comparisons set it and hand operand A on. Ops that take the same part (adder, shifter, multiplier) share it. On an
// ECP5, which multiplies in blocks, shifts are products with a power of two: the words before and behind the multiplier
// are mirrored for shifts to the right, and inverted where ones come in.
module gl_cma_alu #(
    parameter [63:0] OPS = 64'hFFFF_FFFF_FFFF_FFFF
) (
    input  wire [5:0]  opcode,
    input  wire [24:0] a,
    input  wire [24:0] b,
    output wire [24:0] y
);
    localparam [4:0]
        ADD = @cma24.add@, SUB = @cma24.sub@, MULT = @cma24.mult@, SL = @cma24.sl@, SR = @cma24.sr@, SRA = @cma24.sra@, SEL = @cma24.sel@, NOT = @cma24.not@, AND = @cma24.and@, OR = @cma24.or@, XOR = @cma24.xor@,
        EQL = @cma24.eql@, GT = @cma24.gt@, LT = @cma24.lt@;
    // All ops of the domain are below 32.
    localparam [31:0] HAS = OPS[31:0];
    localparam HAS_SHIFT = |HAS[SRA:SL];
`ifdef GRIDLOOM_ECP5
    localparam IN_PRODUCT = HAS[MULT] && HAS_SHIFT;
`else
    localparam IN_PRODUCT = 1'b0;
`endif
    wire [31:0] known = (32'd1 << opcode[4:0]) & HAS;
    wire joins = known[OR] || known[XOR];
    wire meets = known[AND] || known[XOR];
    wire compares = known[GT] || known[LT];
    wire subtracts = known[SUB] || compares;
    wire rights = known[SR] || known[SRA];
    wire shifts = rights || known[SL];
    wire [23:0] da = a[23:0];
    wire [23:0] db = b[23:0];

    // One adder for sums, differences and comparisons; what is computed bit by bit goes through it unchanged.
    wire [23:0] first = joins ? (meets ? da ^ db : da | db) : (meets ? da & db : da);
    wire [23:0] sum;
    wire carry;
    gl_adder #(.W(24)) adder (
        .combines(known[ADD] || subtracts), .subtracts(subtracts), .a(first), .b(db), .sum(sum), .carry(carry));
    wire same = da == db;
    reg [23:0] rest;
    always @* begin
        rest = sum;
        if (known[NOT]) rest = ~da;
        if (known[SEL] && a[24]) rest = db;
        if (known[EQL]) rest = same ? da : 24'd0;
        if (compares) rest = da;
    end
    // The carry of an op that has none is 0; a word that is handed on keeps its own.
    wire passes = known[SEL:ADD] == 7'd0 && known[LT:NOT] == 7'd0;
    wire above = carry && !same;
    assign y[24] = (known[ADD] && carry) || (passes && a[24]) || (known[SEL] && (a[24] ? b[24] : a[24])) ||
        (known[EQL] && same) || (known[GT] && above) || (known[LT] && !above);

    function [23:0] mirrored(input [23:0] plain);
        integer k;
        for (k = 0; k < 24; k = k + 1) mirrored[k] = plain[23-k];
    endfunction
    wire far = |db[23:5];
    wire fill = known[SRA] && a[23];
    wire [23:0] left, right, product, shifted;
    generate
        if (IN_PRODUCT) begin : powers
            assign left = (rights ? mirrored(da) : da) ^ {24{fill}};
            wire [7:0] low = 8'd1 << db[2:0];
            wire [3:0] high = {4{shifts && !far}} & (4'd1 << db[4:3]);
            assign right = {{8{high[2]}} & low, {8{high[1]}} & low, {8{high[0]}} & low} | ({24{!shifts}} & db);
            assign shifted = mirrored(product) ^ {24{fill}};
            wire unused_high = high[3];
        end else begin : apart
            assign left = da;
            assign right = db;
            wire [23:0] lower = rights ? da : mirrored(da);
            wire [23:0] moved;
            gl_shifter #(.W(24), .BITS(5), .FILLS(HAS[SRA])) shifter (
                .funnel({{31{fill}}, lower}), .amount(db[4:0] | {5{far}}), .moved(moved));
            assign shifted = rights ? moved : mirrored(moved);
        end
        if (HAS[MULT]) begin : multiplier
            // Above bit 17 only the lowest bits of the other products count.
            wire [35:0] whole = left[17:0] * right[17:0];
            wire [5:0] crossed = left[5:0] * right[23:18];
            wire [5:0] over = left[23:18] * right[5:0];
            assign product = {whole[23:18] + crossed + over, whole[17:0]};
            wire unused_whole = &{1'b0, whole[35:24]};
        end else begin : no_multiplier
            assign product = 24'd0;
        end
        if (HAS[MULT] && HAS_SHIFT) begin : three
            // Behind the multiplier of blocks are products and shifts to the left; both of them come late.
            wire late = IN_PRODUCT ? known[MULT] || known[SL] : known[MULT];
            wire turned = IN_PRODUCT ? rights : shifts;
            gl_mux #(.W(24), .N(4), .SELECT_BITS(2)) pick (
                .sources({shifted, shifted, product, rest}), .select({turned, late}), .chosen(y[23:0]));
        end else begin : two
            assign y[23:0] = HAS[MULT] && known[MULT] ? product : HAS_SHIFT && shifts ? shifted : rest;
            wire unused_words = &{1'b0, product, shifted};
        end
    endgenerate
    wire unused = &{1'b0, opcode[5], OPS[63:32], known, left, right};
endmodule
