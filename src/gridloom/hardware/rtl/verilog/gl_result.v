// The path of a result: LATENCY - 1 stages, then the output register, which keeps its value until the next write.
// `done` and `done_word` say what the output register (and any register that takes it) will hold in the next cycle.
module gl_result #(
    parameter W = 32, LATENCY = 1, LATENCY_BITS = 1
) (
    input  wire clk, rst, write,
    input  wire [LATENCY_BITS-1:0] latency,
    input  wire [W-1:0] word,
    output wire done,
    output wire [W-1:0] done_word,
    output reg  [W-1:0] out
);
    generate
        if (LATENCY == 1) begin : direct
            assign done = write;
            assign done_word = word;
            wire unused = &{1'b0, latency, rst};
        end else begin : staged
            // Stage k is k + 1 cycles from the output register; `latency` holds cycles - 1.
            reg [LATENCY-2:0]     full;
            reg [(LATENCY-1)*W-1:0] words;
            integer k;
            always @(posedge clk) begin
                for (k = 0; k < LATENCY - 1; k = k + 1) begin
                    if (k == LATENCY - 2) begin
                        full[k] <= write && {{(32-LATENCY_BITS){1'b0}}, latency} == $unsigned(LATENCY - 1) && !rst;
                        words[k*W +: W] <= word;
                    end else begin
                        full[k] <= (full[k+1] || (write && {{(32-LATENCY_BITS){1'b0}}, latency} == $unsigned(k + 1))) && !rst;
                        words[k*W +: W] <= full[k+1] ? words[(k+1)*W +: W] : word;
                    end
                end
            end
            assign done = full[0] || (write && latency == 0);
            assign done_word = full[0] ? words[W-1:0] : word;
        end
    endgenerate
    always @(posedge clk) if (done) out <= done_word;
endmodule
