// Counts cycles for the whole array, two cycles ahead, so that every unit can prepare what it does:
// soon_slot = cycle mod II, soon_stage = rounds begun (saturating), soon_past = rounds since the iterations ran out
// (saturating). While `run` is low they stand at cycle 0, which is the second cycle after `run` has gone high;
// `iterations` has to be there two cycles before `run`. `slot`, `turn` (low bits of the round) and `last_slot` belong to
// the present cycle.
module gl_sequencer #(
    parameter ID = 0, ID_BITS = 8, SLOT_BITS = 1, STAGE_BITS = 6, TURN_BITS = 1, SETTING_BITS = 1,
    parameter OFFSET_BITS = 8, CHUNK = 32
) (
    input  wire clk, rst, run,
    input  wire [31:0] iterations,
    input  wire cfg_valid_in,
    input  wire [ID_BITS+2+OFFSET_BITS+CHUNK-1:0] cfg_packet_in,
    output wire cfg_valid_out,
    output wire [ID_BITS+2+OFFSET_BITS+CHUNK-1:0] cfg_packet_out,
    output reg  [SLOT_BITS-1:0] soon_slot, slot,
    output reg  [STAGE_BITS-1:0] soon_stage, soon_past,
    output reg  [TURN_BITS-1:0] turn,
    output reg  last_slot, done,
    output reg  [SETTING_BITS-1:0] settings
);
    wire write;
    wire [1:0] region;
    wire [OFFSET_BITS-1:0] offset;
    wire [CHUNK-1:0] data;
    gl_config_port #(.ID_BITS(ID_BITS), .OFFSET_BITS(OFFSET_BITS), .CHUNK(CHUNK)) port (
        .clk(clk), .rst(rst), .number(ID[ID_BITS-1:0]), .valid_in(cfg_valid_in), .packet_in(cfg_packet_in), .valid_out(cfg_valid_out),
        .packet_out(cfg_packet_out), .write(write), .region(region), .offset(offset), .data(data));

    // Region 3: word 0 is II - 1, the following words are the settings of the array.
    reg [SLOT_BITS-1:0] final_slot;
    integer k;
    always @(posedge clk)
        if (rst) begin
            final_slot <= 0;
            settings <= 0;
        end else if (write && region == 2'd3) begin
            if (offset == 0) final_slot <= data[SLOT_BITS-1:0];
            for (k = 0; k < SETTING_BITS; k = k + 1)
                if ({{(32-OFFSET_BITS){1'b0}}, offset} == $unsigned(1 + k / CHUNK)) settings[k] <= data[k % CHUNK];
        end

    // `left` counts the iterations that have not begun when the next round begins.
    reg [31:0] left;
    reg [TURN_BITS-1:0] soon_turn, next_turn;
    reg [SLOT_BITS-1:0] next_slot;
    reg next_last, next_done;
    wire turns = soon_slot == final_slot;
    wire ended = left[31:1] == 31'd0;
    wire none = ended && !left[0];
    localparam [STAGE_BITS-1:0] MOST = {STAGE_BITS{1'b1}};
    always @(posedge clk) begin
        {slot, turn, last_slot, done} <= {next_slot, next_turn, next_last, next_done};
        {next_slot, next_turn, next_last, next_done} <= {soon_slot, soon_turn, run && turns, run && soon_past == MOST};
        if (!run) begin
            soon_slot <= 0;
            soon_stage <= 0;
            soon_past <= {{(STAGE_BITS-1){1'b0}}, none};
            soon_turn <= 0;
            left <= iterations;
        end else if (turns) begin
            soon_slot <= 0;
            if (soon_stage != MOST) soon_stage <= soon_stage + 1'b1;
            if (ended && soon_past != MOST) soon_past <= soon_past + 1'b1;
            soon_turn <= soon_turn + 1'b1;
            if (!none) left <= left - 1'b1;
        end else
            soon_slot <= soon_slot + 1'b1;
    end
    wire unused = &{1'b0, data};
endmodule
