// Reads elements of 2D patterns from memory, for CHANNELS channels that share one AXI4 master. Each channel takes turns
// with a burst of at most 16 elements, which is asked for only when the queue behind the channel has room for all of it:
// answers are never held up by a queue. An element has 1, 2 or 4 bytes and comes out as a word, with its sign or without.
// After `stop` everything that was asked for is still received, and dropped: `draining` says so.
module gl_dma_read #(
    parameter CHANNELS = 1, CHANNEL_BITS = 1, LEVEL_BITS = 7, QUEUE = 64
) (
    input  wire clk, rst, stop,
    input  wire [CHANNELS-1:0] start,
    input  wire [CHANNELS*32-1:0] address, count, stride, rows, row_stride,
    input  wire [CHANNELS*3-1:0] format,
    input  wire [CHANNELS*LEVEL_BITS-1:0] level,
    output wire [CHANNELS-1:0] busy,
    output wire draining,
    output wire failed, progress,
    output wire [CHANNELS-1:0] push,
    output wire [31:0] word,
    output reg  [31:0] m_axi_araddr,
    output reg  [7:0] m_axi_arlen,
    output reg  m_axi_arvalid,
    input  wire m_axi_arready,
    input  wire [31:0] m_axi_rdata,
    input  wire [1:0] m_axi_rresp,
    input  wire m_axi_rlast, m_axi_rvalid,
    output wire m_axi_rready
);
    localparam BURST = 16;
    localparam PENDING = 8;
    wire [CHANNELS-1:0] active, take;
    wire [CHANNELS*5-1:0] burst;
    wire [CHANNEL_BITS-1:0] chosen;
    wire found;
    wire [31:0] from;
    wire [4:0] elements;
    wire [2:0] kind;
    wire [7:0] length;
    // Elements of each channel that were asked for and have not come.
    reg [LEVEL_BITS-1:0] flying [0:CHANNELS-1];
    reg [CHANNELS-1:0] room, waits;
    integer k;
    always @*
        for (k = 0; k < CHANNELS; k = k + 1) begin
            waits[k] = flying[k] != 0;
            room[k] = {1'b0, flying[k]} + {1'b0, level[k*LEVEL_BITS +: LEVEL_BITS]}
                      <= QUEUE[LEVEL_BITS:0] - BURST[LEVEL_BITS:0];
        end
    assign busy = active | waits;
    reg [3:0] waiting;
    reg dropping;
    wire issue = found && !stop && !dropping && waiting != PENDING[3:0] && (!m_axi_arvalid || m_axi_arready);
    gl_channels #(.CHANNELS(CHANNELS), .CHANNEL_BITS(CHANNEL_BITS), .BURST(BURST)) channels (
        .clk(clk), .rst(rst), .stop(stop), .start(start), .address(address), .count(count), .stride(stride),
        .rows(rows), .row_stride(row_stride), .format(format), .may(room), .issue(issue), .active(active), .take(take),
        .burst(burst), .found(found), .chosen(chosen), .at(from), .elements(elements), .kind(kind), .length(length));

    // Bursts that were asked for, in order: channel, format, first lane, elements.
    localparam ENTRY = CHANNEL_BITS + 3 + 2 + 5;
    reg [ENTRY-1:0] pending [0:PENDING-1];
    reg [2:0] oldest, newest;
    wire [CHANNEL_BITS-1:0] head_channel;
    wire [2:0] head_kind;
    wire [1:0] head_lane;
    wire [4:0] head_count;
    assign {head_channel, head_kind, head_lane, head_count} = pending[oldest];
    reg [4:0] delivered;
    reg [1:0] next_lane;
    wire [1:0] lane = delivered == 0 ? head_lane : next_lane;
    wire arrives = m_axi_rvalid && waiting != 0;
    genvar c;
    generate
        for (c = 0; c < CHANNELS; c = c + 1) begin : channel
            always @(posedge clk)
                if (rst) flying[c] <= 0;
                else flying[c] <= flying[c] + (take[c] ? {{(LEVEL_BITS-5){1'b0}}, burst[c*5 +: 5]} : {LEVEL_BITS{1'b0}})
                                  - {{(LEVEL_BITS-1){1'b0}}, arrives && head_channel == c[CHANNEL_BITS-1:0]};
            assign push[c] = arrives && !dropping && !stop && !m_axi_rresp[1] && head_channel == c[CHANNEL_BITS-1:0];
        end
    endgenerate
    wire [2:0] after = {1'b0, lane} + (3'd1 << head_kind[1:0]);
    wire ends = delivered + 5'd1 == head_count;
    assign m_axi_rready = arrives && (after[2] || ends);
    wire [31:0] shifted = m_axi_rdata >> {lane, 3'b000};
    wire sign8 = head_kind[2] && shifted[7];
    wire sign16 = head_kind[2] && shifted[15];
    assign word = head_kind[1] ? shifted : head_kind[0] ? {{16{sign16}}, shifted[15:0]} : {{24{sign8}}, shifted[7:0]};
    assign failed = arrives && m_axi_rresp[1] && !dropping;
    assign progress = arrives || (m_axi_arvalid && m_axi_arready);
    assign draining = dropping || m_axi_arvalid || waiting != 0;
    always @(posedge clk) begin
        if (issue) begin
            m_axi_araddr <= {from[31:2], 2'b00};
            m_axi_arlen <= length;
            pending[newest] <= {chosen, kind, from[1:0], elements};
        end
        if (arrives) next_lane <= after[1:0];
        if (rst) begin
            m_axi_arvalid <= 1'b0;
            oldest <= 0;
            newest <= 0;
            waiting <= 0;
            delivered <= 0;
            dropping <= 1'b0;
        end else begin
            m_axi_arvalid <= issue || (m_axi_arvalid && !m_axi_arready);
            if (issue) newest <= newest + 1'b1;
            waiting <= waiting + {3'd0, issue} - {3'd0, arrives && ends};
            dropping <= (dropping || stop) && (waiting != 0 || m_axi_arvalid);
            if (arrives && ends) begin
                oldest <= oldest + 1'b1;
                delivered <= 0;
            end else if (arrives) delivered <= delivered + 5'd1;
        end
    end
    wire unused = &{1'b0, m_axi_rlast, m_axi_rresp[0]};
endmodule
