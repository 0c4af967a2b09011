// What an opcode switches in gl_alu. It is decoded a cycle before the op is computed, so that the function unit gets its
// controls from a register. Opcodes that the unit does not have never come: only those which it has are told apart.
module gl_controls #(
    parameter OPCODE_BITS = 7, PRODUCT = 1, DIVISION = 1,
    parameter [127:0] OPS = {128{1'b1}}
) (
    input  wire [OPCODE_BITS-1:0] opcode,
    output wire [9:0] controls
);
    localparam [6:0]
        ADD = @add@, SUB = @sub@, MUL = @mul@, DIV = @div@, UREM = @urem@, MULH = @mulh@, MUL_SUB = @mul_sub@, SHL_ADD = @shl_add@, SHL = @shl@, SHR = @shr@,
        LSHR = @lshr@, ROTL = @rotl@, AND = @and@, OR = @or@, XOR = @xor@, MIN = @min@, UMAX = @umax@, EQ = @eq@, ULE = @ule@, SQUARE = @square@,
        MUL_RSUB = @mul_rsub@, MUL_XOR = @mul_xor@, SHL_SUB = @shl_sub@, SHL_XOR = @shl_xor@, SHR_ADD = @shr_add@, SHR_XOR = @shr_xor@, LSHR_XOR = @lshr_xor@;
    localparam HAS_LEFT = OPS[SHL] || OPS[ROTL] || OPS[SHL_ADD] || |OPS[SHL_XOR:SHL_SUB];
    localparam HAS_RIGHT = OPS[LSHR] || OPS[SHR] || |OPS[LSHR_XOR:SHR_ADD];
    wire [6:0] code = {{(7-OPCODE_BITS){1'b0}}, opcode};
    wire [127:0] known = (128'd1 << code) & OPS;
    wire joins = known[OR] || known[XOR];
    wire meets = known[AND] || known[XOR];
    wire adds = known[ADD];
    wire subtracts = known[SUB] || |known[UMAX:MIN] || |known[ULE:EQ];
    wire lefts = HAS_LEFT && (!HAS_RIGHT || known[SHL] || known[ROTL] || known[SHL_ADD] || |known[SHL_XOR:SHL_SUB]);
    wire arithmetic = known[SHR] || |known[SHR_XOR:SHR_ADD];
    wire turns = known[ROTL];
    wire shifts = |known[ROTL:SHL];
    wire multiplies = PRODUCT != 0 && (known[MUL] || |known[MUL_SUB:MULH] || known[SQUARE] || |known[MUL_XOR:MUL_RSUB]);
    wire divides = DIVISION != 0 && |known[UREM:DIV];
    assign controls = {joins, meets, adds, subtracts, lefts, arithmetic, turns, shifts, multiplies, divides};
    wire unused = &{1'b0, known};
endmodule
