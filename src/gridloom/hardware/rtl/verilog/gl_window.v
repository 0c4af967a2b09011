// Whether an issue slot fires in this cycle, and the number of the firing (saturating like `stage`).
// `stage` counts rounds from 0, `past` counts rounds since the first slot had its last iteration; both saturate.
module gl_window #(
    parameter STAGE_BITS = 6
) (
    input  wire run, valid, always_on,
    input  wire [STAGE_BITS-1:0] start, stage, past,
    output wire fire,
    output wire [STAGE_BITS-1:0] firing
);
    assign fire = run && valid && (always_on || (stage >= start && past <= start));
    assign firing = stage - start;
endmodule
