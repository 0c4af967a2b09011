// An AXI4-Lite slave as a plain register port. A write reaches the port in one cycle with address, data and byte lanes;
// a read is answered in the cycle after it was asked for. `refused` in the cycle of a write, or in the cycle of the
// answer, makes the response an error (SLVERR): there is no such register.
module gl_axil (
    input  wire clk, rst,
    input  wire [11:0] s_axi_awaddr,
    input  wire s_axi_awvalid,
    output wire s_axi_awready,
    input  wire [31:0] s_axi_wdata,
    input  wire [3:0] s_axi_wstrb,
    input  wire s_axi_wvalid,
    output wire s_axi_wready,
    output reg  [1:0] s_axi_bresp,
    output reg  s_axi_bvalid,
    input  wire s_axi_bready,
    input  wire [11:0] s_axi_araddr,
    input  wire s_axi_arvalid,
    output wire s_axi_arready,
    output reg  [31:0] s_axi_rdata,
    output reg  [1:0] s_axi_rresp,
    output reg  s_axi_rvalid,
    input  wire s_axi_rready,
    output wire write, read,
    output wire [11:0] write_address, read_address,
    output wire [31:0] write_data,
    output wire [3:0] write_lanes,
    input  wire [31:0] read_data,
    input  wire write_refused, read_refused
);
    // Address and data are taken together, when the response before them has gone.
    wire free = !s_axi_bvalid || s_axi_bready;
    assign write = s_axi_awvalid && s_axi_wvalid && free && !rst;
    assign s_axi_awready = write;
    assign s_axi_wready = write;
    // Registers are words: the byte lanes say which bytes of one are meant.
    assign write_address = {s_axi_awaddr[11:2], 2'b00};
    assign write_data = s_axi_wdata;
    assign write_lanes = s_axi_wstrb;
    // A read is taken when no other one is under way.
    reg asked;
    assign s_axi_arready = !asked && !s_axi_rvalid && !rst;
    assign read = s_axi_arvalid && s_axi_arready;
    assign read_address = {s_axi_araddr[11:2], 2'b00};
    always @(posedge clk)
        if (rst) begin
            s_axi_bvalid <= 1'b0;
            s_axi_rvalid <= 1'b0;
            asked <= 1'b0;
        end else begin
            if (write) begin
                s_axi_bvalid <= 1'b1;
                s_axi_bresp <= write_refused ? 2'b10 : 2'b00;
            end else if (s_axi_bready) s_axi_bvalid <= 1'b0;
            asked <= read;
            if (asked) begin
                s_axi_rvalid <= 1'b1;
                s_axi_rdata <= read_refused ? 32'd0 : read_data;
                s_axi_rresp <= read_refused ? 2'b10 : 2'b00;
            end else if (s_axi_rready) s_axi_rvalid <= 1'b0;
        end
    wire unused = &{1'b0, s_axi_awaddr[1:0], s_axi_araddr[1:0]};
endmodule
