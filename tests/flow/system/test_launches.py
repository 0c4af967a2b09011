"""Launches in IR and C, without a simulator: what is rewritten, counted and declared."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gridloom.compiler.c.function.program import read_program
from gridloom.compiler.ir.driver import compile_to_ir
from gridloom.compiler.ir.reader import read_module
from gridloom.compiler.ir.writer import write_module
from gridloom.errors import OptionError
from gridloom.flow.functions.data import read_arguments
from gridloom.flow.system.build import array_sources, launchable, link_program, main_text
from gridloom.flow.system.compile import compile_for_system
from gridloom.flow.system.host_access import host_access
from gridloom.flow.system.plan import plan_launches

pytest.importorskip("llvmlite")

SOURCE = """
int total(const int *restrict x, int *restrict y, int n, int k) {
  int sum = 0;
  for (int i = 0; i < n; i++) { y[i] = x[i] * k; sum += x[i]; }
  return sum + y[0];
}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("system") / "total.c"
    path.write_text(SOURCE)
    return path


@pytest.fixture(scope="module")
def compiled(source: Path):
    return compile_for_system(f"{source}:total", "torus:2x2", seed=1, effort=2000)


def test_ir_loses_what_it_promised(source: Path):
    text = write_module(read_module(compile_to_ir(source), str(source)), {}, bare=True)
    assert "define" in text and "@total(" in text
    for word in ("noalias", "readonly", "captures", "!dbg", "#dbg", "!tbaa", "memory(", "attributes"):
        assert word not in text


def test_a_loop_is_launched_and_stays_for_the_core(compiled, source: Path):
    plan = launchable(plan_launches(compiled, None))
    sources = array_sources(plan, "int main(void) { return 0; }")
    assert sources.ir.count("call i32 @gl_loop_0(") == 1
    assert "declare i32 @gl_loop_0(i32, " in sources.ir
    assert "define internal i32 @gl_trip_0(" in sources.ir
    assert sources.ir.count("call void @gl_end()") == 1
    assert "int gl_loop_0(uint32_t n, " in sources.c_files["loops.c"]
    assert "if (GL_RARELY(n < 1u)) return gl_decline();" in sources.c_files["loops.c"]


def test_what_the_core_reads_goes_back_after_a_launch(compiled):
    (loop,) = [loop for loop in compiled.loops if loop.mapping is not None]
    graph = loop.plan.graph
    access = host_access(loop.plan.loop.function, loop.plan.loop.blocks)
    assert access.reads_of(graph.bases["y"]) and not access.writes_of(graph.bases["y"])
    assert not access.reads_of(graph.bases["x"])


def test_the_rewritten_function_compiles_for_the_core(compiled, source: Path):
    if shutil.which("riscv64-unknown-elf-gcc") is None:
        pytest.skip("GCC for RISC-V is not installed")
    arguments = read_arguments(compiled.signature, {"n": 40, "k": 3}, 1)
    plan = launchable(plan_launches(compiled, arguments, always=True))
    assert len(link_program(array_sources(plan, main_text(compiled, arguments)), source)) > 1000


SHORT = """
void weigh(const int *restrict x, int *restrict y, int n, const int *restrict w) {
  for (int i = 0; i < n; i++) {
    int sum = 0;
    for (int k = 0; k < 3; k++)
      sum += x[i + k] * w[k];
    y[i] = sum;
  }
}
"""


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("short") / "weigh.c"
    path.write_text(SHORT)
    return path


def test_a_short_inner_loop_is_unrolled_where_the_array_can_take_the_result(short: Path):
    compiled = compile_for_system(f"{short}:weigh", "mesh:4x4", seed=1, effort=5000)
    assert compiled.program.unrolled
    assert [loop.plan.loop.children for loop in compiled.loops] == [[]]
    assert compiled.loops[0].mapping is not None


def test_a_short_inner_loop_stays_where_the_array_is_too_small_for_the_result(short: Path):
    compiled = compile_for_system(f"{short}:weigh", "mesh:2x2", seed=1, effort=2000)
    assert not compiled.program.unrolled
    assert sum(loop.mapping is not None for loop in compiled.loops) == 1


def test_unrolling_can_be_said(short: Path):
    assert not compile_for_system(f"{short}:weigh", "mesh:2x2", unroll="none", seed=1, effort=2000).program.unrolled
    assert compile_for_system(f"{short}:weigh", "mesh:2x2", unroll="short", seed=1, effort=2000).program.unrolled
    with pytest.raises(OptionError, match=r"^unroll: expected auto, short, none, found 'all'$"):
        compile_for_system(f"{short}:weigh", "mesh:2x2", unroll="all")


def test_the_core_waits_for_a_launch_only_where_it_needs_its_end(compiled, short: Path, source: Path):
    """`total` returns a sum and reads y; `weigh` leaves all to the array, so that the core goes on."""
    awaited = array_sources(launchable(plan_launches(compiled, None)), "")
    assert "gl_idle()" in awaited.c_files["loops.c"].split("gl_go();")[1]
    other = compile_for_system(f"{short}:weigh", "mesh:4x4", seed=1, effort=5000)
    free = array_sources(launchable(plan_launches(other, None)), "")
    assert "gl_idle()" not in free.c_files["loops.c"].split("gl_go();")[1]


def test_a_copy_touches_what_it_copies(tmp_path: Path):
    path = tmp_path / "copy.c"
    path.write_text(
        "struct s { int v[9]; };\n"
        "int first(struct s *restrict a, const struct s *restrict b, int *restrict c, int n) {\n"
        "  *a = *b;\n  int sum = 0;\n  for (int i = 0; i < n; i++) { c[i] = i; sum += c[i]; }\n  return sum;\n}\n"
    )
    program = read_program(path, "first")
    access = host_access(program.function, {block for loop in program.loops for block in loop.loop.blocks})
    a, b, c = program.function.arguments[:3]
    assert not access.all_memory
    assert access.writes_of(a) and access.reads_of(b) and not access.writes_of(b)
    assert not access.reads_of(c) and not access.writes_of(c)


def test_a_file_with_one_function_needs_no_name(source: Path):
    assert compile_for_system(str(source), "torus:2x2", seed=1, effort=500).name == "total"


def test_a_file_without_main_needs_a_function(tmp_path: Path):
    path = tmp_path / "two.c"
    path.write_text("int f(int x) { return x + 1; }\nint g(int x) { return x - 1; }\n")
    with pytest.raises(OptionError, match=r"two\.c has no main and these functions: f, g; write .*two\.c:FUNCTION"):
        compile_for_system(str(path), "torus:2x2")


#: The second loop needs an element of what the first one leaves, which the core has read in an earlier round.
ROUNDS = """
void rounds(const int *restrict x, int *restrict y, int *restrict z, int n) {
  for (int r = 0; r < 3; r++) {
    for (int i = 0; i < n; i++) y[i] = x[i] + r;
    for (int i = 0; i < n; i++) z[i] = x[i] > 3 ? x[i] * y[1] : 7;
  }
}
"""


def test_the_core_sees_what_launches_left_before_it_loads_a_live_in(tmp_path: Path):
    path = tmp_path / "rounds.c"
    path.write_text(ROUNDS)
    compiled = compile_for_system(f"{path}:rounds", "mesh:4x4", unroll="none", seed=1, effort=2000)
    plan = launchable(plan_launches(compiled, None, always=True))
    block = array_sources(plan, "").ir.split("\ngl.pre.1:")[1].split("\n\n")[0]
    assert block.index("call void @gl_sync()") < block.index(" = load ") < block.index("@gl_loop_1(")


def test_an_image_is_asked_for_before_arrays_are_placed(compiled, source: Path):
    plan = launchable(plan_launches(compiled, None))
    text = array_sources(plan, "").c_files["loops.c"]
    assert text.index("gl_request(&image_0)") < text.index("gl_ready()") < text.index("gl_bind(")


def test_a_stride_that_is_a_number_is_no_argument(tmp_path: Path):
    path = tmp_path / "strides.c"
    path.write_text("""
void strides(const int *restrict x, int *restrict y, int n, int s) {
  for (int i = 0; i < n; i++) y[2 * i] = x[i] + 1;
}
""")
    compiled = compile_for_system(f"{path}:strides", "mesh:4x4", seed=1, effort=2000)
    sources = array_sources(launchable(plan_launches(compiled, None, always=True)), "")
    assert "int gl_loop_0(uint32_t n, uint32_t a0, uint32_t a1) {" in sources.c_files["loops.c"]
    assert "const uint32_t t0 = 4;" in sources.c_files["loops.c"]
    assert "const uint32_t t1 = 8;" in sources.c_files["loops.c"]
    assert "declare i32 @gl_loop_0(i32, ptr, ptr)" in sources.ir
    # There is nothing to bring meanwhile.
    assert "gl_request(" not in sources.c_files["loops.c"]
