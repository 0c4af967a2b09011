// Writes elements to memory in 2D patterns, for CHANNELS channels that share one AXI4 master. A channel is served when
// its queue holds the whole burst, so that data never waits on the bus. Elements of 1 and 2 bytes are the low bits of a
// word; bytes beside an element are not written. After `stop` a burst on the bus is finished with no byte enabled.
module gl_dma_write #(
    parameter CHANNELS = 1, CHANNEL_BITS = 1, LEVEL_BITS = 7
) (
    input  wire clk, rst, stop,
    input  wire [CHANNELS-1:0] start,
    input  wire [CHANNELS*32-1:0] address, count, stride, rows, row_stride,
    input  wire [CHANNELS*3-1:0] format,
    input  wire [CHANNELS*LEVEL_BITS-1:0] level,
    input  wire [CHANNELS*32-1:0] words,
    output wire [CHANNELS-1:0] busy,
    output wire draining,
    output wire failed, progress,
    output wire [CHANNELS-1:0] pop,
    output reg  [31:0] m_axi_awaddr,
    output reg  [7:0] m_axi_awlen,
    output reg  m_axi_awvalid,
    input  wire m_axi_awready,
    output reg  [31:0] m_axi_wdata,
    output wire [3:0] m_axi_wstrb,
    output reg  m_axi_wlast, m_axi_wvalid,
    input  wire m_axi_wready,
    input  wire [1:0] m_axi_bresp,
    input  wire m_axi_bvalid,
    output wire m_axi_bready
);
    localparam BURST = 16;
    wire [CHANNELS-1:0] active;
    wire [CHANNELS*5-1:0] burst;
    wire [CHANNEL_BITS-1:0] chosen;
    wire found;
    wire [31:0] to;
    wire [4:0] elements;
    wire [2:0] kind;
    wire [7:0] length;
    reg [CHANNELS-1:0] filled_up;
    integer k;
    always @*
        for (k = 0; k < CHANNELS; k = k + 1)
            filled_up[k] = level[k*LEVEL_BITS +: LEVEL_BITS] >= {{(LEVEL_BITS-5){1'b0}}, burst[k*5 +: 5]};

    // A burst: its address and its data go out side by side, then its response is awaited.
    reg bursting, stopped;
    reg [CHANNEL_BITS-1:0] current;
    wire issue = found && !stop && !bursting;
    wire [CHANNELS-1:0] unused_take;
    gl_channels #(.CHANNELS(CHANNELS), .CHANNEL_BITS(CHANNEL_BITS), .BURST(BURST)) channels (
        .clk(clk), .rst(rst), .stop(stop), .start(start), .address(address), .count(count), .stride(stride),
        .rows(rows), .row_stride(row_stride), .format(format), .may(filled_up), .issue(issue), .active(active),
        .take(unused_take), .burst(burst), .found(found), .chosen(chosen), .at(to), .elements(elements), .kind(kind),
        .length(length));

    reg dead, filled;
    reg [1:0] lane, size;
    reg [4:0] left;
    reg [31:0] beat;
    reg [3:0] enabled, beat_enabled;
    wire takes = bursting && left != 0 && (!m_axi_wvalid || m_axi_wready);
    genvar c;
    generate
        for (c = 0; c < CHANNELS; c = c + 1) begin : channel
            assign busy[c] = active[c] || (bursting && current == c[CHANNEL_BITS-1:0]);
            // `stop` empties the queues, so that a burst that dies takes nothing out of them.
            assign pop[c] = takes && !dead && !stopped && current == c[CHANNEL_BITS-1:0];
        end
    endgenerate
    wire [31:0] element = words[current*32 +: 32];
    wire [31:0] masked = size[1] ? element : size[0] ? {16'd0, element[15:0]} : {24'd0, element[7:0]};
    wire [3:0] lanes = size[1] ? 4'b1111 : size[0] ? 4'b0011 << lane : 4'b0001 << lane;
    wire [31:0] next_beat = (filled ? beat : 32'd0) | masked << {lane, 3'b000};
    wire [3:0] next_enabled = (filled ? beat_enabled : 4'd0) | lanes;
    wire [2:0] after = {1'b0, lane} + (3'd1 << size);
    wire whole = after[2] || left == 5'd1;
    assign m_axi_wstrb = dead ? 4'd0 : enabled;
    wire sent = bursting && !m_axi_awvalid && !m_axi_wvalid && left == 0;
    assign m_axi_bready = sent;
    assign failed = sent && m_axi_bvalid && m_axi_bresp[1] && !dead;
    assign progress = (m_axi_awvalid && m_axi_awready) || (m_axi_wvalid && m_axi_wready) || (sent && m_axi_bvalid)
                      || takes;
    assign draining = bursting;
    always @(posedge clk) begin
        if (takes) begin
            lane <= after[1:0];
            filled <= !whole;
            beat <= next_beat;
            beat_enabled <= next_enabled;
            if (whole) begin
                m_axi_wdata <= next_beat;
                enabled <= next_enabled;
                m_axi_wlast <= left == 5'd1;
            end
        end
        if (rst) begin
            bursting <= 1'b0;
            m_axi_awvalid <= 1'b0;
            m_axi_wvalid <= 1'b0;
            dead <= 1'b0;
            current <= 0;
            left <= 0;
        end else begin
            // The data of a beat that waits on the bus must not change, so a burst dies behind it.
            if (stop && bursting && (!m_axi_wvalid || m_axi_wready)) dead <= 1'b1;
            else if (stopped && (!m_axi_wvalid || m_axi_wready)) dead <= bursting;
            if (m_axi_awready) m_axi_awvalid <= 1'b0;
            if (takes) left <= left - 5'd1;
            if (takes) m_axi_wvalid <= whole;
            else if (m_axi_wready) m_axi_wvalid <= 1'b0;
            if (issue) begin
                bursting <= 1'b1;
                dead <= 1'b0;
                current <= chosen;
                m_axi_awvalid <= 1'b1;
                m_axi_awaddr <= {to[31:2], 2'b00};
                m_axi_awlen <= length;
                left <= elements;
                lane <= to[1:0];
                size <= kind[1:0];
                filled <= 1'b0;
            end else if (sent && m_axi_bvalid) bursting <= 1'b0;
        end
    end
    // A stop that came while a beat waited is remembered until it can take effect.
    always @(posedge clk)
        if (rst || !bursting) stopped <= 1'b0;
        else if (stop) stopped <= 1'b1;
    wire unused = &{1'b0, m_axi_bresp[0], kind[2], unused_take};
endmodule
