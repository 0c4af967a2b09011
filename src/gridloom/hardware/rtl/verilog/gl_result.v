// The way of results to the output register, which keeps its value until the next write. PORTS parts of the function
// unit deliver results, each in a cycle of its own; a word that comes through port p reaches the output register
// 1 + `latency` cycles later, and waits in LATENCY - 1 stages until then. `done` and `done_word` say what the output
// register (and any register that takes it) will hold in the next cycle.
module gl_result #(
    parameter W = 32, PORTS = 1, LATENCY = 1, LATENCY_BITS = 1
) (
    input  wire clk, rst,
    input  wire [PORTS-1:0] write,
    input  wire [PORTS*LATENCY_BITS-1:0] latency,
    input  wire [PORTS*W-1:0] words,
    output wire done,
    output wire [W-1:0] done_word,
    output reg  [W-1:0] out
);
    // A word in stage k reaches the output register k + 1 cycles from now; stage LATENCY - 1 is not there.
    wire [LATENCY-1:0] full;
    wire [LATENCY*W-1:0] held;
    assign full[LATENCY-1] = 1'b0;
    assign held[(LATENCY-1)*W +: W] = {W{1'b0}};
    // What has k cycles left before it is done: the word of stage k, or one from a port.
    reg [LATENCY-1:0] enters;
    reg [LATENCY*W-1:0] entry;
    integer k, p;
    always @* begin
        enters = {LATENCY{1'b0}};
        for (k = 0; k < LATENCY; k = k + 1) begin
            // With one port the word needs no choice where nothing waits.
            entry[k*W +: W] = words[W-1:0];
            for (p = 0; p < PORTS; p = p + 1)
                if (write[p] && (LATENCY == 1 || {{(32-LATENCY_BITS){1'b0}}, latency[p*LATENCY_BITS +: LATENCY_BITS]}
                                 == $unsigned(k))) begin
                    enters[k] = 1'b1;
                    if (p > 0) entry[k*W +: W] = words[p*W +: W];
                end
            if (full[k]) begin
                enters[k] = 1'b1;
                entry[k*W +: W] = held[k*W +: W];
            end
        end
    end
    genvar s;
    generate
        for (s = 0; s < LATENCY - 1; s = s + 1) begin : stage
            reg valid;
            reg [W-1:0] word;
            always @(posedge clk) begin
                valid <= enters[s+1] && !rst;
                word <= entry[(s+1)*W +: W];
            end
            assign full[s] = valid;
            assign held[s*W +: W] = word;
        end
    endgenerate
    assign done = enters[0];
    assign done_word = entry[W-1:0];
    always @(posedge clk) if (done) out <= done_word;
    wire unused = &{1'b0, rst, latency};
endmodule
