"""What the machine does, fact by fact, in programs of a few instructions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.errors import SimulationError
from gridloom.targets.modulo.export.openedge.interpreter import MachineRun, run_program
from gridloom.targets.modulo.export.openedge.words import LEAST, MOST, NOP, PeInstruction

EXIT = PeInstruction("EXIT")
WORDS = st.integers(-(1 << 31), (1 << 31) - 1)


def line(**places: PeInstruction) -> list[PeInstruction]:
    """One instruction of all PEs; ``p5`` is PE 5, row by row."""
    return [places.get(f"p{pe}", NOP) for pe in range(16)]


def run(*lines: list[PeInstruction], memory: dict[int, int] | None = None, **options: list[int]) -> MachineRun:
    """A run of a program that ends after its lines."""
    return run_program([*lines, line(p0=EXIT)], memory or {}, **options)  # type: ignore[arg-type]


def number(value: int, register: int | None = None) -> PeInstruction:
    """The instruction that makes a number."""
    return PeInstruction("SADD", "IMM", register=register, immediate=value)


def store(source: str = "ROUT") -> PeInstruction:
    """The instruction that stores in the stream of its column."""
    return PeInstruction("SWD", source, immediate=4)


def result(op: str, a: int, b: int) -> int:
    """What an instruction makes of two words."""
    memory = {0: a, 4: b, 8: 0}
    done = run(
        line(p0=PeInstruction("LWD", register=0, immediate=4)),
        line(p0=PeInstruction("LWD", register=1, immediate=4)),
        line(p0=PeInstruction(op, "R0", "R1", immediate=3)),
        line(p0=store()),
        memory=memory,
        writes=[8, 0, 0, 0],
    )
    return done.memory[8]


@given(WORDS, WORDS)
def test_results_are_words(a: int, b: int):
    def wrap(value: int) -> int:
        return (value + (1 << 31)) % (1 << 32) - (1 << 31)

    assert result("SADD", a, b) == wrap(a + b)
    assert result("SSUB", a, b) == wrap(a - b)
    assert result("SMUL", a, b) == wrap(a * b)
    assert result("FXPMUL", a, b) == wrap(a * b // 32768)
    assert result("LAND", a, b) == ~result("LNAND", a, b) == a & b
    assert result("LOR", a, b) == ~result("LNOR", a, b) == a | b
    assert result("LXOR", a, b) == ~result("LXNOR", a, b) == a ^ b


@given(WORDS, st.integers(0, 31))
def test_shifts_are_by_five_bits(a: int, count: int):
    for shift in (count, count + 32):
        assert result("SLT", a, shift) % (1 << 32) == (a << count) % (1 << 32)
        assert result("SRT", a, shift) % (1 << 32) == a % (1 << 32) >> count
        assert result("SRA", a, shift) == a >> count


@given(WORDS, WORDS)
def test_branches_write_their_answer(a: int, b: int):
    assert result("BEQ", a, b) == (a == b)
    assert result("BNE", a, b) == (a != b)
    assert result("BLT", a, b) == (a < b)
    assert result("BGE", a, b) == (a >= b)


def test_registers_and_flags_are_zero_at_first():
    done = run(
        line(p0=PeInstruction("BZFA", "IMM", "ZERO", flag="SELF", immediate=1)),
        line(p0=store(), p1=store("R2")),
        memory={0: 9, 4: 9},
        writes=[0, 4, 0, 0],
    )
    assert done.memory == {0: 1, 4: 0}


@pytest.mark.parametrize(("source", "owner"), [("RCL", 7), ("RCR", 5), ("RCT", 0), ("RCB", 8), ("ROUT", 4)])
def test_neighbours_are_those_of_a_torus(source: str, owner: int):
    lines = [line(**{f"p{owner}": number(5)}), line(p4=store(source))]
    assert run(*lines, memory={0: 0}).memory == {0: 5}


def test_an_instruction_reads_what_the_one_before_left():
    done = run(
        line(p0=number(3), p1=number(4)),
        line(p0=PeInstruction("SADD", "RCR"), p1=PeInstruction("SADD", "RCL")),
        line(p0=store(), p1=store()),
        memory={0: 0, 4: 0},
        writes=[0, 4, 0, 0],
    )
    assert done.memory == {0: 4, 4: 3}


def test_a_result_goes_to_the_output_and_to_a_register():
    lines = [line(p0=number(3, 1)), line(p0=number(4)), line(p0=PeInstruction("SADD", "R1", "ROUT")), line(p0=store())]
    assert run(*lines, memory={0: 0}).memory == {0: 7}


@pytest.mark.parametrize(("value", "sign", "zero"), [(-3, 1, 2), (0, 2, 1), (8, 2, 2)])
def test_a_select_reads_the_flag_of_the_last_result(value: int, sign: int, zero: int):
    for op, chosen in (("BSFA", sign), ("BZFA", zero)):
        for flag, owner in (("SELF", 4), ("RCL", 7), ("RCB", 8)):
            done = run(
                line(p4=number(1, 0), **({} if owner == 4 else {f"p{owner}": number(value)})),
                line(p4=number(2, 1)),
                line(p4=number(value)) if owner == 4 else line(),
                line(p4=PeInstruction(op, "R0", "R1", flag=flag)),
                line(p4=store()),
                memory={0: 0},
            )
            assert done.memory == {0: chosen}


def test_an_immediate_serves_both_operands_and_has_13_bits():
    for value in (LEAST, -1, MOST):
        lines = [line(p0=PeInstruction("SADD", "IMM", "IMM", immediate=value)), line(p0=store())]
        assert run(*lines, memory={0: 0}).memory == {0: 2 * value}


def test_a_store_overwrites_the_output_register():
    with pytest.raises(SimulationError) as caught:
        run(line(p0=number(3)), line(p0=store()), line(p1=PeInstruction("SADD", "RCL")), memory={0: 0})
    assert str(caught.value) == (
        "instruction 2, PE 0,1: SADD: reads RCL, an output register that a store has overwritten"
    )


def test_a_flag_of_a_store_is_no_flag():
    with pytest.raises(SimulationError, match="reads ROUT, an output register that a store has overwritten"):
        run(line(p0=store("ZERO")), line(p0=PeInstruction("BSFA", "ZERO", "ZERO")), memory={0: 0})


def test_nothing_happens_to_a_pe_that_waits():
    done = run(line(p0=number(3)), line(p1=number(5)), line(), line(p0=store()), memory={0: 0})
    assert done.memory == {0: 3}


def test_streams_step_by_their_immediate_and_columns_have_their_own():
    load = [PeInstruction("LWD", register=k, immediate=8 if k == 0 else 4) for k in range(2)]
    done = run(
        line(p0=load[0], p1=load[0]),
        line(p0=load[1]),
        line(p0=store("R0"), p1=store("R0")),
        line(p0=store("R1")),
        memory={0: 1, 8: 2, 4: 3, 100: 0, 104: 0, 200: 0},
        reads=[0, 4, 0, 0],
        writes=[100, 200, 0, 0],
    )
    assert (done.memory[100], done.memory[104], done.memory[200]) == (1, 2, 3)


def test_accesses_of_a_column_are_served_in_row_order():
    load = PeInstruction("LWD", immediate=4)
    done = run(line(p8=load, p4=load), line(p8=store(), p4=store()), memory={0: 1, 4: 2, 8: 0, 12: 0}, writes=[8])
    assert (done.memory[8], done.memory[12]) == (1, 2)
    done = run(
        line(p4=PeInstruction("SWI", "IMM", "ZERO", immediate=6), p8=PeInstruction("LWI", "ZERO", "ZERO")),
        line(p8=store()),
        memory={0: 1, 4: 0},
        writes=[4],
    )
    assert done.memory == {0: 6, 4: 6}


def test_a_branch_repeats_lines_and_two_cancel_each_other():
    count = PeInstruction("SADD", "ROUT", "IMM", immediate=-1)
    back = PeInstruction("BNE", "RCL", "ZERO", immediate=1)
    done = run(line(p0=number(3)), line(p0=count), line(p1=back), line(p0=store()), memory={0: 9})
    assert (done.memory[0], done.instructions) == (0, 1 + 2 * 3 + 2)
    done = run(
        line(p0=number(3)), line(p0=count), line(p1=back, p4=PeInstruction("BEQ")), line(p0=store()), memory={0: 9}
    )
    assert done.memory[0] == 2
    done = run(line(p0=PeInstruction("JUMP", "IMM", immediate=2)), line(p0=number(3)), line(p0=store()), memory={0: 9})
    assert done.memory[0] == 2


def test_clocks_are_those_of_the_slowest():
    load, multiply = PeInstruction("LWD", immediate=0), PeInstruction("SMUL")
    cases = [
        (line(), 1),
        (line(p0=number(1)), 1),
        (line(p0=multiply), 3),
        (line(p0=PeInstruction("FXPMUL")), 3),
        (line(p0=load, p1=load, p2=load, p3=load), 2),
        (line(p0=load, p4=load), 3),
        (line(p0=load, p4=load, p8=load, p1=multiply), 4),
        (line(p0=load, p1=multiply), 3),
    ]
    for instruction, clocks in cases:
        assert run(instruction, memory={0: 0}).clocks == clocks + 1


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ([line(p0=PeInstruction("LWI", "ZERO", "IMM", immediate=2))],
         r"^instruction 0, PE 0,0: LWI: accesses address 2, which is no word of the memory$"),
        ([line(p0=PeInstruction("SWI"), p1=PeInstruction("SWI"))], r"^instruction 0: two columns write word 0$"),
        ([line(p0=PeInstruction("BEQ", immediate=0))], "^the program does not end within 50 instructions$"),
    ],
)  # fmt: skip
def test_what_no_program_may_do(program: list[list[PeInstruction]], message: str):
    with pytest.raises(SimulationError, match=message):
        run_program([*program, line(p0=EXIT)], {0: 0}, limit=50)


def test_a_program_has_to_end():
    with pytest.raises(SimulationError, match=r"^the program has 1 instructions and goes on to number 1$"):
        run_program([line()], {})


def test_a_load_that_races_with_a_store_brings_neither_word():
    done = run(
        line(p0=PeInstruction("SWI", "IMM", "ZERO", immediate=6), p1=PeInstruction("LWI", "ZERO", "ZERO")),
        line(p1=store()),
        memory={0: 1, 4: 0},
        writes=[0, 4, 0, 0],
    )
    assert done.memory[4] not in (1, 6)
