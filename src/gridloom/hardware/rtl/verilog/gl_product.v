// Products of W bits, and the fused ops that begin with one. STAGES registers make it fit a clock: the first is before
// the multiplier (unless READY says that its operands come from registers), the next behind it; further ones only delay
// the result. A result is there STAGES cycles after its operands.
module gl_product #(
    parameter W = 32, OPCODE_BITS = 7, STAGES = 0, READY = 0,
    parameter [127:0] OPS = {128{1'b1}}
) (
    input  wire clk,
    input  wire [OPCODE_BITS-1:0] opcode,
    input  wire [W-1:0] a, b, c,
    output wire [W-1:0] y
);
    localparam [6:0] MULH = @mulh@, MUL_ADD = @mul_add@, MUL_SUB = @mul_sub@, SQUARE = @square@, MUL_RSUB = @mul_rsub@, MUL_AND = @mul_and@, MUL_OR = @mul_or@,
        MUL_XOR = @mul_xor@;
    localparam FUSED = OPS[MUL_ADD] || OPS[MUL_SUB] || |OPS[MUL_XOR:MUL_RSUB];
    // The high half is half of the multiplier, so that it is there only for ops that read it.
    localparam P = OPS[MULH] ? 2 * W : W;
    wire [6:0] given = {{(7-OPCODE_BITS){1'b0}}, opcode};
    wire [W-1:0] other = (OPS[SQUARE] && given == SQUARE) ? a : b;

    wire [W-1:0] left, right;
    wire [P-1:0] wide, full;
    wire [W-1:0] third;
    wire [6:0] code;
    localparam FRONT = (STAGES > 0 && READY == 0) ? 1 : 0;
    localparam BEHIND = STAGES > FRONT ? 1 : 0;
    generate
        if (FRONT > 0) begin : held
            gl_delay #(.W(2 * W), .CYCLES(1)) front (.clk(clk), .word({a, other}), .delayed({left, right}));
        end else begin : given_at_once
            assign {left, right} = {a, other};
        end
        if (BEHIND > 0) begin : closed
            gl_delay #(.W(P), .CYCLES(1)) behind (.clk(clk), .word(wide), .delayed(full));
        end else begin : open
            assign full = wide;
        end
        if (FRONT + BEHIND > 0) begin : later
            gl_delay #(.W(W + 7), .CYCLES(FRONT + BEHIND)) beside (
                .clk(clk), .word({c, given}), .delayed({third, code}));
        end else begin : at_once
            assign {third, code} = {c, given};
        end
    endgenerate
    wire signed [P-1:0] multiplied = $signed(left) * $signed(right);
    assign wide = $unsigned(multiplied);

    reg [W-1:0] chosen;
    wire [W-1:0] low = full[W-1:0];
    wire [W-1:0] high = full[P-1:P-W];
    always @* begin
        chosen = (OPS[MULH] && code == MULH) ? high : low;
        if (FUSED)
            case (code)
                MUL_ADD: if (OPS[MUL_ADD]) chosen = low + third;
                MUL_SUB: if (OPS[MUL_SUB]) chosen = third - low;
                MUL_RSUB: if (OPS[MUL_RSUB]) chosen = low - third;
                MUL_AND: if (OPS[MUL_AND]) chosen = low & third;
                MUL_OR: if (OPS[MUL_OR]) chosen = low | third;
                MUL_XOR: if (OPS[MUL_XOR]) chosen = low ^ third;
                default: ;
            endcase
    end
    generate
        if (STAGES > FRONT + BEHIND) begin : rest
            gl_delay #(.W(W), .CYCLES(STAGES - FRONT - BEHIND)) wait_for_it (.clk(clk), .word(chosen), .delayed(y));
        end else begin : ready
            assign y = chosen;
        end
    endgenerate
    wire unused = &{1'b0, clk, third, code, given};
endmodule
