// One link of the configuration chain. It hands every packet on to the next unit one cycle later, and it takes the
// packets that carry its own number. A packet is {unit, region, offset, data}, highest bits first.
module gl_config_port #(
    parameter ID_BITS = 8, OFFSET_BITS = 8, CHUNK = 32
) (
    input  wire clk, rst,
    input  wire [ID_BITS-1:0] number,
    input  wire valid_in,
    input  wire [ID_BITS+2+OFFSET_BITS+CHUNK-1:0] packet_in,
    output reg  valid_out,
    output reg  [ID_BITS+2+OFFSET_BITS+CHUNK-1:0] packet_out,
    // What the unit itself takes from the chain.
    output wire write,
    output wire [1:0] region,
    output wire [OFFSET_BITS-1:0] offset,
    output wire [CHUNK-1:0] data
);
    wire [ID_BITS-1:0] unit;
    always @(posedge clk) begin
        valid_out  <= valid_in && !rst;
        packet_out <= packet_in;
    end
    assign {unit, region, offset, data} = packet_out;
    assign write = valid_out && unit == number;
endmodule
