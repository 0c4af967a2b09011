"""The core instruction by instruction: what instructions compute, what they cost, and bad programs."""

from __future__ import annotations

import numpy as np
import pytest

from gridloom.errors import SimulationError
from gridloom.hardware.system.core import CoreRun

SP, T0, T1, T2 = 2, 5, 6, 7


def _i(opcode: int, funct: int, rd: int, rs1: int, immediate: int) -> int:
    return (immediate & 0xFFF) << 20 | rs1 << 15 | funct << 12 | rd << 7 | opcode


def _r(funct7: int, funct: int, rd: int, rs1: int, rs2: int) -> int:
    return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct << 12 | rd << 7 | 0x33


def _s(funct: int, rs1: int, rs2: int, immediate: int) -> int:
    return (immediate >> 5 & 0x7F) << 25 | rs2 << 20 | rs1 << 15 | funct << 12 | (immediate & 31) << 7 | 0x23


def _li(rd: int, value: int) -> list[int]:
    low = (value & 0xFFF ^ 0x800) - 0x800
    return [(value - low & 0xFFFFFFFF) & 0xFFFFF000 | rd << 7 | 0x37, _i(0x13, 0, rd, rd, low)]


def _run(*words: int) -> CoreRun:
    """Run words, then print t2 and end."""
    code = [*words, *_li(28, 0xF0010000), _s(2, 28, T2, 12), _s(2, 28, 0, 8)]
    core = CoreRun(np.array(code, "<u4").tobytes())
    core.run(100_000)
    return core


def _printed(core: CoreRun) -> int:
    return int("".join(core.output), 16)


@pytest.mark.parametrize(
    ("funct7", "funct", "a", "b", "expected"),
    [
        (0, 0, 0xFFFFFFFF, 2, 1), (32, 0, 1, 2, 0xFFFFFFFF), (0, 1, 1, 33, 2), (0, 2, 0xFFFFFFFF, 0, 1),
        (0, 3, 0xFFFFFFFF, 0, 0), (0, 4, 0xF0, 0xFF, 0x0F), (0, 5, 0x80000000, 4, 0x08000000),
        (32, 5, 0x80000000, 4, 0xF8000000), (0, 6, 0xF0, 0x0F, 0xFF), (0, 7, 0xF0, 0x3C, 0x30),
        (1, 0, 0xFFFFFFFF, 0xFFFFFFFF, 1), (1, 1, 0xFFFFFFFF, 0xFFFFFFFF, 0), (1, 2, 0xFFFFFFFF, 2, 0xFFFFFFFF),
        (1, 3, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFE), (1, 4, 0xFFFFFFF9, 2, 0xFFFFFFFD), (1, 4, 5, 0, 0xFFFFFFFF),
        (1, 4, 0x80000000, 0xFFFFFFFF, 0x80000000), (1, 5, 0xFFFFFFF9, 2, 0x7FFFFFFC),
        (1, 6, 0xFFFFFFF9, 2, 0xFFFFFFFF), (1, 6, 7, 0, 7), (1, 7, 0xFFFFFFF9, 2, 1),
    ],
)  # fmt: skip
def test_an_instruction_computes_what_risc_v_says(funct7: int, funct: int, a: int, b: int, expected: int):
    assert _printed(_run(*_li(T0, a), *_li(T1, b), _r(funct7, funct, T2, T0, T1))) == expected


def test_narrow_accesses_keep_other_bytes():
    base = _li(SP, 0x40001000)
    core = _run(*base, *_li(T0, 0x11223344), _s(2, SP, T0, 0), *_li(T1, 0x1FF), _s(0, SP, T1, 1), _s(1, SP, T1, 2),
                _i(0x03, 2, T2, SP, 0))  # fmt: skip
    assert _printed(core) == 0x01FFFF44
    assert _printed(_run(*base, *_li(T0, 0x80FF), _s(2, SP, T0, 0), _i(0x03, 1, T2, SP, 0))) == 0xFFFF80FF
    assert _printed(_run(*base, *_li(T0, 0x80FF), _s(2, SP, T0, 0), _i(0x03, 4, T2, SP, 1))) == 0x80


def _cost(*words: int) -> int:
    """Cycles of some instructions between two readings of the cycle counter."""
    begin, end = _i(0x03, 2, 29, 28, 0), _i(0x03, 2, 30, 28, 0)
    around = [*_li(28, 0xF0010000), *_li(SP, 0x40001000), begin]
    core = _run(*around, *words, end, _r(32, 0, T2, 30, 29))
    return _printed(core)


def test_a_result_is_there_when_its_stage_has_it():
    nop = _i(0x13, 0, 0, 0, 0)
    plain = _cost(nop, nop)
    assert _cost(_r(0, 0, T0, T1, T1), _r(0, 0, T0, T0, T1)) == plain
    assert _cost(_r(0, 1, T0, T1, T1), _r(0, 0, T0, T0, T1)) == plain + 1
    assert _cost(_r(1, 0, T0, T1, T1), _r(0, 0, T0, T0, T1)) == plain + 2


def test_a_program_that_leaves_its_memory_is_named():
    with pytest.raises(SimulationError, match="the program accesses address 0x10, where nothing is"):
        _run(_i(0x03, 2, T0, 0, 16))
    with pytest.raises(SimulationError, match="the program stopped at 0x40000000: no instruction of the core"):
        CoreRun(bytes(4)).run()
    with pytest.raises(SimulationError, match="the program has 33554432 bytes, the memory of the core 16777216"):
        CoreRun(bytes(1 << 25))


def test_a_program_that_does_not_end_has_no_status():
    core = CoreRun(np.array([0x6F], "<u4").tobytes())
    assert core.run(1000).status is None
