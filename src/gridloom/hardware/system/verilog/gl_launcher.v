// Launches the array: sends the packets of an image down the configuration chain where the array holds another one, then
// the entries that depend on the launch (live-ins, starts of arrays, registers), lets the array run for
// (iterations - 1) * II + length cycles of its own clock, and is idle again. Selectors of the image say which output
// ports the live-out registers and the stream channels listen to. Bank and iterations are taken over with `launch`; from
// `set_up` on the live-ins are not read any more, so that they may be those of the next launch.
//
// An entry has two rows: the packet, and {kind, shift, live-in} in its low word. Kind 0 sends the packet as it is; kind 1
// replaces its data by the live-in; kinds 2 and 3 add the live-in to the data, shifted left or right.
module gl_launcher #(
    parameter BANK_BITS = 1, ROW_BITS = 9, LIVEINS = 32, UNITS = 16, SELECTORS = 1, SELECTOR_BITS = 1
) (
    input  wire clk, rst, stop,
    input  wire launch, waits, stalled,
    input  wire [BANK_BITS-1:0] bank,
    input  wire bank_written,
    input  wire [BANK_BITS-1:0] written_bank,
    input  wire [31:0] iterations,
    input  wire [LIVEINS*32-1:0] liveins,
    output wire [ROW_BITS-1:0] row_address,
    input  wire [63:0] row,
    input  wire [15:0] packets, entries, selectors, ii, length,
    output wire idle, configuring, running, finished, set_up,
    output reg  [BANK_BITS-1:0] run_bank,
    output reg  [31:0] run_iterations,
    output reg  cfg_valid,
    output reg  [63:0] cfg_packet,
    output reg  run,
    // For each selector the slot and the port that it listens to, and whether it listens at all.
    output reg  [SELECTORS-1:0] selects,
    output reg  [SELECTORS*16-1:0] selected
);
    localparam [2:0] IDLE = 3'd0, WAIT = 3'd1, SEND = 3'd2, SELECT = 3'd3, PATCH = 3'd4, DRAIN = 3'd5, RUN = 3'd6;
    reg [2:0] state;
    reg held, second;
    reg [BANK_BITS-1:0] held_bank;
    reg [ROW_BITS-1:0] at;
    reg [15:0] left;
    // The row that was asked for in the cycle before is here now.
    reg here, here_second, here_select, here_patch;
    reg [63:0] template;
    assign row_address = at;
    assign idle = state == IDLE;
    assign configuring = state == SEND || state == SELECT || state == PATCH || state == DRAIN;
    assign running = state == RUN;
    assign set_up = state == DRAIN;

    wire [1:0] kind = row[17:16];
    wire [4:0] shift = row[12:8];
    localparam LIVEIN_BITS = $clog2(LIVEINS);
    wire [31:0] livein = liveins[row[LIVEIN_BITS-1:0]*32 +: 32];
    wire [31:0] patched = kind == 2'd0 ? template[31:0] : kind == 2'd1 ? livein
                          : template[31:0] | (kind == 2'd2 ? livein << shift : livein >> shift);
    wire [ROW_BITS-1:0] entry_rows = packets[ROW_BITS-1:0];
    wire [ROW_BITS-1:0] selector_rows = packets[ROW_BITS-1:0] + {entries[ROW_BITS-2:0], 1'b0};
    reg [31:0] iterations_left;
    reg [15:0] phase, tail;
    wire ends = iterations_left == 32'd1 && tail == 16'd1;
    assign finished = state == RUN && !stalled && ends;
    always @(posedge clk) begin
        cfg_valid <= !rst && !stop && ((here && !here_patch && !here_select) || (here && here_patch && here_second));
        cfg_packet <= here_patch ? {template[63:32], patched} : row;
        if (here && here_patch && !here_second) template <= row;
        if (here && here_select) begin
            selects[row[SELECTOR_BITS-1:0]] <= 1'b1;
            selected[row[SELECTOR_BITS-1:0]*16 +: 16] <= row[31:16];
        end
        {here, here_second, here_select, here_patch} <=
            {(state == SEND || state == SELECT || state == PATCH) && left != 0, second, state == SELECT, state == PATCH};
        if (rst) begin
            state <= IDLE;
            held <= 1'b0;
            run <= 1'b0;
            selects <= 0;
            here <= 1'b0;
        end else if (stop) begin
            // What the array holds is not known after a launch was broken off.
            state <= IDLE;
            held <= held && (state == IDLE || state == WAIT || state == RUN);
            run <= 1'b0;
            here <= 1'b0;
        end else begin
            if (bank_written && written_bank == held_bank) held <= 1'b0;
            case (state)
                IDLE: if (launch) begin
                    state <= WAIT;
                    run_bank <= bank;
                    run_iterations <= iterations;
                end
                WAIT: if (!waits) begin
                    second <= 1'b0;
                    held <= 1'b1;
                    held_bank <= run_bank;
                    if (held && held_bank == run_bank) begin
                        state <= PATCH;
                        at <= entry_rows;
                        left <= {entries[14:0], 1'b0};
                    end else begin
                        state <= SEND;
                        at <= 0;
                        left <= packets;
                    end
                end
                SEND:
                    if (left == 0) begin
                        state <= SELECT;
                        selects <= 0;
                        at <= selector_rows;
                        left <= selectors;
                    end else begin
                        at <= at + 1'b1;
                        left <= left - 16'd1;
                    end
                SELECT:
                    if (left == 0) begin
                        state <= PATCH;
                        at <= entry_rows;
                        left <= {entries[14:0], 1'b0};
                    end else begin
                        at <= at + 1'b1;
                        left <= left - 16'd1;
                    end
                PATCH:
                    if (left == 0) begin
                        state <= DRAIN;
                        left <= UNITS[15:0] + 16'd3;
                    end else begin
                        second <= !second;
                        at <= at + 1'b1;
                        left <= left - 16'd1;
                    end
                DRAIN: begin
                    left <= left - 16'd1;
                    iterations_left <= run_iterations;
                    phase <= ii;
                    tail <= length;
                    if (left == 16'd1) begin
                        state <= RUN;
                        run <= 1'b1;
                    end
                end
                RUN: if (!stalled) begin
                    if (iterations_left != 32'd1) begin
                        phase <= phase - 16'd1;
                        if (phase == 16'd1) begin
                            phase <= ii;
                            iterations_left <= iterations_left - 32'd1;
                        end
                    end else tail <= tail - 16'd1;
                    if (ends) begin
                        state <= IDLE;
                        run <= 1'b0;
                    end
                end
                default: state <= IDLE;
            endcase
        end
    end
    wire unused = &{1'b0, packets, entries};
endmodule
