"""PeInstruction words and texts of OpenEdgeCGRA."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.errors import MappingError
from gridloom.targets.modulo.export.openedge.words import (
    FLAGS,
    LEAST,
    MOST,
    NOP,
    OPCODES,
    SOURCES,
    PeInstruction,
    decode,
    encode,
    spell,
)

INSTRUCTIONS = st.builds(
    PeInstruction,
    op=st.sampled_from(OPCODES),
    a=st.sampled_from(SOURCES),
    b=st.sampled_from(SOURCES),
    register=st.sampled_from([None, 0, 1, 2, 3]),
    flag=st.sampled_from(FLAGS),
    immediate=st.integers(LEAST, MOST),
)


@given(INSTRUCTIONS)
def test_decoding_gives_what_was_encoded(instruction: PeInstruction):
    assert decode(encode(instruction)) == instruction


@given(st.integers(0, (1 << 32) - 1))
def test_a_word_is_encoded_again_or_refused(word: int):
    try:
        instruction = decode(word)
    except MappingError:
        return
    # The number of a register that is not written is not kept.
    assert encode(instruction) == (word if word >> 16 & 1 else word & ~(3 << 17))


@pytest.mark.parametrize(
    ("instruction", "word", "text"),
    [
        (NOP, 0x00000000, "NOP"),
        (PeInstruction("SADD", "RCL", "IMM", 0, immediate=4), 0x2A090004, "SADD R0, RCL, 4"),
        (PeInstruction("SSUB", "R3", "ROUT"), 0x91100000, "SSUB ROUT, R3, ROUT"),
        (PeInstruction("BSFA", "IMM", "R1", 2, "RCB", -1), 0xA7759FFF, "BSFA R2, -1, R1, RCB"),
        (PeInstruction("BZFA", "RCT", "ZERO"), 0x40780000, "BZFA ROUT, RCT, ZERO, SELF"),
        (PeInstruction("BNE", "RCR", "ZERO", immediate=7), 0x30880007, "BNE RCR, ZERO, 7"),
        (PeInstruction("LWD", register=1, immediate=4), 0x00AB0004, "LWD R1"),
        (PeInstruction("SWD", "ROUT", immediate=4), 0x10B00004, "SWD ROUT"),
        (PeInstruction("LWI", "ZERO", "RCB", 3), 0x05BF0000, "LWI R3, RCB"),
        (PeInstruction("SWI", "R0", "RCL"), 0x62C00000, "SWI R0, RCL"),
        (PeInstruction("JUMP", "ZERO", "IMM", immediate=3), 0x0AA00003, "JUMP ZERO, 3"),
        (PeInstruction("EXIT"), 0x00C80000, "EXIT"),
    ],
)
def test_fields_of_instructions(instruction: PeInstruction, word: int, text: str):
    assert encode(instruction) == word
    assert spell(instruction) == text


@pytest.mark.parametrize("immediate", [LEAST - 1, MOST + 1])
def test_an_immediate_of_14_bits_is_refused(immediate: int):
    with pytest.raises(MappingError, match=rf"^SADD: immediate {immediate}; 13 bits hold -4096 to 4095$"):
        encode(PeInstruction("SADD", "IMM", immediate=immediate))


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        (PeInstruction("SADD", "RCX"), "SADD: 'RCX' is none of ZERO, ROUT"),
        (PeInstruction("SDIV"), "SDIV: 'SDIV' is none of NOP, SADD"),
        (PeInstruction("BSFA", flag="R0"), "BSFA: 'R0' is none of SELF, RCL"),
        (PeInstruction("SADD", register=4), "SADD: register 4; a PE has R0 to R3"),
    ],
)
def test_what_no_field_has_room_for_is_refused(instruction: PeInstruction, message: str):
    with pytest.raises(MappingError, match=f"^{message}"):
        encode(instruction)


@pytest.mark.parametrize("word", [-1, 1 << 32, 0xB0000000, 0x0B000000, 26 << 19, 5 << 13])
def test_a_number_that_is_no_instruction_is_refused(word: int):
    with pytest.raises(MappingError, match=f"^word {word:#x} is no instruction$"):
        decode(word)
