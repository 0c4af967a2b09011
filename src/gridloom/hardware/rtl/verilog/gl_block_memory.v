// Data memory of PORTS ports in the block RAM of an FPGA, whose blocks have one port to write and one to read. Port p
// writes blocks of its own, one for each port that reads them, such that a word of memory is the XOR of what the blocks
// of all ports hold at its address: a store writes the word XOR what the others hold there. With SYNCHRONOUS a load
// answers in the next cycle and a store may follow in each; otherwise blocks are read on the falling edge, a load answers
// in the same cycle, and half of the cycle is left for the way to the memory and half for the way back.
module gl_block_memory #(
    parameter W = 32, PORTS = 1, ADDRESS_BITS = 10, SYNCHRONOUS = 1
) (
    input  wire clk,
    input  wire [PORTS-1:0] store,
    input  wire [PORTS*ADDRESS_BITS-1:0] address,
    input  wire [PORTS*W-1:0] word,
    output wire [PORTS*W-1:0] loaded
);
    // For each port what is written, and where, at the end of this cycle.
    wire [PORTS-1:0] writes;
    wire [PORTS*ADDRESS_BITS-1:0] places;
    wire [PORTS*W-1:0] written;
    // What port r reads in the blocks that port p writes: entry p * PORTS + r.
    wire [PORTS*PORTS*W-1:0] seen;
    genvar p, r;
    generate
        for (p = 0; p < PORTS; p = p + 1) begin : writer
            for (r = 0; r < PORTS; r = r + 1) begin : reader
                (* ram_style = "block" *) reg [W-1:0] words [0:(1<<ADDRESS_BITS)-1];
                integer k;
                initial for (k = 0; k < 1 << ADDRESS_BITS; k = k + 1) words[k] = 0;
                wire [ADDRESS_BITS-1:0] from = address[r*ADDRESS_BITS +: ADDRESS_BITS];
                reg [W-1:0] answer;
                always @(posedge clk) if (writes[p]) words[places[p*ADDRESS_BITS +: ADDRESS_BITS]] <= written[p*W +: W];
                if (SYNCHRONOUS != 0) begin : later
                    // A word that is written at the same edge is handed on beside the block.
                    reg [W-1:0] fresh;
                    reg hit;
                    always @(posedge clk) begin
                        answer <= words[from];
                        hit <= writes[p] && places[p*ADDRESS_BITS +: ADDRESS_BITS] == from;
                        fresh <= written[p*W +: W];
                    end
                    assign seen[(p*PORTS+r)*W +: W] = hit ? fresh : answer;
                end else begin : at_once
                    always @(negedge clk) answer <= words[from];
                    assign seen[(p*PORTS+r)*W +: W] = answer;
                end
            end
        end
        for (r = 0; r < PORTS; r = r + 1) begin : port
            // What the blocks of the other ports hold at the port's address, and with the port's own the word there.
            reg [W-1:0] others;
            integer q;
            always @* begin
                others = {W{1'b0}};
                for (q = 0; q < PORTS; q = q + 1) if (q != r) others = others ^ seen[(q*PORTS+r)*W +: W];
            end
            wire [W-1:0] whole = others ^ seen[(r*PORTS+r)*W +: W];
            assign loaded[r*W +: W] = whole;
            if (SYNCHRONOUS != 0) begin : later
                reg stores;
                reg [ADDRESS_BITS-1:0] place;
                reg [W-1:0] kept;
                always @(posedge clk) begin
                    stores <= store[r];
                    place <= address[r*ADDRESS_BITS +: ADDRESS_BITS];
                    kept <= word[r*W +: W];
                end
                assign writes[r] = stores;
                assign places[r*ADDRESS_BITS +: ADDRESS_BITS] = place;
                assign written[r*W +: W] = kept ^ others;
            end else begin : at_once
                assign writes[r] = store[r];
                assign places[r*ADDRESS_BITS +: ADDRESS_BITS] = address[r*ADDRESS_BITS +: ADDRESS_BITS];
                assign written[r*W +: W] = word[r*W +: W] ^ others;
            end
        end
    endgenerate
endmodule
