// The sum of two words (`combines`), their difference a - b (`combines` and `subtracts`), or a itself. `carry` is the bit
// above the result; of a difference it is 0 where a < b without signs. On an ECP5 the LUTs before the carry chain choose
// between the three, so that a bit takes half a cell CCU2C and nothing else.
module gl_adder #(
    parameter W = 32
) (
    input  wire combines, subtracts,
    input  wire [W-1:0] a, b,
    output wire [W-1:0] sum,
    output wire carry
);
`ifdef GRIDLOOM_ECP5
    // Bit 0 makes the carry into the others, and bits above the words show the carry out of them.
    localparam CELLS = (W + 3) / 2;
    wire [2*CELLS-1:0] left = {{(2*CELLS-W-1){1'b0}}, a, subtracts};
    wire [2*CELLS-1:0] right = {{(2*CELLS-W-1){1'b0}}, b, subtracts};
    wire [2*CELLS-1:0] enable = {{(2*CELLS-W-1){1'b1}}, {W{combines}}, 1'b1};
    wire [2*CELLS-1:0] negate = {{(2*CELLS-W-1){1'b0}}, {W{subtracts}}, 1'b0};
    wire [2*CELLS-1:0] total;
    wire [CELLS:0] carries;
    assign carries[0] = 1'b0;
    genvar k;
    generate
        for (k = 0; k < CELLS; k = k + 1) begin : pair
            // With D a bit is A ^ B ^ C ^ carry, otherwise A ^ carry; where it does not hand the carry on, the carry is A.
            CCU2C #(.INIT0(16'h96AA), .INIT1(16'h96AA), .INJECT1_0("NO"), .INJECT1_1("NO")) bits (
                .CIN(carries[k]), .COUT(carries[k+1]),
                .A0(left[2*k]), .B0(right[2*k]), .C0(negate[2*k]), .D0(enable[2*k]), .S0(total[2*k]),
                .A1(left[2*k+1]), .B1(right[2*k+1]), .C1(negate[2*k+1]), .D1(enable[2*k+1]), .S1(total[2*k+1]));
        end
    endgenerate
    assign {carry, sum} = total[W+1:1];
`else
    // The lowest bit makes the carry into the others.
    wire [W-1:0] second = !combines ? {W{1'b0}} : subtracts ? ~b : b;
    wire [W+1:0] total = {1'b0, a, 1'b1} + {1'b0, second, subtracts};
    assign {carry, sum} = total[W+1:1];
    wire unused = total[0];
`endif
endmodule
