// One operand of an issue slot: an initial value in the first `count` firings, then what `source` names:
// 0 the routed word, 1 the immediate behind the initial values, 2 the next word of a stream. Which of them it is, and the
// place `index` of a value of the tile, are known one cycle ahead and come out of registers, as does a word that waits in
// the FIFO (`late`); a routed word that does not wait (`arrived`) and the word of a stream come in the cycle itself.
module gl_operand #(
    parameter W = 32, STAGE_BITS = 6, VALUE_BITS = 2, COUNT_BITS = 3, STREAM = 1, WAITS = 1
) (
    input  wire clk, fire,
    input  wire [1:0] next_source,
    input  wire [COUNT_BITS-1:0] next_count,
    input  wire [VALUE_BITS-1:0] next_base,
    input  wire [STAGE_BITS-1:0] next_firing,
    input  wire next_waits,
    input  wire [W-1:0] arrived, late, stream, value,
    output reg  [VALUE_BITS-1:0] index,
    output wire read,
    output wire [W-1:0] word
);
    localparam WIDE = STAGE_BITS > COUNT_BITS ? STAGE_BITS : COUNT_BITS;
    wire [WIDE-1:0] ahead = {{(WIDE-STAGE_BITS){1'b0}}, next_firing};
    wire [WIDE-1:0] given = {{(WIDE-COUNT_BITS){1'b0}}, next_count};
    // Short numbers are compared and added from bit to bit: a carry chain of an FPGA costs more than it saves.
    reg [WIDE:0] below;
    integer k;
    always @* begin
        below[0] = 1'b0;
        for (k = 0; k < WIDE; k = k + 1) below[k+1] = ahead[k] == given[k] ? below[k] : given[k];
    end
    wire initial_one = below[WIDE];
    wire [WIDE-1:0] position = initial_one ? ahead : given;
    wire [WIDE+VALUE_BITS-1:0] places = {{VALUE_BITS{1'b0}}, position};
    reg [VALUE_BITS:0] carry;
    always @* begin
        carry[0] = 1'b0;
        for (k = 0; k < VALUE_BITS; k = k + 1)
            carry[k+1] = (next_base[k] && places[k]) || (carry[k] && (next_base[k] || places[k]));
    end
    wire [VALUE_BITS-1:0] next_index = next_base ^ places[VALUE_BITS-1:0] ^ carry[VALUE_BITS-1:0];
    wire unused_places = &{1'b0, places, carry[VALUE_BITS]};

    wire keeps = initial_one || next_source == 2'd1;
    wire goes = !keeps && next_source == 2'd0 && !next_waits;
    wire flows = !keeps && next_source == 2'd2;
    reg direct, streams, kept;
    reg [1:0] way;
    always @(posedge clk) begin
        index <= next_index;
        direct <= goes;
        streams <= flows;
        kept <= keeps;
        way <= {goes || flows, goes || keeps};
    end
    wire [W-1:0] waited;
    generate
        if (WAITS != 0) begin : waiting
            gl_delay #(.W(W), .CYCLES(1)) stage (.clk(clk), .word(late), .delayed(waited));
        end else begin : prompt
            assign waited = value;
            wire unused_late = &{1'b0, late};
        end
        if (STREAM != 0) begin : open
            assign read = fire && streams;
            // The words that come last are together, so that one level of logic is behind them.
            gl_mux #(.W(W), .N(4), .SELECT_BITS(2)) pick (
                .sources({arrived, stream, value, waited}), .select(way), .chosen(word));
            wire unused_ways = &{1'b0, direct, kept};
        end else begin : closed
            assign read = 1'b0;
            wire [W-1:0] ready = kept ? value : waited;
            assign word = direct ? arrived : ready;
            wire unused_stream = &{1'b0, fire, streams, stream, way};
        end
    endgenerate
endmodule
