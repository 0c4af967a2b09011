// Moves words between the queues of two DMA channels and the data memory, one word per cycle, through one memory port.
// Words that come in go to consecutive addresses from `in_place` on; words that go out are read from consecutive
// addresses from `out_place` on, as many as the pattern has elements. `outside` says that an address was beyond the
// memory; that word is dropped. A launch may put a word straight into memory (`poke`), which goes before everything.
module gl_mover #(
    parameter ADDRESS_BITS = 10, LEVEL_BITS = 7, QUEUE = 64, SYNCHRONOUS = 0
) (
    input  wire clk, rst, stop,
    input  wire in_start, out_start, poke,
    input  wire [ADDRESS_BITS-1:0] poke_address,
    input  wire [31:0] poke_word,
    input  wire [31:0] in_place, out_place, out_count, out_rows,
    input  wire [LEVEL_BITS-1:0] in_level, out_level,
    input  wire [31:0] in_word,
    output wire in_pop,
    output wire out_push, out_busy,
    output wire [31:0] out_word,
    output wire outside,
    output wire store,
    output wire [ADDRESS_BITS-1:0] address,
    output wire [31:0] word,
    input  wire [31:0] loaded
);
    reg [31:0] in_at, out_at, left, rows_left, row_count;
    reg reading;
    wire arrives = in_level != 0 && !poke;
    wire [LEVEL_BITS-1:0] room = QUEUE[LEVEL_BITS-1:0] - out_level;
    // Words that come in go first. One word may be on its way from the memory.
    wire reads = reading && !arrives && !poke && room > 2;
    wire in_range = in_at[31:ADDRESS_BITS] == 0;
    wire out_range = out_at[31:ADDRESS_BITS] == 0;
    assign in_pop = arrives;
    assign store = poke || (arrives && in_range);
    assign address = poke ? poke_address : arrives ? in_at[ADDRESS_BITS-1:0] : out_at[ADDRESS_BITS-1:0];
    assign word = poke ? poke_word : in_word;
    assign outside = (arrives && !in_range) || (reads && !out_range);
    reg read_before;
    reg [31:0] kept;
    assign out_push = read_before && !stop;
    generate
        if (SYNCHRONOUS != 0) begin : later
            assign out_word = loaded;
            wire unused_kept = &{1'b0, kept};
        end else begin : at_once
            assign out_word = kept;
        end
    endgenerate
    assign out_busy = reading || read_before;
    always @(posedge clk) begin
        kept <= loaded;
        if (in_start) in_at <= in_place;
        else if (in_pop) in_at <= in_at + 32'd1;
        if (rst || stop) begin
            reading <= 1'b0;
            read_before <= 1'b0;
        end else begin
            read_before <= reads;
            if (out_start) begin
                reading <= out_count != 0 && out_rows != 0;
                out_at <= out_place;
                left <= out_count;
                rows_left <= out_rows;
                row_count <= out_count;
            end else if (reads) begin
                out_at <= out_at + 32'd1;
                left <= left - 32'd1;
                if (left == 32'd1) begin
                    left <= row_count;
                    rows_left <= rows_left - 32'd1;
                    reading <= rows_left != 32'd1;
                end
            end
        end
    end
endmodule
