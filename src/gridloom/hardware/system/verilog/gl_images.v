// Configuration images in 2^BANK_BITS banks. An image arrives as a stream of words, in any bank, while the array runs
// with another one; it is valid when its magic number, version, array, length and checksum are right. Otherwise its bank
// stays empty and `fault` says why for one cycle. Rows of 64 bits are read one per cycle: `row` is there in the cycle
// after `row_address`.
module gl_images #(
    parameter BANK_BITS = 1, ROW_BITS = 9, ARRAY = 0, VERSION = 1, MAGIC = 32'h4D494C47
) (
    input  wire clk, rst, stop,
    input  wire start,
    input  wire [BANK_BITS-1:0] start_bank,
    input  wire [31:0] start_words,
    input  wire arrives,
    input  wire [31:0] word,
    output reg  loading,
    output reg  [3:0] fault,
    output reg  [(1<<BANK_BITS)-1:0] valid,
    input  wire [BANK_BITS-1:0] bank,
    input  wire [ROW_BITS-1:0] row_address,
    output reg  [63:0] row,
    output wire [15:0] packets, entries, selectors, ii, length
);
    localparam [3:0] WRONG_MAGIC = 4'd4, WRONG_VERSION = 4'd5, WRONG_ARRAY = 4'd6, WRONG_LENGTH = 4'd7,
                     WRONG_CHECKSUM = 4'd8;
    reg [63:0] rows [0:(1<<(BANK_BITS+ROW_BITS))-1];
    reg [79:0] headers [0:(1<<BANK_BITS)-1];
    assign {packets, entries, selectors, ii, length} = headers[bank];
    always @(posedge clk) row <= rows[{bank, row_address}];

    reg [BANK_BITS-1:0] target;
    reg [31:0] expected, position, first_sum, second_sum, low;
    reg [79:0] header;
    reg wrong;
    wire [31:0] next_first = first_sum + word;
    wire [31:0] next_second = second_sum + next_first;
    wire [31:0] behind = expected - position;
    wire [31:0] payload = position - 32'd8;
    wire last = behind == 32'd1;
    wire too_long = |payload[31:ROW_BITS+1];
    // Rows follow the header of eight words; the two sums are the last words.
    wire writes = arrives && loading && position >= 32'd8 && behind > 32'd2 && payload[0] && !too_long && !wrong;
    always @(posedge clk) if (writes) rows[{target, payload[ROW_BITS:1]}] <= {word, low};
    wire [31:0] needed = 32'd10 + {15'd0, header[79:64], 1'b0} + {14'd0, header[63:48], 2'b00}
                         + {15'd0, header[47:32], 1'b0};
    reg [3:0] found;
    always @* begin
        found = 4'd0;
        case (position)
            32'd0: if (word != MAGIC) found = WRONG_MAGIC;
            32'd1: if (word != VERSION) found = WRONG_VERSION;
            32'd2: if (word != ARRAY) found = WRONG_ARRAY;
            32'd3: if (word != expected) found = WRONG_LENGTH;
            32'd7: if (needed != expected) found = WRONG_LENGTH;
            default:
                if (behind > 32'd2) begin
                    if (position >= 32'd8 && too_long) found = WRONG_LENGTH;
                end else if (behind == 32'd2) begin
                    if (word != first_sum) found = WRONG_CHECKSUM;
                end else if (word != second_sum) found = WRONG_CHECKSUM;
        endcase
    end
    always @(posedge clk) begin
        fault <= 4'd0;
        if (arrives && loading) begin
            position <= position + 32'd1;
            low <= word;
            if (behind > 32'd2) begin
                first_sum <= next_first;
                second_sum <= next_second;
            end
            if (position == 32'd4) header[79:48] <= {word[15:0], word[31:16]};
            if (position == 32'd5) header[31:0] <= {word[15:0], word[31:16]};
            if (position == 32'd6) header[47:32] <= word[15:0];
        end
        if (rst) begin
            loading <= 1'b0;
            valid <= 0;
            wrong <= 1'b0;
        end else if (stop) loading <= 1'b0;
        else if (start) begin
            // An image of fewer words has no room for a header and a checksum.
            loading <= start_words >= 32'd10;
            if (start_words < 32'd10) fault <= WRONG_LENGTH;
            target <= start_bank;
            valid[start_bank] <= 1'b0;
            expected <= start_words;
            position <= 0;
            first_sum <= 0;
            second_sum <= 0;
            wrong <= 1'b0;
        end else if (arrives && loading) begin
            if (found != 0 && !wrong) begin
                fault <= found;
                wrong <= 1'b1;
            end
            if (last) begin
                loading <= 1'b0;
                valid[target] <= !wrong && found == 0;
                headers[target] <= header;
            end
        end
    end
endmodule
