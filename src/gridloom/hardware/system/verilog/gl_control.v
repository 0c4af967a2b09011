// The registers of the system, its errors, interrupts, counters and the limit on waiting. Addresses of registers are
// parameters, since one table of names gives them to the hardware, to the C header and to the Python driver.
//
// Live-ins, descriptors, bank, iterations and the channels to start (STREAMS) are those of the next launch. A launch that
// is asked for while another one runs waits until that one has ended and all channels are idle (`pending`); once it is
// set up, the registers may be written for the one behind it. Until then they may not.
module gl_control #(
    parameter READS = 1, WRITES = 1, LIVEINS = 32, LIVEOUTS = 1, BANK_BITS = 1, BANKS = 2,
    parameter [31:0] ID = 0, VERSION = 1, ARRAY = 0, SHAPE = 0, MEMORY = 0, TIMEOUT_RESET = 65535,
    parameter [11:0] A_ID = 0, A_VERSION = 4, A_ARRAY = 8, A_SHAPE = 12, A_MEMORY = 16, A_CONTROL = 20, A_STATUS = 24,
    parameter [11:0] A_CHANNELS = 28, A_ERROR = 32, A_IRQ_ENABLE = 36, A_IRQ = 40, A_TIMEOUT = 44, A_ITERATIONS = 48,
    parameter [11:0] A_BANK = 52, A_LAUNCH = 56, A_LOAD_ADDRESS = 60, A_LOAD_WORDS = 64, A_LOAD_BANK = 68,
    parameter [11:0] A_VALID = 72, A_START = 76, A_BUSY = 80, A_STALLED = 84, A_CONFIGURING = 88, A_LOADING = 92,
    parameter [11:0] A_MOVING = 96, A_CYCLES = 100, A_TRANSFER = 104, A_WAITING = 108, A_STREAMS = 112, A_LIVEIN = 256, A_LIVEOUT = 384, A_READ = 1024, A_WRITE = 1536
) (
    input  wire clk, rst,
    input  wire write, read,
    input  wire [11:0] write_address, read_address,
    input  wire [31:0] write_data,
    input  wire [3:0] write_lanes,
    output reg  [31:0] read_data,
    output wire write_refused, read_refused,
    output wire irq,
    // What the parts of the system are told.
    output reg  stop, launch, load,
    output reg  [31:0] iterations, load_address, load_words,
    output reg  [BANK_BITS-1:0] bank, load_bank,
    output reg  [LIVEINS*32-1:0] liveins,
    output wire [READS*32-1:0] read_at, read_count, read_stride, read_rows, read_row_stride, read_place,
    output wire [READS*3-1:0] read_format,
    output wire [WRITES*32-1:0] write_at, write_count, write_stride, write_rows, write_row_stride, write_place,
    output wire [WRITES*3-1:0] write_format,
    output reg  [READS-1:0] read_start,
    output reg  [WRITES-1:0] write_start,
    // What they tell.
    input  wire [LIVEOUTS*32-1:0] liveouts,
    input  wire [READS-1:0] read_busy,
    input  wire [WRITES-1:0] write_busy,
    input  wire [BANKS-1:0] valid,
    input  wire idle, configuring, running, stalled, finished, set_up, loading,
    input  wire read_failed, write_failed, outside, draining, progress,
    input  wire [3:0] image_fault
);
    localparam [7:0] BUS_READ = 8'd1, BUS_WRITE = 8'd2, TIMED_OUT = 8'd3, BAD_LAUNCH = 8'd9, BAD_DESCRIPTOR = 8'd10,
                     OUTSIDE = 8'd11;
    reg enabled;
    reg [7:0] error;
    reg [31:0] timeout, quiet;
    reg [3:0] irq_enable, irq_pending;
    assign irq = |(irq_pending & irq_enable);
    wire [31:0] mask = {{8{write_lanes[3]}}, {8{write_lanes[2]}}, {8{write_lanes[1]}}, {8{write_lanes[0]}}};
    wire [31:0] data = write_data & mask;

    // Seven words for each channel, then one that is not there.
    localparam READ_BITS = $clog2(READS * 8);
    localparam WRITE_BITS = $clog2(WRITES * 8);
    reg [31:0] reads [0:READS*8-1];
    reg [31:0] writes [0:WRITES*8-1];
    genvar c;
    generate
        for (c = 0; c < READS; c = c + 1) begin : read_channel
            assign read_at[c*32 +: 32] = reads[c*8];
            assign read_format[c*3 +: 3] = reads[c*8+1][2:0];
            assign read_count[c*32 +: 32] = reads[c*8+2];
            assign read_stride[c*32 +: 32] = reads[c*8+3];
            assign read_rows[c*32 +: 32] = reads[c*8+4];
            assign read_row_stride[c*32 +: 32] = reads[c*8+5];
            assign read_place[c*32 +: 32] = reads[c*8+6];
        end
        for (c = 0; c < WRITES; c = c + 1) begin : write_channel
            assign write_at[c*32 +: 32] = writes[c*8];
            assign write_format[c*3 +: 3] = writes[c*8+1][2:0];
            assign write_count[c*32 +: 32] = writes[c*8+2];
            assign write_stride[c*32 +: 32] = writes[c*8+3];
            assign write_rows[c*32 +: 32] = writes[c*8+4];
            assign write_row_stride[c*32 +: 32] = writes[c*8+5];
            assign write_place[c*32 +: 32] = writes[c*8+6];
        end
    endgenerate
    // A descriptor is wrong where its elements are not aligned to their size.
    reg [READS-1:0] read_wrong;
    reg [WRITES-1:0] write_wrong;
    integer k;
    always @* begin
        for (k = 0; k < READS; k = k + 1) read_wrong[k] = misaligned(
            reads[k*8+1][1:0], reads[k*8][1:0] | reads[k*8+3][1:0] | (reads[k*8+4] > 1 ? reads[k*8+5][1:0] : 2'd0));
        for (k = 0; k < WRITES; k = k + 1) write_wrong[k] = misaligned(
            writes[k*8+1][1:0], writes[k*8][1:0] | writes[k*8+3][1:0] | (writes[k*8+4] > 1 ? writes[k*8+5][1:0] : 2'd0));
    end
    function misaligned(input [1:0] size, input [1:0] places);
        misaligned = size == 2'd3 || (size == 2'd2 && places != 0) || (size == 2'd1 && places[0]);
    endfunction

    // -- which register an address names -----------------------------------------------------------------------------
    wire [11:0] wa = write_address;
    wire [11:0] to_livein = wa - A_LIVEIN;
    wire [11:0] to_read = wa - A_READ;
    wire [11:0] to_write = wa - A_WRITE;
    wire hits_livein = wa >= A_LIVEIN && to_livein < LIVEINS * 4;
    wire hits_read = wa >= A_READ && to_read < READS * 32 && to_read[4:2] != 3'd7;
    wire hits_write = wa >= A_WRITE && to_write < WRITES * 32 && to_write[4:2] != 3'd7;
    wire hits_plain = wa == A_CONTROL || wa == A_ERROR || wa == A_IRQ_ENABLE || wa == A_IRQ || wa == A_TIMEOUT
                      || wa == A_ITERATIONS || wa == A_BANK || wa == A_LAUNCH || wa == A_LOAD_ADDRESS
                      || wa == A_LOAD_WORDS || wa == A_LOAD_BANK || wa == A_START || wa == A_STREAMS;
    wire hits = wa[1:0] == 2'b00 && (hits_livein || hits_read || hits_write || hits_plain);
    assign write_refused = !hits;
    wire [READS-1:0] starts_read = data[READS-1:0];
    wire [WRITES-1:0] starts_write = data[16 +: WRITES];
    wire starting = write && hits && wa == A_START;
    // After a stop nothing may start before what was on the bus has ended.
    reg draining_stop;
    reg pending, given;
    reg [READS-1:0] stream_reads;
    reg [WRITES-1:0] stream_writes;
    // Whoever waits for a launch has its channels for itself.
    wire bad_start = |(starts_read & (read_busy | read_wrong)) || |(starts_write & (write_busy | write_wrong))
                     || !enabled || draining_stop || pending;
    wire launching = write && hits && wa == A_LAUNCH && data[0];
    wire bad_streams = |(stream_reads & read_wrong) || |(stream_writes & write_wrong);
    wire bad_launch = pending || !enabled || !valid[bank] || iterations == 0;
    // The launch that waits begins when nothing else is under way; its image may have been replaced meanwhile.
    wire moving = |read_busy || |write_busy || |read_start || |write_start;
    wire begins = pending && !given && idle && !launch && !moving && !draining_stop && !stop;
    wire lost = begins && !valid[bank];
    wire launches = begins && valid[bank];
    // What belongs to a launch must not change while that one waits.
    wire of_launch = hits_livein || hits_read || hits_write || wa == A_ITERATIONS || wa == A_BANK || wa == A_STREAMS;
    wire disturbs = write && hits && of_launch && pending;
    wire loads = write && hits && wa == A_LOAD_BANK;
    wire bad_load = loading || load || !enabled || draining_stop || load_address[1:0] != 0;

    wire waiting = draining || (running && stalled);
    wire timed_out = waiting && !progress && quiet >= timeout && timeout != 0;
    wire breaks = read_failed || write_failed || timed_out;
    wire [7:0] new_error = read_failed ? BUS_READ : write_failed ? BUS_WRITE : timed_out ? TIMED_OUT
                           : outside ? OUTSIDE : image_fault != 0 ? {4'd0, image_fault}
                           : (launching && bad_launch) || (loads && bad_load) || lost || disturbs ? BAD_LAUNCH
                           : (starting && bad_start) || (launching && bad_streams) ? BAD_DESCRIPTOR : 8'd0;
    reg was_loading, was_moving;
    integer r;
    always @(posedge clk) begin
        launch <= launches && !rst;
        load <= loads && !bad_load && !rst;
        read_start <= rst ? {READS{1'b0}} : launches ? stream_reads : starting && !bad_start ? starts_read : {READS{1'b0}};
        write_start <= rst ? {WRITES{1'b0}} : launches ? stream_writes
                       : starting && !bad_start ? starts_write : {WRITES{1'b0}};
        stop <= !rst && ((breaks && error == 0) || (write && hits && wa == A_CONTROL && data[2]));
        was_loading <= loading;
        was_moving <= moving;
        if (rst) begin
            enabled <= 1'b0;
            error <= 8'd0;
            timeout <= TIMEOUT_RESET;
            quiet <= 0;
            irq_enable <= 0;
            irq_pending <= 0;
            iterations <= 0;
            bank <= 0;
            load_address <= 0;
            load_words <= 0;
            load_bank <= 0;
            draining_stop <= 1'b0;
            pending <= 1'b0;
            given <= 1'b0;
            stream_reads <= 0;
            stream_writes <= 0;
            for (r = 0; r < READS * 8; r = r + 1) reads[r] <= 0;
            for (r = 0; r < WRITES * 8; r = r + 1) writes[r] <= 0;
            liveins <= 0;
        end else begin
            quiet <= !waiting || progress ? 32'd0 : quiet + 32'd1;
            draining_stop <= stop || (draining_stop && draining);
            if (stop || lost || (given && set_up)) {pending, given} <= 2'b00;
            else if (launches) given <= 1'b1;
            else if (launching && !bad_launch && !bad_streams) pending <= 1'b1;
            if (write && hits && wa == A_ERROR) error <= 8'd0;
            else if (error == 0) error <= new_error;
            irq_pending <= (irq_pending & ~(write && hits && wa == A_IRQ ? data[3:0] : 4'd0))
                           | {error == 0 && new_error != 0, was_moving && !moving, was_loading && !loading, finished};
            if (write && hits && !disturbs) begin
                if (wa == A_CONTROL && write_lanes[0]) enabled <= data[0];
                if (wa == A_IRQ_ENABLE) irq_enable <= (irq_enable & ~mask[3:0]) | data[3:0];
                if (wa == A_TIMEOUT) timeout <= (timeout & ~mask) | data;
                if (wa == A_ITERATIONS) iterations <= (iterations & ~mask) | data;
                if (wa == A_BANK && write_lanes[0]) bank <= data[BANK_BITS-1:0];
                if (wa == A_STREAMS) begin
                    stream_reads <= (stream_reads & ~mask[READS-1:0]) | data[READS-1:0];
                    stream_writes <= (stream_writes & ~mask[16 +: WRITES]) | data[16 +: WRITES];
                end
                if (wa == A_LOAD_ADDRESS) load_address <= (load_address & ~mask) | data;
                if (wa == A_LOAD_WORDS) load_words <= (load_words & ~mask) | data;
                if (wa == A_LOAD_BANK && write_lanes[0]) load_bank <= data[BANK_BITS-1:0];
                if (hits_livein)
                    liveins[to_livein[11:2]*32 +: 32] <= (liveins[to_livein[11:2]*32 +: 32] & ~mask) | data;
                if (hits_read) reads[to_read[READ_BITS+1:2]] <= (reads[to_read[READ_BITS+1:2]] & ~mask) | data;
                if (hits_write) writes[to_write[WRITE_BITS+1:2]] <= (writes[to_write[WRITE_BITS+1:2]] & ~mask) | data;
            end
        end
    end

    // -- counters ----------------------------------------------------------------------------------------------------
    reg [31:0] count_busy, count_stalled, count_configuring, count_loading, count_moving, count_transfer, count_waiting;
    reg [31:0] count_cycles;
    // The core waits while all it does is to read that the system is busy.
    reg core_waits;
    wire works = (running && !stalled) || configuring;
    reg answers;
    wire status_busy = !idle || launch || pending || loading || moving;
    always @(posedge clk)
        if (rst || write || (read && read_address != A_STATUS)) core_waits <= 1'b0;
        else if (answers) core_waits <= status_busy;
    always @(posedge clk) answers <= read && read_address == A_STATUS;
    wire clears = rst || (write && hits && wa == A_CONTROL && data[1]);
    always @(posedge clk)
        if (clears)
            {count_busy, count_stalled, count_configuring, count_loading, count_moving, count_transfer, count_waiting,
             count_cycles} <= 0;
        else begin
            count_busy <= count_busy + {31'd0, running && !stalled};
            count_stalled <= count_stalled + {31'd0, running && stalled};
            count_configuring <= count_configuring + {31'd0, configuring};
            count_loading <= count_loading + {31'd0, loading && !works};
            count_moving <= count_moving + {31'd0, moving};
            count_transfer <= count_transfer + {31'd0, moving && !works && !loading};
            count_waiting <= count_waiting + {31'd0, core_waits};
            count_cycles <= count_cycles + 32'd1;
        end

    // -- reading -----------------------------------------------------------------------------------------------------
    reg [11:0] ra;
    always @(posedge clk) if (read) ra <= read_address;
    wire [11:0] from_livein = ra - A_LIVEIN;
    wire [11:0] from_liveout = ra - A_LIVEOUT;
    wire [11:0] from_read = ra - A_READ;
    wire [11:0] from_write = ra - A_WRITE;
    reg known;
    assign read_refused = !known || ra[1:0] != 2'b00;
    wire [31:0] status = {16'd0, error, moving, pending, error != 0, draining_stop, loading, configuring,
                          !idle || launch || pending, enabled};
    always @* begin
        known = 1'b1;
        read_data = 32'd0;
        if (ra >= A_LIVEIN && from_livein < LIVEINS * 4) read_data = liveins[from_livein[11:2]*32 +: 32];
        else if (ra >= A_LIVEOUT && from_liveout < LIVEOUTS * 4) read_data = liveouts[from_liveout[11:2]*32 +: 32];
        else if (ra >= A_READ && from_read < READS * 32 && from_read[4:2] != 3'd7) read_data = reads[from_read[READ_BITS+1:2]];
        else if (ra >= A_WRITE && from_write < WRITES * 32 && from_write[4:2] != 3'd7)
            read_data = writes[from_write[WRITE_BITS+1:2]];
        else
            case (ra)
                A_ID: read_data = ID;
                A_VERSION: read_data = VERSION;
                A_ARRAY: read_data = ARRAY;
                A_SHAPE: read_data = SHAPE;
                A_MEMORY: read_data = MEMORY;
                A_CONTROL: read_data = {31'd0, enabled};
                A_STATUS: read_data = status;
                A_CHANNELS: begin
                    read_data[READS-1:0] = read_busy | read_start;
                    read_data[16 +: WRITES] = write_busy | write_start;
                end
                A_ERROR: read_data = {24'd0, error};
                A_IRQ_ENABLE: read_data = {28'd0, irq_enable};
                A_IRQ: read_data = {28'd0, irq_pending};
                A_TIMEOUT: read_data = timeout;
                A_ITERATIONS: read_data = iterations;
                A_BANK: read_data[BANK_BITS-1:0] = bank;
                A_LOAD_ADDRESS: read_data = load_address;
                A_LOAD_WORDS: read_data = load_words;
                A_LOAD_BANK: read_data[BANK_BITS-1:0] = load_bank;
                A_VALID: read_data[BANKS-1:0] = valid;
                A_BUSY: read_data = count_busy;
                A_STALLED: read_data = count_stalled;
                A_CONFIGURING: read_data = count_configuring;
                A_LOADING: read_data = count_loading;
                A_MOVING: read_data = count_moving;
                A_CYCLES: read_data = count_cycles;
                A_TRANSFER: read_data = count_transfer;
                A_WAITING: read_data = count_waiting;
                A_STREAMS: begin
                    read_data[READS-1:0] = stream_reads;
                    read_data[16 +: WRITES] = stream_writes;
                end
                default: known = 1'b0;
            endcase
    end
    wire unused = &{1'b0, to_livein, to_read, to_write, from_livein, from_liveout, from_read, from_write, data};
endmodule
