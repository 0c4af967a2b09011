// Register file. Register k takes word k of `words` where `write[k]` is set. Otherwise it keeps its value or, when
// `turn_round` is set, the first `rotating` registers rotate: k takes the value of k + 1, the last one that of 0.
module gl_registers #(
    parameter W = 32, REGS = 4, COUNT_BITS = 3, OFFSET_BITS = 8, CHUNK = 32
) (
    input  wire clk,
    // Values before the first cycle, written through the configuration chain. The offset is the number of the register;
    // of words that are longer than CHUNK the part comes above it.
    input  wire preset,
    input  wire [OFFSET_BITS-1:0] offset,
    input  wire [CHUNK-1:0] data,
    input  wire turn_round,
    input  wire [COUNT_BITS-1:0] rotating,
    input  wire [REGS-1:0] write,
    input  wire [REGS*W-1:0] words,
    output reg  [REGS*W-1:0] held
);
    localparam [31:0] SPAN = REGS > 1 ? 32'd1 << $clog2(REGS) : 32'd2;
    wire [31:0] place = {{(32-OFFSET_BITS){1'b0}}, offset};
    integer k, n;
    always @(posedge clk)
        for (k = 0; k < REGS; k = k + 1) begin
            if (write[k]) held[k*W +: W] <= words[k*W +: W];
            else if (preset && place % SPAN == $unsigned(k)) begin
                for (n = 0; n < W; n = n + 1)
                    if (place / SPAN == $unsigned(n / CHUNK)) held[k*W + n] <= data[n % CHUNK];
            end
            else if (turn_round && k[COUNT_BITS-1:0] < rotating)
                held[k*W +: W] <= (k == REGS - 1 || k[COUNT_BITS-1:0] + 1'b1 == rotating)
                    ? held[W-1:0] : held[((k + 1) % REGS)*W +: W];
        end
    wire unused = &{1'b0, data};
endmodule
