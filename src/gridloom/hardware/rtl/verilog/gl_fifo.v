// Operand FIFO. `late` is the word that will have waited `next_tap` cycles in the next cycle, 1 to DEPTH; a word that
// does not wait takes another way. Every cycle brings a word and the configuration fixes how long an operand waits, so
// that a short FIFO is a chain of registers and a long one a memory that is written round and round.
module gl_fifo #(
    parameter W = 32, DEPTH = 1, TAP_BITS = 1
) (
    input  wire clk, rst,
    input  wire [W-1:0] word,
    input  wire [TAP_BITS-1:0] next_tap,
    output wire [W-1:0] late
);
    localparam CHAIN = 4;
    generate
        if (DEPTH == 1) begin : pass
            assign late = word;
            wire unused = &{1'b0, clk, rst, next_tap};
        end else if (DEPTH <= CHAIN) begin : chain
            reg [(DEPTH-1)*W-1:0] stages;
            wire [DEPTH*W-1:0] taps = {stages, word};
            always @(posedge clk) stages <= taps[(DEPTH-1)*W-1:0];
            // Tap n is at place n - 1; the first one also stands for taps that no operand has.
            gl_mux #(.W(W), .N(DEPTH + 1), .SELECT_BITS(TAP_BITS)) pick (
                .sources({taps, word}), .select(next_tap), .chosen(late));
            wire unused = &{1'b0, rst};
        end else begin : memory
            localparam PLACE_BITS = $clog2(DEPTH - 1);
            (* ram_style = "distributed" *) reg [W-1:0] store [0:(1<<PLACE_BITS)-1];
            reg [PLACE_BITS-1:0] place;
            wire [31:0] tap = {{(32-TAP_BITS){1'b0}}, next_tap};
            wire [PLACE_BITS-1:0] back = tap[PLACE_BITS-1:0];
            wire [PLACE_BITS-1:0] from = place + 1'b1 - back;
            always @(posedge clk) begin
                store[place] <= word;
                place <= rst ? {PLACE_BITS{1'b0}} : place + 1'b1;
            end
            assign late = tap < 2 ? word : store[from];
        end
    endgenerate
endmodule
