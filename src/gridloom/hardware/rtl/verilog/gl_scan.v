// A chain of INPUTS + OUTPUTS bits between a host of few wires and an array. While `shift` is high it moves by one bit
// per cycle, from `serial_in` towards `serial_out`; `capture` takes the outputs of the array into it. Its first INPUTS
// bits drive the inputs of the array when `update` has been high; they keep their values while the chain moves.
module gl_scan #(
    parameter INPUTS = 1, OUTPUTS = 1
) (
    input  wire clk, shift, capture, update, serial_in,
    input  wire [OUTPUTS-1:0] outputs,
    output reg  [INPUTS-1:0] inputs,
    output wire serial_out
);
    reg [INPUTS-1:0] coming;
    reg [OUTPUTS-1:0] leaving;
    always @(posedge clk) begin
        if (shift) coming <= {coming[INPUTS-2:0], serial_in};
        if (update) inputs <= coming;
        if (capture) leaving <= outputs;
        else if (shift) leaving <= {leaving[OUTPUTS-2:0], 1'b0};
    end
    assign serial_out = leaving[OUTPUTS-1];
endmodule
