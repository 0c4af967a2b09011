// The patterns of CHANNELS channels that share one bus, and whose turn it is: of the channels that have elements left and
// `may` go on, the first one behind the one that was served last. `issue` takes the burst that `at`, `elements`, `kind`
// and `length` (beats - 1) describe.
module gl_channels #(
    parameter CHANNELS = 1, CHANNEL_BITS = 1, BURST = 16
) (
    input  wire clk, rst, stop,
    input  wire [CHANNELS-1:0] start,
    input  wire [CHANNELS*32-1:0] address, count, stride, rows, row_stride,
    input  wire [CHANNELS*3-1:0] format,
    input  wire [CHANNELS-1:0] may,
    input  wire issue,
    output wire [CHANNELS-1:0] active, take,
    output wire [CHANNELS*5-1:0] burst,
    output reg  found,
    output reg  [CHANNEL_BITS-1:0] chosen,
    output wire [31:0] at,
    output wire [4:0] elements,
    output wire [2:0] kind,
    output wire [7:0] length
);
    wire [CHANNELS*32-1:0] all_at;
    wire [CHANNELS*3-1:0] all_kinds;
    wire [CHANNELS-1:0] ready = active & may;
    reg [CHANNEL_BITS-1:0] served;
    integer k;
    always @* begin
        chosen = 0;
        found = 1'b0;
        for (k = CHANNELS - 1; k >= 0; k = k - 1)
            if (ready[k]) begin
                chosen = k[CHANNEL_BITS-1:0];
                found = 1'b1;
            end
        for (k = CHANNELS - 1; k >= 0; k = k - 1)
            if (ready[k] && k[CHANNEL_BITS-1:0] > served) chosen = k[CHANNEL_BITS-1:0];
    end
    always @(posedge clk)
        if (rst) served <= 0;
        else if (issue) served <= chosen;
    genvar c;
    generate
        for (c = 0; c < CHANNELS; c = c + 1) begin : channel
            assign take[c] = issue && chosen == c[CHANNEL_BITS-1:0];
            gl_pattern #(.BURST(BURST)) pattern (
                .clk(clk), .rst(rst), .start(start[c]), .stop(stop), .take(take[c]),
                .address(address[c*32 +: 32]), .count(count[c*32 +: 32]), .stride(stride[c*32 +: 32]),
                .rows(rows[c*32 +: 32]), .row_stride(row_stride[c*32 +: 32]), .format(format[c*3 +: 3]),
                .active(active[c]), .at(all_at[c*32 +: 32]), .burst(burst[c*5 +: 5]), .kind(all_kinds[c*3 +: 3]));
        end
    endgenerate
    assign at = all_at[chosen*32 +: 32];
    assign elements = burst[chosen*5 +: 5];
    assign kind = all_kinds[chosen*3 +: 3];
    // The bytes of a burst, from the first byte of its first beat on.
    wire [7:0] bytes = {6'd0, at[1:0]} + ({3'd0, elements} << kind[1:0]);
    assign length = ((bytes + 8'd3) >> 2) - 8'd1;
endmodule
