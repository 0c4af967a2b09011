// Counts cycles for the whole array: slot = cycle mod II, stage = rounds begun (saturating), past = rounds since the
// iterations ran out (saturating), turn = low bits of the round. While `run` is low everything stands at cycle 0.
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
    output reg  [SLOT_BITS-1:0] slot,
    output wire [STAGE_BITS-1:0] stage, past,
    output wire [TURN_BITS-1:0] turn,
    output wire last_slot, done,
    output reg  [SETTING_BITS-1:0] settings
);
    wire write;
    wire [1:0] region;
    wire [OFFSET_BITS-1:0] offset;
    wire [CHUNK-1:0] data;
    gl_config_port #(.ID(ID), .ID_BITS(ID_BITS), .OFFSET_BITS(OFFSET_BITS), .CHUNK(CHUNK)) port (
        .clk(clk), .rst(rst), .valid_in(cfg_valid_in), .packet_in(cfg_packet_in), .valid_out(cfg_valid_out),
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

    reg [31:0] round;
    assign last_slot = run && slot == final_slot;
    always @(posedge clk)
        if (rst || !run) begin
            slot  <= 0;
            round <= 0;
        end else begin
            slot <= last_slot ? 0 : slot + 1'b1;
            if (last_slot) round <= round + 1;
        end

    localparam [31:0] MOST = (32'd1 << STAGE_BITS) - 1;
    wire [31:0] over = round + 1 > iterations ? round + 1 - iterations : 0;
    assign stage = round > MOST ? {STAGE_BITS{1'b1}} : round[STAGE_BITS-1:0];
    assign past  = over > MOST ? {STAGE_BITS{1'b1}} : over[STAGE_BITS-1:0];
    assign turn  = round[TURN_BITS-1:0];
    assign done  = run && &past;
    wire unused = &{1'b0, data};
endmodule
