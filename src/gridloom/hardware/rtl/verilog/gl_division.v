// Quotients and remainders of W bits, signed and unsigned, on magnitudes; the signs are put back behind the division.
// CYCLES = 0 divides within the cycle. CYCLES > 0 takes the operands where `start` is high and has the result ready
// CYCLES cycles later. SHARED: one row of STEP subtractors is used in every cycle, so that the next division starts when
// this one is done; otherwise each cycle has a row of its own, and a division may start in each cycle.
module gl_division #(
    parameter W = 32, OPCODE_BITS = 7, CYCLES = 0, SHARED = 1
) (
    input  wire clk, start,
    input  wire [OPCODE_BITS-1:0] opcode,
    input  wire [W-1:0] a, b,
    output wire [W-1:0] y
);
    localparam [6:0] DIV = @div@, REM = @rem@, UDIV = @udiv@, UREM = @urem@;
    wire [6:0] code = {{(7-OPCODE_BITS){1'b0}}, opcode};
    wire is_signed = code == DIV || code == REM;
    wire wants_rest = code == REM || code == UREM;
    wire minus_a = is_signed && a[W-1];
    wire minus_b = is_signed && b[W-1];
    wire nothing = b == 0;
    // What is left to do behind the division: which of the two results, and its sign. A divisor of 0 leaves the whole
    // dividend, and its quotient is 0.
    wire negates = wants_rest ? minus_a : minus_a != minus_b;
    wire clears = nothing && !wants_rest;
    wire [W-1:0] dividend = minus_a ? -a : a;
    wire [W-1:0] divisor = minus_b ? -b : b;

    function [W-1:0] signed_again(input [W-1:0] whole, input [W-1:0] left, input rests, input sign, input zero);
        reg [W-1:0] magnitude;
        begin
            magnitude = rests ? left : whole;
            signed_again = zero ? {W{1'b0}} : sign ? -magnitude : magnitude;
        end
    endfunction

    // One step of a restoring division: {rest, quotient} moves left by a bit.
    function [2*W-1:0] step(input [2*W-1:0] state, input [W-1:0] by);
        reg [W:0] head, difference;
        begin
            head = state[2*W-1:W-1];
            difference = head - {1'b0, by};
            step = difference[W] ? {head[W-1:0], state[W-2:0], 1'b0} : {difference[W-1:0], state[W-2:0], 1'b1};
        end
    endfunction

    generate
        if (CYCLES == 0) begin : at_once
            wire busy = code >= DIV && code <= UREM;
            wire [W-1:0] upper = {W{busy}} & dividend;
            wire [W-1:0] lower = {W{busy}} & divisor;
            wire [W-1:0] whole = upper / lower;
            wire [W-1:0] left = nothing ? dividend : upper % lower;
            assign y = signed_again(whole, left, wants_rest, negates, clears);
            wire unused = &{1'b0, clk, start};
        end else begin : in_steps
            // The first cycle only takes the operands; the others share the W steps.
            localparam ROWS = CYCLES > 1 ? CYCLES - 1 : 1;
            localparam STEP = (W + ROWS - 1) / ROWS;
            if (SHARED != 0) begin : one_row
                reg [2*W-1:0] state, after;
                reg [W-1:0] by;
                reg rests, sign, zero;
                // Steps that are left; the last row may be shorter.
                reg [$clog2(W+1)-1:0] left;
                integer k;
                always @* begin
                    after = state;
                    for (k = 0; k < STEP; k = k + 1)
                        if ({{(32-$clog2(W+1)){1'b0}}, left} > $unsigned(k)) after = step(after, by);
                end
                always @(posedge clk)
                    if (start) begin
                        state <= {{W{1'b0}}, dividend};
                        by <= divisor;
                        {rests, sign, zero} <= {wants_rest, negates, clears};
                        left <= W[$clog2(W+1)-1:0];
                    end else begin
                        state <= after;
                        left <= {{(32-$clog2(W+1)){1'b0}}, left} > $unsigned(STEP) ? left - STEP[$clog2(W+1)-1:0] : 0;
                    end
                assign y = signed_again(after[W-1:0], after[2*W-1:W], rests, sign, zero);
            end else begin : many_rows
                wire unused = &{1'b0, start};
                reg [2*W-1:0] states [0:ROWS-1];
                reg [W-1:0] bys [0:ROWS-1];
                reg [2:0] marks [0:ROWS-1];
                reg [2*W-1:0] after [0:ROWS-1];
                integer r, s;
                always @*
                    for (r = 0; r < ROWS; r = r + 1) begin
                        after[r] = states[r];
                        for (s = 0; s < STEP; s = s + 1)
                            if (r * STEP + s < W) after[r] = step(after[r], bys[r]);
                    end
                always @(posedge clk) begin
                    states[0] <= {{W{1'b0}}, dividend};
                    bys[0] <= divisor;
                    marks[0] <= {wants_rest, negates, clears};
                    for (r = 1; r < ROWS; r = r + 1) begin
                        states[r] <= after[r-1];
                        bys[r] <= bys[r-1];
                        marks[r] <= marks[r-1];
                    end
                end
                wire [W-1:0] done_whole = after[ROWS-1][W-1:0];
                wire [W-1:0] done_left = after[ROWS-1][2*W-1:W];
                wire [2:0] mark = marks[ROWS-1];
                wire [W-1:0] final_word = signed_again(done_whole, done_left, mark[2], mark[1], mark[0]);
                // CYCLES counts the cycles until the result is there, of which the rows take ROWS.
                if (CYCLES > ROWS) begin : behind
                    gl_delay #(.W(W), .CYCLES(CYCLES - ROWS)) hold (.clk(clk), .word(final_word), .delayed(y));
                end else begin : ready
                    assign y = final_word;
                end
            end
        end
    endgenerate
    wire unused_code = &{1'b0, UDIV[0]};
endmodule
