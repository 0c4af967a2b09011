// The address of the next elements of a 2D pattern: `rows` rows of `count` elements, `stride` bytes from one element to
// the next and `row_stride` bytes from one row to the next. `burst` says how many elements the next burst takes: as many
// as lie side by side, up to BURST and up to the next 4 KB; one where the stride is not the size of an element. The
// pattern is taken over at `start`: its registers may change while it is under way.
module gl_pattern #(
    parameter BURST = 16
) (
    input  wire clk, rst, start, stop, take,
    input  wire [31:0] address, count, stride, rows, row_stride,
    input  wire [2:0] format,
    output reg  active,
    output reg  [31:0] at,
    output reg  [4:0] burst,
    output reg  [2:0] kind
);
    reg [31:0] left, rows_left, row, row_count, step, row_step;
    wire [1:0] size = kind[1:0];
    wire [31:0] width = 32'd1 << size;
    wire [31:0] to_page = {19'd0, 13'd4096 - {1'b0, at[11:0]}} >> size;
    always @* begin
        burst = BURST[4:0];
        if (left < {27'd0, burst}) burst = left[4:0];
        if (to_page < {27'd0, burst}) burst = to_page[4:0];
        if (step != width) burst = 5'd1;
    end
    wire [31:0] taken = {27'd0, burst};
    always @(posedge clk)
        if (rst || stop) active <= 1'b0;
        else if (start) begin
            active <= count != 0 && rows != 0;
            at <= address;
            row <= address;
            left <= count;
            rows_left <= rows;
            row_count <= count;
            step <= stride;
            row_step <= row_stride;
            kind <= format;
        end else if (take) begin
            if (left == taken) begin
                active <= rows_left != 32'd1;
                rows_left <= rows_left - 32'd1;
                row <= row + row_step;
                at <= row + row_step;
                left <= row_count;
            end else begin
                left <= left - taken;
                at <= at + (step == width ? taken << size : step);
            end
        end
endmodule
