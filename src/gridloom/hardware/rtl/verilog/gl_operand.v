// One operand of an issue slot: an initial value in the first `count` firings, then what `source` names:
// 0 the routed word, 1 the immediate behind the initial values, 2 the next word of a stream. What is known one cycle
// ahead (a value of the tile, a word that waits in the FIFO) is ready in a register; a routed word that does not wait
// (`arrived`) and the word of a stream come in the cycle itself.
module gl_operand #(
    parameter W = 32, STAGE_BITS = 6, VALUE_BITS = 2, COUNT_BITS = 3, STREAM = 1
) (
    input  wire clk, fire,
    input  wire [1:0] next_source,
    input  wire [COUNT_BITS-1:0] next_count,
    input  wire [VALUE_BITS-1:0] next_base,
    input  wire [STAGE_BITS-1:0] next_firing,
    input  wire next_waits,
    input  wire [W-1:0] arrived, late, stream, value,
    output wire [VALUE_BITS-1:0] next_index,
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
    assign next_index = next_base ^ places[VALUE_BITS-1:0] ^ carry[VALUE_BITS-1:0];
    wire unused_places = &{1'b0, places, carry[VALUE_BITS]};

    wire keeps = initial_one || next_source == 2'd1;
    reg direct, streams;
    reg [W-1:0] ready;
    always @(posedge clk) begin
        direct <= !keeps && next_source == 2'd0 && !next_waits;
        streams <= !keeps && next_source == 2'd2;
        ready <= keeps ? value : late;
    end
    generate
        if (STREAM != 0) begin : open
            assign read = fire && streams;
            assign word = direct ? arrived : streams ? stream : ready;
        end else begin : closed
            assign read = 1'b0;
            assign word = direct ? arrived : ready;
            wire unused_stream = &{1'b0, fire, streams, stream};
        end
    endgenerate
endmodule
