"""Programs of mapped loops leave in memory what the graphs and their sources mean."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import gridloom as gl
from gridloom.dfg import DfgBuilder
from gridloom.errors import MappingError
from gridloom.mapping.model import Mapping
from gridloom.targets.modulo.export.openedge.assembly import assemble
from gridloom.targets.modulo.export.openedge.compaction import compact
from gridloom.targets.modulo.export.openedge.package import package
from gridloom.targets.modulo.export.openedge.program import Grid
from gridloom.targets.modulo.export.openedge.trial import try_program
from gridloom.targets.modulo.export.openedge.words import NOP, PeInstruction, decode

FOLDER = Path(__file__).parent
LOOPS = Path(__file__).resolve().parents[5] / "examples" / "kernels"
#: All integer kernels and C loops of the examples, but for two kernels that divide.
KERNELS = [
    "adpcm",
    "aes_column",
    "alpha_blend",
    "atax",
    "axpy",
    "bicg",
    "bitcount",
    "bmp_header",
    "convolution",
    "crc32",
    "dct4",
    "dct8",
    "distance",
    "dot_product",
    "fft_radix2",
    "fft_radix4",
    "fir",
    "gemm",
    "gray",
    "gsm_ltp",
    "horner_bezier",
    "idct8",
    "ifft",
    "ifft_two_loop",
    "iir",
    "isqrt",
    "kmeans",
    "map_reduce",
    "matmul",
    "matmul_add",
    "md5_step",
    "mul_add",
    "mvt",
    "rgb_to_ycc",
    "sepia",
    "sha1_step",
    "sobel",
    "sorting_network",
    "stream_pair",
    "string_search",
    "syrk",
    "systolic_matmul",
    "tree_expand",
    "tree_reduce",
    "vector_add",
]
C_LOOPS = [
    "adpcm_decode",
    "adpcm_encode",
    "aes_column",
    "alpha_blend",
    "atax",
    "bicg",
    "bitcount",
    "blowfish_round",
    "conv3x3",
    "crc32",
    "dct8",
    "dijkstra_relax",
    "fft_butterfly",
    "fir",
    "gsm_ltp",
    "histogram",
    "ifft",
    "iir",
    "isqrt",
    "jpeg_fdct_row",
    "kmeans_distance",
    "matmul",
    "md5_step",
    "mvt",
    "needleman_wunsch",
    "prefix_sum",
    "rgb_to_ycc",
    "sad4x4",
    "seidel",
    "sha1_round",
    "sobel",
    "string_search",
    "susan_smooth",
    "viterbi",
]
SOURCES = [*(f"kernel:{name}" for name in KERNELS), *(str(LOOPS / f"{name}.c") for name in C_LOOPS)]
#: The trip counts for which others have published clocks, and these.
PUBLISHED = {"dot_product": (40, 259), "sha1_schedule": (64, 590), "reverse_bits": (32, 79), "isqrt": (15, 103)}


@cache
def mapping_of(source: str, seed: int = 0, effort: int = 20_000) -> Mapping:
    """A confirmed mapping of a loop."""
    result = gl.map(source, "openedge-cgra", effort=effort, seed=seed)
    assert result.mapping is not None, result.failure
    return result.mapping


@cache
def long_mapping() -> Mapping:
    """A mapping of a recurrence of 36 ops, which no program has the lines for."""
    b = DfgBuilder("long")
    first = value = b.add("sub", b.input("x"))
    for k in range(35):
        value = b.add("sub", b.const(k), value)
    b.carry(value, first, operand=1)
    b.output(value, "y")
    result = gl.map(b.build(), "openedge-cgra", effort=20_000, seed=0)
    assert result.mapping is not None, result.failure
    return result.mapping


@pytest.mark.parametrize(
    "source", ["kernel:dot_product", "kernel:sepia", "kernel:fir", "kernel:string_search", "kernel:bicg"]
)
def test_a_program_leaves_what_the_graph_means(source: str):
    mapping = mapping_of(source)
    program = assemble(mapping)
    trials = try_program(program, mapping.dfg)
    assert trials[-1].trips == program.least
    assert len(program.lines) <= 32


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("source", SOURCES)
def test_programs_of_loops_are_right_or_refused(source: str, seed: int):
    mapping = mapping_of(source, seed, effort=100_000)
    try:
        program = assemble(mapping)
    except MappingError as error:
        assert "instructions, and a PE holds 32" in str(error)
        pytest.skip(str(error))
    assert try_program(program, mapping.dfg, seed=seed)


@pytest.mark.parametrize("name", PUBLISHED)
def test_clocks_of_published_loops(name: str):
    trips, clocks = PUBLISHED[name]
    mapping = mapping_of(str(FOLDER / "loops" / f"{name}.c"))
    assert try_program(assemble(mapping), mapping.dfg, trips=(trips,))[0].clocks < clocks


# -- faults -----------------------------------------------------------------------------------------------------------


def test_a_wrong_instruction_is_found():
    mapping = mapping_of("kernel:sepia")
    program = assemble(mapping)
    begin, end = program.kernel
    for at in range(begin, end):
        for pe, instruction in enumerate(program.lines[at]):
            if instruction.op in ("SADD", "SSUB", "SMUL", "SRA", "BSFA", "LWI", "SWI"):
                lines = [list(line) for line in program.lines]
                lines[at][pe] = NOP
                with pytest.raises(MappingError):
                    try_program(replace(program, lines=tuple(map(tuple, lines))), mapping.dfg)


def test_a_read_of_an_output_register_that_a_store_overwrites_is_found():
    mapping = mapping_of("kernel:vector_add")
    program = assemble(mapping)
    at = program.kernel[0]
    pe = next(pe for pe, instruction in enumerate(program.lines[at]) if instruction.op == "SWI")
    lines = [list(line) for line in program.lines]
    lines[at][pe] = replace(lines[at][pe], a="ROUT")
    with pytest.raises(MappingError, match="reads ROUT, an output register that a store has overwritten"):
        try_program(replace(program, lines=tuple(map(tuple, lines))), mapping.dfg)


def test_a_program_that_is_too_long_is_refused_by_name():
    with pytest.raises(MappingError, match=r"^the program has \d+ instructions, and a PE holds 32$"):
        assemble(long_mapping())


def test_a_mapping_for_another_array_is_refused_by_name():
    result = gl.map("kernel:vector_add", "torus:4x4", effort=20_000, seed=0)
    assert result.mapping is not None
    with pytest.raises(MappingError, match=r"^array 'torus:4x4' does not run the instructions of OpenEdgeCGRA$"):
        assemble(result.mapping)


def test_a_graph_without_a_branch_is_refused_by_name():
    mapping = mapping_of("kernel:vector_add")
    nodes = tuple(replace(node, op="sub") if node.op == "ne" else node for node in mapping.dfg.nodes)
    with pytest.raises(MappingError, match=r"^0 nodes compare for the loop's branch; map the loop again from its"):
        assemble(replace(mapping, dfg=replace(mapping.dfg, nodes=nodes)))


# -- compaction -------------------------------------------------------------------------------------------------------


def test_code_is_compacted_without_passing_what_it_depends_on():
    def line(**places: PeInstruction) -> list[PeInstruction]:
        return [places.get(f"p{pe}", NOP) for pe in range(4)]

    number = PeInstruction("SADD", "IMM", immediate=3)
    lines = [
        line(p0=number),
        line(),
        line(p1=PeInstruction("SADD", "RCL"), p0=PeInstruction("SADD", "RCR")),
        line(p3=number),
        line(p2=PeInstruction("SWI")),
        line(p3=PeInstruction("LWI")),
    ]
    packed, moved = compact(lines, Grid(2, 2))
    assert packed == [
        line(p0=number, p3=number, p2=PeInstruction("SWI")),
        line(p0=PeInstruction("SADD", "RCR"), p1=PeInstruction("SADD", "RCL"), p3=PeInstruction("LWI")),
    ]
    assert moved == {(0, 0): 0, (2, 0): 1, (2, 1): 1, (3, 3): 0, (4, 2): 0, (5, 3): 1}


# -- files ------------------------------------------------------------------------------------------------------------


@cache
def files_of(name: str) -> dict[str, str]:
    """The files of a published loop."""
    return package(mapping_of(str(FOLDER / "loops" / f"{name}.c")))[0]


@pytest.mark.parametrize("name", ["instructions.csv", "program.sat", "words.txt", "program.h", "parameters.csv"])
def test_files_are_those_that_were_checked_by_hand(name: str):
    """``python -m tests.targets.modulo.export.openedge.test_programs`` writes them anew."""
    assert files_of("dot_product")[name] == (FOLDER / "golden" / name).read_text(encoding="utf-8")


def test_words_are_the_instructions_of_each_pe():
    program = assemble(mapping_of(str(FOLDER / "loops" / "isqrt.c")))
    rows = [[decode(int(word, 16)) for word in row.split()] for row in files_of("isqrt")["words.txt"].splitlines()]
    assert rows == [[line[pe] for line in program.lines] for pe in range(16)]


def test_the_header_is_c(tmp_path: Path):
    pytest.importorskip("ziglang")
    for name in PUBLISHED:
        (tmp_path / f"{name}.h").write_text(files_of(name)["program.h"], encoding="utf-8")
    (tmp_path / "all.c").write_text("".join(f'#include "{name}.h"\n' for name in PUBLISHED), encoding="utf-8")
    command = [sys.executable, "-m", "ziglang", "cc", "-c", "-Wall", "-Werror", "-Wno-unused", "all.c", "-o", "all.o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    for file in ("instructions.csv", "program.sat", "words.txt", "program.h", "parameters.csv"):
        (FOLDER / "golden" / file).write_text(files_of("dot_product")[file], encoding="utf-8")
