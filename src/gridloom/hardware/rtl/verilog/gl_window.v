// Whether an issue slot fires, and the number of the firing of the next cycle (saturating like `soon_stage`). Names that
// begin with `soon` belong to the cycle after the next. `soon_stage` counts rounds from 0, `soon_past` counts rounds since
// the first slot had its last iteration; both saturate.
module gl_window #(
    parameter STAGE_BITS = 6
) (
    input  wire clk, run,
    input  wire soon_valid, soon_always,
    input  wire [STAGE_BITS-1:0] soon_start, soon_stage, soon_past,
    output reg  fire,
    output reg  [STAGE_BITS-1:0] next_firing
);
    // The numbers are short, so that borrows go from bit to bit: a carry chain of an FPGA costs more than it saves.
    reg [STAGE_BITS:0] early, over;
    integer k;
    always @* begin
        early[0] = 1'b0;
        over[0] = 1'b0;
        for (k = 0; k < STAGE_BITS; k = k + 1) begin
            early[k+1] = soon_stage[k] == soon_start[k] ? early[k] : soon_start[k];
            over[k+1] = soon_past[k] == soon_start[k] ? over[k] : soon_past[k];
        end
    end
    reg next_fire;
    always @(posedge clk) begin
        fire <= next_fire;
        next_fire <= run && soon_valid && (soon_always || !(early[STAGE_BITS] || over[STAGE_BITS]));
        next_firing <= soon_stage ^ soon_start ^ early[STAGE_BITS-1:0];
    end
endmodule
