// The streams of the array behind the queues of DMA channels. Each channel listens to one port of the array: a channel
// that feeds a port gives it a word for each read, a channel that drains one takes each word that leaves. The array waits
// (`stalled`) while a word that it reads is not there or a word that leaves has no room.
module gl_streams #(
    parameter W = 32, FEEDS = 1, DRAINS = 1, READERS = 1, WRITERS = 1, SLOT_BITS = 1, LEVEL_BITS = 7, QUEUE = 64
) (
    input  wire running,
    input  wire [SLOT_BITS-1:0] slot,
    input  wire [FEEDS-1:0] feeds,
    input  wire [FEEDS*16-1:0] fed,
    input  wire [DRAINS-1:0] drains,
    input  wire [DRAINS*16-1:0] drained,
    input  wire [FEEDS*LEVEL_BITS-1:0] feed_level,
    input  wire [FEEDS*32-1:0] feed_words,
    output wire [FEEDS-1:0] feed_pop,
    input  wire [DRAINS*LEVEL_BITS-1:0] drain_level,
    output wire [DRAINS-1:0] drain_push,
    output wire [DRAINS*32-1:0] drain_words,
    input  wire [READERS-1:0] reads,
    output reg  [READERS*W-1:0] read_words,
    input  wire [WRITERS-1:0] valid,
    input  wire [WRITERS*W-1:0] words,
    output wire stalled
);
    localparam READER_BITS = READERS > 1 ? $clog2(READERS) : 1;
    localparam WRITER_BITS = WRITERS > 1 ? $clog2(WRITERS) : 1;
    wire [FEEDS-1:0] asks, missing;
    wire [DRAINS-1:0] leaves, full;
    assign stalled = running && (|missing || |full);
    genvar k;
    generate
        for (k = 0; k < FEEDS; k = k + 1) begin : feed
            assign asks[k] = feeds[k] && reads[fed[k*16 +: READER_BITS]] && slot == fed[k*16+8 +: SLOT_BITS];
            assign missing[k] = asks[k] && feed_level[k*LEVEL_BITS +: LEVEL_BITS] == 0;
            assign feed_pop[k] = running && asks[k] && !stalled;
        end
        for (k = 0; k < DRAINS; k = k + 1) begin : drain
            assign leaves[k] = drains[k] && valid[drained[k*16 +: WRITER_BITS]]
                               && slot == drained[k*16+8 +: SLOT_BITS];
            assign full[k] = leaves[k] && drain_level[k*LEVEL_BITS +: LEVEL_BITS] == QUEUE[LEVEL_BITS-1:0];
            assign drain_push[k] = running && leaves[k] && !stalled;
            assign drain_words[k*32 +: 32] = {{(33-W){words[drained[k*16 +: WRITER_BITS]*W + W - 1]}},
                                              words[drained[k*16 +: WRITER_BITS]*W +: W-1]};
        end
    endgenerate
    integer p, c;
    always @* begin
        read_words = {(READERS*W){1'b0}};
        for (p = 0; p < READERS; p = p + 1)
            for (c = 0; c < FEEDS; c = c + 1)
                if (feeds[c] && fed[c*16 +: READER_BITS] == p[READER_BITS-1:0] && slot == fed[c*16+8 +: SLOT_BITS])
                    read_words[p*W +: W] = feed_words[c*32 +: W];
    end
    wire unused = &{1'b0, fed, drained, feed_words};
endmodule
