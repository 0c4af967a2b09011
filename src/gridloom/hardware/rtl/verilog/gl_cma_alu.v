// Function unit of domain cma24: 24 data bits with the carry in bit 24. Opcodes are the codes of the op table, counted
// from the start of the domain. Only `sel` looks at a carry; comparisons set it and hand operand A on.
module gl_cma_alu #(
    parameter [63:0] OPS = 64'hFFFF_FFFF_FFFF_FFFF
) (
    input  wire [5:0]  opcode,
    input  wire [24:0] a,
    input  wire [24:0] b,
    output reg  [24:0] y
);
    localparam [5:0]
        ADD = 13, SUB = 14, MULT = 15, SL = 16, SR = 17, SRA = 18, SEL = 19, NOT = 21, AND = 22, OR = 23, XOR = 24,
        EQL = 25, GT = 26, LT = 27;
    wire [23:0] da = a[23:0];
    wire [23:0] db = b[23:0];
    wire [4:0]  amount = db > 24'd24 ? 5'd24 : db[4:0];
    wire [23:0] difference = da - db;
    wire [23:0] product = da * db;
    wire [23:0] left = da << amount;
    wire [23:0] right = da >> amount;
    wire [23:0] arithmetic = $unsigned($signed(da) >>> amount);
    always @* begin
        y = a;
        case (opcode)
            ADD: if (OPS[ADD]) y = {1'b0, da} + {1'b0, db};
            SUB: if (OPS[SUB]) y = {1'b0, difference};
            MULT: if (OPS[MULT]) y = {1'b0, product};
            SL: if (OPS[SL]) y = {1'b0, left};
            SR: if (OPS[SR]) y = {1'b0, right};
            SRA: if (OPS[SRA]) y = {1'b0, arithmetic};
            SEL: if (OPS[SEL]) y = a[24] ? b : a;
            NOT: if (OPS[NOT]) y = {1'b0, ~da};
            AND: if (OPS[AND]) y = {1'b0, da & db};
            OR: if (OPS[OR]) y = {1'b0, da | db};
            XOR: if (OPS[XOR]) y = {1'b0, da ^ db};
            EQL: if (OPS[EQL]) y = da == db ? {1'b1, da} : 25'd0;
            GT: if (OPS[GT]) y = {da > db, da};
            LT: if (OPS[LT]) y = {da <= db, da};
            default: y = a;
        endcase
    end
endmodule
