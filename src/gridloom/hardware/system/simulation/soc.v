// A RISC-V core (VexRiscv), memory of one cycle and the array's system, for simulation. The memory answers the core in
// the same cycle, and the system's bus with one word per cycle, one cycle after it was asked.
//
//   0x40000000  memory, read from the file that +program names
//   0xf0000000  registers of the system
//   0xf0010000  cycles since the start (read); 0xf0010004 prints a letter, 0xf0010008 ends the simulation,
//               0xf001000c prints a word in hexadecimal
//
// +error_low, +error_high: addresses whose answers on the system's bus are errors. +hang: from this cycle on that bus does
// not answer. +reset: in this cycle the system, but not the core, is reset. +limit: cycles until the simulation ends.
// +trace: every access of the core to a register of the system is printed with the cycle in which it ends.
module gridloom_soc #(
    parameter WORDS = 1 << 22
) (
    input wire clk, rst
);
    reg [31:0] ram [0:WORDS-1];
    localparam ADDRESS_BITS = $clog2(WORDS);
    reg [1023:0] program_file;
    reg [31:0] error_low, error_high;
    reg [63:0] cycle, hang_from, reset_at, limit;
    initial begin
        cycle = 0;
        if ($value$plusargs("program=%s", program_file)) $readmemh(program_file, ram);
        if (!$value$plusargs("error_low=%h", error_low)) error_low = 32'hffffffff;
        if (!$value$plusargs("error_high=%h", error_high)) error_high = 0;
        if (!$value$plusargs("hang=%d", hang_from)) hang_from = 64'hffffffffffffffff;
        if (!$value$plusargs("reset=%d", reset_at)) reset_at = 64'hffffffffffffffff;
        if (!$value$plusargs("limit=%d", limit)) limit = 64'd100000000;
    end
    reg traces;
    initial traces = $test$plusargs("trace") != 0;
    wire hangs = cycle >= hang_from;

    // -- the core ----------------------------------------------------------------------------------------------------
    wire i_cyc, i_stb, i_we, d_cyc, d_stb, d_we, irq;
    wire [29:0] i_adr, d_adr;
    wire [31:0] i_out, d_out, d_in;
    wire [3:0] i_sel, d_sel;
    wire [2:0] i_cti, d_cti;
    wire [1:0] i_bte, d_bte;
    wire d_ack;
    VexRiscv core (
        .externalResetVector(32'h40000000), .timerInterrupt(1'b0), .softwareInterrupt(1'b0),
        .externalInterruptArray({31'd0, irq}),
        .iBusWishbone_CYC(i_cyc), .iBusWishbone_STB(i_stb), .iBusWishbone_ACK(i_cyc && i_stb), .iBusWishbone_WE(i_we),
        .iBusWishbone_ADR(i_adr), .iBusWishbone_DAT_MISO(ram[i_adr[ADDRESS_BITS-1:0]]), .iBusWishbone_DAT_MOSI(i_out),
        .iBusWishbone_SEL(i_sel), .iBusWishbone_ERR(1'b0), .iBusWishbone_CTI(i_cti), .iBusWishbone_BTE(i_bte),
        .dBusWishbone_CYC(d_cyc), .dBusWishbone_STB(d_stb), .dBusWishbone_ACK(d_ack), .dBusWishbone_WE(d_we),
        .dBusWishbone_ADR(d_adr), .dBusWishbone_DAT_MISO(d_in), .dBusWishbone_DAT_MOSI(d_out),
        .dBusWishbone_SEL(d_sel), .dBusWishbone_ERR(1'b0), .dBusWishbone_CTI(d_cti), .dBusWishbone_BTE(d_bte),
        .clk(clk), .reset(rst));
    wire asks = d_cyc && d_stb;
    wire to_ram = d_adr[29:26] == 4'h4;
    wire to_system = d_adr[29:14] == 16'hf000;
    wire to_host = d_adr[29:14] == 16'hf001;
    integer k;
    always @(posedge clk)
        if (asks && to_ram && d_we)
            for (k = 0; k < 4; k = k + 1) if (d_sel[k]) ram[d_adr[ADDRESS_BITS-1:0]][8*k +: 8] <= d_out[8*k +: 8];
    always @(posedge clk) begin
        cycle <= cycle + 1;
        if (asks && to_host && d_we && !rst)
            case (d_adr[3:0])
                4'd1: $write("%c", d_out[7:0]);
                4'd2: begin
                    $write("exit %0d\n", d_out);
                    $finish;
                end
                4'd3: $write("%08x", d_out);
                default: ;
            endcase
        if (cycle >= limit) begin
            $write("exit limit\n");
            $finish;
        end
    end

    // -- registers of the system -------------------------------------------------------------------------------------
    // A write is on the bus until its response, a read until its answer.
    wire awready, wready, bvalid, arready, rvalid;
    wire [1:0] bresp, rresp;
    wire [31:0] rdata;
    reg sent;
    wire writes = asks && to_system && d_we;
    wire reads = asks && to_system && !d_we;
    always @(posedge clk)
        if (rst) sent <= 1'b0;
        else if (writes) sent <= bvalid ? 1'b0 : sent || awready;
        else if (reads) sent <= rvalid ? 1'b0 : sent || arready;
    assign d_ack = to_system ? (writes && bvalid && sent) || (reads && rvalid && sent) : asks;
    always @(posedge clk)
        if (traces && d_ack && asks && to_system)
            $write("@%0d %s %03x %08x\n", cycle, d_we ? "w" : "r", {d_adr[9:0], 2'b00}, d_we ? d_out : rdata);
    assign d_in = to_system ? rdata : to_host ? cycle[31:0] : ram[d_adr[ADDRESS_BITS-1:0]];

    // -- memory behind the system's bus ------------------------------------------------------------------------------
    wire arvalid, awvalid, wvalid, wlast, bready, rready;
    wire [31:0] araddr, awaddr, wdata;
    wire [7:0] arlen, awlen;
    wire [3:0] wstrb;
    wire [2:0] arsize, awsize;
    wire [1:0] arburst, awburst;
    wire arid, awid;
    reg r_active, w_active, b_active, w_wrong;
    reg [31:0] r_at, w_at;
    reg [7:0] r_left;
    wire r_last = r_left == 0;
    wire m_rvalid = r_active && !hangs;
    wire m_arready = (!r_active || (r_last && rready)) && !hangs;
    wire r_wrong = (r_at >= error_low && r_at <= error_high) || r_at[31:28] != 4'h4;
    wire m_awready = !w_active && !b_active && !hangs;
    wire m_wready = w_active && !hangs;
    wire is_wrong = (w_at >= error_low && w_at <= error_high) || w_at[31:28] != 4'h4;
    integer j;
    always @(posedge clk)
        if (rst || system_rst) begin
            r_active <= 1'b0;
            w_active <= 1'b0;
            b_active <= 1'b0;
        end else begin
            if (arvalid && m_arready) begin
                r_active <= 1'b1;
                r_at <= araddr;
                r_left <= arlen;
            end else if (m_rvalid && rready) begin
                r_active <= !r_last;
                r_at <= r_at + 4;
                r_left <= r_left - 1;
            end
            if (awvalid && m_awready) begin
                w_active <= 1'b1;
                w_at <= awaddr;
                w_wrong <= 1'b0;
            end
            if (wvalid && m_wready) begin
                if (is_wrong) w_wrong <= 1'b1;
                else for (j = 0; j < 4; j = j + 1) if (wstrb[j]) ram[w_at[ADDRESS_BITS+1:2]][8*j +: 8] <= wdata[8*j +: 8];
                w_at <= w_at + 4;
                if (wlast) begin
                    w_active <= 1'b0;
                    b_active <= 1'b1;
                end
            end
            if (b_active && bready && !hangs) b_active <= 1'b0;
        end
    wire system_rst = rst || cycle == reset_at;
    gridloom_system system (
        .clk(clk), .rst(system_rst), .irq(irq),
        .s_axi_awaddr({d_adr[9:0], 2'b00}), .s_axi_awprot(3'd0), .s_axi_awvalid(writes && !sent), .s_axi_awready(awready),
        .s_axi_wdata(d_out), .s_axi_wstrb(d_sel), .s_axi_wvalid(writes && !sent), .s_axi_wready(wready),
        .s_axi_bresp(bresp), .s_axi_bvalid(bvalid), .s_axi_bready(1'b1),
        .s_axi_araddr({d_adr[9:0], 2'b00}), .s_axi_arprot(3'd0), .s_axi_arvalid(reads && !sent), .s_axi_arready(arready),
        .s_axi_rdata(rdata), .s_axi_rresp(rresp), .s_axi_rvalid(rvalid), .s_axi_rready(1'b1),
        .m_axi_awid(awid), .m_axi_awaddr(awaddr), .m_axi_awlen(awlen), .m_axi_awsize(awsize), .m_axi_awburst(awburst),
        .m_axi_awvalid(awvalid), .m_axi_awready(m_awready), .m_axi_wdata(wdata), .m_axi_wstrb(wstrb),
        .m_axi_wlast(wlast), .m_axi_wvalid(wvalid), .m_axi_wready(m_wready), .m_axi_bid(1'b0),
        .m_axi_bresp({w_wrong, 1'b0}), .m_axi_bvalid(b_active && !hangs), .m_axi_bready(bready),
        .m_axi_arid(arid), .m_axi_araddr(araddr), .m_axi_arlen(arlen), .m_axi_arsize(arsize), .m_axi_arburst(arburst),
        .m_axi_arvalid(arvalid), .m_axi_arready(m_arready), .m_axi_rid(1'b0),
        .m_axi_rdata(ram[r_at[ADDRESS_BITS+1:2]]), .m_axi_rresp({r_wrong, 1'b0}), .m_axi_rlast(r_last),
        .m_axi_rvalid(m_rvalid), .m_axi_rready(rready));
    wire unused = &{1'b0, i_we, i_out, i_sel, i_cti, i_bte, d_cti, d_bte, wready, bresp, rresp, awlen, arsize, awsize,
                    arburst, awburst, arid, awid, i_adr, d_adr};
endmodule
