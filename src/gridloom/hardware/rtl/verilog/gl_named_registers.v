// A register file whose registers all take the same word, in which names rotate instead of words: `places` says where the
// register of each name is in the next cycle, and `held` are the words by place. Register k takes `word` where `write[k]`
// is set. When `turn_round` is set the first `rotating` names rotate: k becomes the name of what was called k + 1, the last
// of them that of what was called 0. A register that is written in that cycle takes the word under its new name.
module gl_named_registers #(
    parameter W = 32, REGS = 4, PLACE_BITS = 2, COUNT_BITS = 3, OFFSET_BITS = 8, CHUNK = 32
) (
    input  wire clk, rst,
    // Values before the first cycle, written through the configuration chain. The offset is the number of the register;
    // of words that are longer than CHUNK the part comes above it.
    input  wire preset,
    input  wire [OFFSET_BITS-1:0] offset,
    input  wire [CHUNK-1:0] data,
    input  wire turn_round,
    input  wire [COUNT_BITS-1:0] rotating,
    input  wire [REGS-1:0] write,
    input  wire [W-1:0] word,
    output reg  [REGS*PLACE_BITS-1:0] places,
    output reg  [REGS*W-1:0] held
);
    localparam [31:0] SPAN = 32'd1 << PLACE_BITS;
    wire [31:0] target = {{(32-OFFSET_BITS){1'b0}}, offset};
    reg [REGS*PLACE_BITS-1:0] present;
    reg [REGS-1:0] taken, filled;
    integer k, n, p;
    always @* begin
        places = present;
        for (k = 0; k < REGS; k = k + 1)
            if (turn_round && k[COUNT_BITS-1:0] < rotating)
                places[k*PLACE_BITS +: PLACE_BITS] = (k == REGS - 1 || k[COUNT_BITS-1:0] + 1'b1 == rotating)
                    ? present[PLACE_BITS-1:0] : present[((k + 1) % REGS)*PLACE_BITS +: PLACE_BITS];
        taken = {REGS{1'b0}};
        filled = {REGS{1'b0}};
        for (p = 0; p < REGS; p = p + 1)
            for (k = 0; k < REGS; k = k + 1)
                if (places[k*PLACE_BITS +: PLACE_BITS] == p[PLACE_BITS-1:0]) begin
                    taken[p] = taken[p] || write[k];
                    filled[p] = filled[p] || (preset && target % SPAN == $unsigned(k));
                end
    end
    always @(posedge clk) begin
        for (k = 0; k < REGS; k = k + 1)
            present[k*PLACE_BITS +: PLACE_BITS] <= rst ? k[PLACE_BITS-1:0] : places[k*PLACE_BITS +: PLACE_BITS];
        for (p = 0; p < REGS; p = p + 1)
            for (n = 0; n < W; n = n + 1)
                if (taken[p] || (filled[p] && target / SPAN == $unsigned(n / CHUNK)))
                    held[p*W + n] <= preset ? data[n % CHUNK] : word[n];
    end
    wire unused = &{1'b0, data};
endmodule
