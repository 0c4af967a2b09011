// Runs a program on the controller, the cells and the data buses of OpenEdgeCGRA, without its peripheral registers and
// context memory. PE r,c has its words from 128 * r + c * LENGTH on. The memory grants every request
// at once (+grant=0), one per clock (+grant=1), or at random (+grant=2).
module openedge_bench;
  import cgra_pkg::*;
  localparam BYTES = 1 << 19;

  logic clk = 0, rst_n = 0;
  always #5 clk = ~clk;

  logic [31:0] words[512];
  logic [31:0] memory[BYTES / 4];
  logic [31:0] pointers[8];
  int length, grant, clocks = 0, seed = 1;

  logic [3:0] request = 0, stall, br_req, rc_stall, exec_end, conf_we, conf_re, pc_e, col_e, rst_col, conf_ack, start;
  logic [3:0] map[0:3], acc_end, rcs_req, rcs_wen, rcs_ind, gnt_s, rvalid_s, bus_req, bus_wen, bus_gnt, bus_valid = 0;
  logic [RCS_NUM_CREG_LOG2-1:0] br_add[0:3], pc[0:3];
  logic [IMEM_N_LINES_LOG2-1:0] imem_add;
  logic conf_req, conf_valid = 0, ack;
  logic [31:0] conf_words[0:3], add[0:3], wdata[0:3], rdata_s[0:3], rd_ptr[0:3], wr_ptr[0:3];
  logic [31:0] bus_add[0:3], bus_wdata[0:3], bus_rdata[0:3];
  logic [3:0] bus_be[0:3];
  logic [RC_CONST_WIDTH-1:0] inc[0:3];
  logic [KMEM_WIDTH-1:0] kernel;
  assign kernel = {4'b1111, {IMEM_N_LINES_LOG2{1'b0}}, RCS_NUM_CREG_LOG2'(length - 1)};

  cgra_controller controller (
    .clk_i(clk), .rst_ni(rst_n), .acc_req_i(request), .imem_gnt_ctrl_i(conf_req), .imem_rvalid_ctrl_i(conf_valid),
    .kmem_rdata_i(kernel), .ker_id_req_i('d1), .data_stall_i(stall), .rcs_br_req_i(br_req), .rcs_br_add_i(br_add),
    .rcs_stall_i(rc_stall), .rcs_exec_end_i(exec_end), .rcs_conf_we_o(conf_we), .rcs_conf_re_o(conf_re),
    .rcs_pc_e_o(pc_e), .rcs_pc_o(pc), .col_e_o(col_e), .rcs_rst_col_o(rst_col), .rcs_conf_ack_o(conf_ack),
    .imem_radd_o(imem_add), .rcs_conf_req_o(conf_req), .col_start_o(start), .acc_ack_o(ack), .acc_end_o(acc_end));
  cgra_rcs cells (
    .clk_i({4{clk}}), .rst_col_i(rst_col), .rcs_conf_we_i(conf_we), .rcs_conf_re_i(conf_re), .rcs_col_pc_i(pc),
    .rcs_conf_words_i(conf_words), .rcs_pc_e_i(pc_e), .data_rdata_i(rdata_s), .data_gnt_i(gnt_s),
    .data_rvalid_i(rvalid_s), .col_acc_map_i(map), .data_req_o(rcs_req), .data_wen_o(rcs_wen), .data_ind_o(rcs_ind),
    .data_add_o(add), .data_wdata_o(wdata), .add_inc_o(inc), .rcs_br_req_o(br_req), .rcs_br_add_o(br_add),
    .rcs_stall_o(rc_stall), .exec_end_o(exec_end));
  data_bus_handler buses (
    .clk_i(clk), .rst_ni(rst_n), .rcs_data_req_i(rcs_req), .rcs_data_wen_i(rcs_wen), .rcs_data_ind_i(rcs_ind),
    .rcs_data_add_i(add), .rcs_data_wdata_i(wdata), .rcs_add_inc_i(inc), .rd_ptr_i(rd_ptr), .wr_ptr_i(wr_ptr),
    .bus_data_gnt_i(bus_gnt), .bus_data_rdata_i(bus_rdata), .bus_r_valid_i(bus_valid), .col_start_i(start),
    .col_conf_ack_i(conf_ack), .col_acc_map_i(map), .bus_data_req_o(bus_req), .bus_data_add_o(bus_add),
    .bus_data_wen_o(bus_wen), .bus_data_be_o(bus_be), .bus_data_wdata_o(bus_wdata), .rcs_data_rdata_o(rdata_s),
    .rcs_data_gnt_o(gnt_s), .rcs_data_rvalid_o(rvalid_s), .data_stall_o(stall));

  logic [3:0] allowed = 4'b1111;
  always_comb begin
    bus_gnt = bus_req & allowed;
    if (grant == 1) begin
      bus_gnt = 0;
      for (int c = 3; c >= 0; c--) if (bus_req[c]) bus_gnt = 4'b1 << c;
    end
  end

  always_ff @(posedge clk) begin
    conf_valid <= conf_req;
    for (int r = 0; r < 4; r++) conf_words[r] <= words[128 * r + imem_add];
    allowed <= grant == 2 ? 4'($random(seed)) : 4'b1111;
    for (int c = 0; c < 4; c++) begin
      bus_valid[c] <= bus_gnt[c] & bus_req[c];
      if (bus_gnt[c] && bus_req[c]) begin
        bus_rdata[c] <= memory[bus_add[c][18:2]];
        if (!bus_wen[c]) memory[bus_add[c][18:2]] <= bus_wdata[c];
      end
    end
    if (ack) request <= 0;
    if (rst_n && conf_re != 0) clocks <= clocks + 1;
  end

  initial begin
    void'($value$plusargs("length=%d", length));
    void'($value$plusargs("grant=%d", grant));
    $readmemh("words.hex", words);
    $readmemh("memory.hex", memory);
    $readmemh("pointers.hex", pointers);
    for (int c = 0; c < 4; c++) begin
      map[c] = 4'b1111;
      rd_ptr[c] = pointers[c];
      wr_ptr[c] = pointers[4 + c];
    end
    repeat (4) @(posedge clk);
    rst_n <= 1;
    repeat (4) @(posedge clk);
    request <= 4'b1111;
    fork
      begin
        wait (acc_end != 0);
        repeat (8) @(posedge clk);
        $display("clocks %0d", clocks);
      end
      begin
        repeat (100000) @(posedge clk);
        $display("no end");
      end
    join_any
    $writememh("found.hex", memory);
    $finish;
  end
endmodule

// A wire, which the multiplier of the cells has for each bit of an operand.
module read (input logic d_i, output logic d_o);
  assign d_o = d_i;
endmodule
