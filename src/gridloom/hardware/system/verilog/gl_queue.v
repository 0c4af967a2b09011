// A queue of 2^DEPTH_BITS words. The first word is there before it is taken (`pop`). Who pushes has made sure that there
// is room: `level` says how many words wait.
module gl_queue #(
    parameter W = 32, DEPTH_BITS = 6
) (
    input  wire clk, rst, push, pop,
    input  wire [W-1:0] word_in,
    output wire [W-1:0] word,
    output reg  [DEPTH_BITS:0] level
);
    reg [W-1:0] words [0:(1<<DEPTH_BITS)-1];
    reg [DEPTH_BITS-1:0] first, last;
    assign word = words[first];
    always @(posedge clk) begin
        if (push) words[last] <= word_in;
        if (rst) begin
            first <= 0;
            last <= 0;
            level <= 0;
        end else begin
            if (push) last <= last + 1'b1;
            if (pop) first <= first + 1'b1;
            level <= level + {{DEPTH_BITS{1'b0}}, push} - {{DEPTH_BITS{1'b0}}, pop};
        end
    end
endmodule
