// One operand of an issue slot: an initial value in the first `count` firings, then what `source` names:
// 0 the routed word, 1 the immediate behind the initial values, 2 the next word of a stream.
module gl_operand #(
    parameter W = 32, STAGE_BITS = 6, VALUE_BITS = 2, COUNT_BITS = 3
) (
    input  wire [1:0] source,
    input  wire [COUNT_BITS-1:0] count,
    input  wire [VALUE_BITS-1:0] base,
    input  wire [STAGE_BITS-1:0] firing,
    input  wire fire,
    input  wire [W-1:0] routed, stream, value,
    output wire [VALUE_BITS-1:0] index,
    output wire read,
    output wire [W-1:0] word
);
    localparam WIDE = STAGE_BITS > COUNT_BITS ? STAGE_BITS : COUNT_BITS;
    wire [WIDE-1:0] ahead = {{(WIDE-STAGE_BITS){1'b0}}, firing};
    wire [WIDE-1:0] given = {{(WIDE-COUNT_BITS){1'b0}}, count};
    wire initial_one = ahead < given;
    wire [WIDE-1:0] position = initial_one ? ahead : given;
    generate
        if (WIDE >= VALUE_BITS) begin : narrow
            assign index = base + position[VALUE_BITS-1:0];
            if (WIDE > VALUE_BITS) begin : rest
                wire unused = &{1'b0, position[WIDE-1:VALUE_BITS]};
            end
        end else begin : wide
            assign index = base + {{(VALUE_BITS-WIDE){1'b0}}, position};
        end
    endgenerate
    assign read = fire && source == 2'd2 && !initial_one;
    assign word = (initial_one || source == 2'd1) ? value : source == 2'd2 ? stream : routed;
endmodule
