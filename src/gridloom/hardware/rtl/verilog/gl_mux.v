// A multiplexer: `select` names one of N words of `sources` (word 0 is the lowest). What a number of N or more selects is
// not defined. On an ECP5 the LUTs of a slice are joined by the multiplexers behind them (PFUMX, L6MUX21): then a bit
// of eight words takes four LUTs and a single level, where a synthesiser of LUTs alone takes seven or more.
module gl_mux #(
    parameter W = 32, N = 2, SELECT_BITS = 1
) (
    input  wire [N*W-1:0] sources,
    input  wire [SELECT_BITS-1:0] select,
    output wire [W-1:0] chosen
);
`ifdef GRIDLOOM_ECP5
    localparam BLOCKS = (N + 7) / 8;
    genvar k, p;
    generate
        if (N > 5 && SELECT_BITS > 3) begin : blocks
            wire [BLOCKS*W-1:0] parts;
            for (k = 0; k < BLOCKS; k = k + 1) begin : block
                localparam SIZE = N - 8 * k > 8 ? 8 : N - 8 * k;
                localparam BITS = SIZE > 2 ? $clog2(SIZE) : 1;
                gl_mux #(.W(W), .N(SIZE), .SELECT_BITS(BITS)) part (
                    .sources(sources[8*k*W +: SIZE*W]), .select(select[BITS-1:0]), .chosen(parts[k*W +: W]));
            end
            gl_mux #(.W(W), .N(BLOCKS), .SELECT_BITS(SELECT_BITS - 3)) whole (
                .sources(parts), .select(select[SELECT_BITS-1:3]), .chosen(chosen));
        end else if (N > 5) begin : eight
            for (k = 0; k < W; k = k + 1) begin : column
                wire [3:0] pair;
                wire [1:0] four;
                for (p = 0; p < 4; p = p + 1) begin : leaf
                    LUT4 #(.INIT(16'hCACA)) lut (.A(sources[(2*p < N ? 2*p : N-1)*W + k]), .C(select[0]), .D(1'b0),
                        .B(sources[(2*p + 1 < N ? 2*p + 1 : N-1)*W + k]), .Z(pair[p]));
                end
                PFUMX low (.BLUT(pair[0]), .ALUT(pair[1]), .C0(select[1]), .Z(four[0]));
                PFUMX high (.BLUT(pair[2]), .ALUT(pair[3]), .C0(select[1]), .Z(four[1]));
                L6MUX21 both (.D0(four[0]), .D1(four[1]), .SD(select[2]), .Z(chosen[k]));
            end
        end else if (N > 3) begin : few
            wire [W-1:0] four;
            for (k = 0; k < W; k = k + 1) begin : column
                wire [1:0] pair;
                for (p = 0; p < 2; p = p + 1) begin : leaf
                    LUT4 #(.INIT(16'hCACA)) lut (.A(sources[2*p*W + k]), .B(sources[(2*p+1)*W + k]), .C(select[0]),
                        .D(1'b0), .Z(pair[p]));
                end
                PFUMX both (.BLUT(pair[0]), .ALUT(pair[1]), .C0(select[1]), .Z(four[k]));
            end
            if (N == 5) begin : fifth
                assign chosen = select[2] ? sources[4*W +: W] : four;
            end else begin : whole
                assign chosen = four;
            end
        end else if (N == 3) begin : three
            assign chosen = select[1] ? sources[2*W +: W] : select[0] ? sources[W +: W] : sources[W-1:0];
        end else begin : two
            assign chosen = select[0] ? sources[(N-1)*W +: W] : sources[W-1:0];
        end
    endgenerate
`else
    reg [W-1:0] found;
    integer k;
    always @* begin
        found = sources[W-1:0];
        for (k = 1; k < N; k = k + 1)
            if (select == k[SELECT_BITS-1:0]) found = sources[k*W +: W];
    end
    assign chosen = found;
`endif
endmodule
