// The lowest W bits of `funnel` moved to the right by `amount` bits. Two bits of the amount are taken at a time, the
// highest first: the word behind each step is as short as the steps after it allow. FILLS = 0: the bits of the funnel
// above the word are 0, and no logic is made for them.
module gl_shifter #(
    parameter W = 32, BITS = 5, FILLS = 1
) (
    input  wire [W+(1<<BITS)-2:0] funnel,
    input  wire [BITS-1:0] amount,
    output wire [W-1:0] moved
);
    localparam STEP = BITS > 1 ? 1 << (BITS - 2) : 1;
    localparam LONG = BITS > 1 ? W + STEP - 1 : W;
    localparam SHORT = FILLS != 0 ? LONG : W;
    wire [LONG-1:0] left;
    genvar k;
    generate
        if (BITS == 1) begin : single
            assign moved = amount[0] ? funnel[W:1] : funnel[W-1:0];
            assign left = {LONG{1'b0}};
        end else begin : pair
            wire [4*SHORT-1:0] choices;
            for (k = 0; k < 4; k = k + 1) begin : choice
                assign choices[k*SHORT +: SHORT] = funnel[k*STEP +: SHORT];
            end
            gl_mux #(.W(SHORT), .N(4), .SELECT_BITS(2)) pick (
                .sources(choices), .select(amount[BITS-1:BITS-2]), .chosen(left[SHORT-1:0]));
            if (SHORT < LONG) begin : zeros
                assign left[LONG-1:SHORT] = {(LONG-SHORT){1'b0}};
            end
            if (BITS == 2) begin : last
                assign moved = left;
            end else begin : more
                gl_shifter #(.W(W), .BITS(BITS - 2), .FILLS(FILLS)) rest (
                    .funnel(left), .amount(amount[BITS-3:0]), .moved(moved));
            end
        end
    endgenerate
    wire unused = &{1'b0, funnel, left};
endmodule
