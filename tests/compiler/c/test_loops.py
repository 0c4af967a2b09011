"""Which loop is taken, what its options do, and how a limit is reported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.compiler.c.native import graph_of, run_both

from gridloom.compiler.c import COptions, describe, load, parse_spec
from gridloom.compiler.source import load_source
from gridloom.dfg.interpreter import Interpreter, Stimulus
from gridloom.dfg.recurrence import recurrence_mii
from gridloom.errors import OptionError, SourceError

pytestmark = pytest.mark.tools


@pytest.fixture
def c_file(tmp_path: Path):
    def write(text: str, name: str = "loop.c") -> Path:
        path = tmp_path / name
        path.write_text("#include <stdint.h>\n" + text)
        return path

    return write


def ints(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-(1 << 31), 1 << 31, count).astype("i4")


# -- which loop -----------------------------------------------------------------------------------------------------

TWO = """
void first(int *x, int n) { for (int i = 0; i < n; i++) x[i] += 1; }
void second(int *x, int n) {
  for (int i = 0; i < n; i++) x[i] *= 3;
  for (int i = 0; i < n; i++) x[i] ^= 5;
}
"""


def test_loops_are_named_by_function_number_and_pragma(c_file):
    path = c_file(TWO)
    assert load(path, function="first").line == 3
    assert [load(path, function="second", loop=k).line for k in (0, 1)] == [5, 6]
    assert load(path, loop=2).line == 6
    last = "  for (int i = 0; i < n; i++) x[i] ^="
    marked = c_file(TWO.replace(last, f"#pragma gridloom\n{last}"))
    assert load(marked).line == 7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {},
            "the file has 3 innermost loops (first:3, second:5, second:6); write #pragma gridloom before one, or name "
            "it with --function and --loop",
        ),
        ({"function": "third"}, "has no function 'third'; functions with loops: first, second"),
        ({"loop": 3}, "has no loop 3; the file has 3, counted from 0"),
        ({"function": "first", "loop": 1}, "has no loop 1; function 'first' has 1, counted from 0"),
    ],
)
def test_a_loop_that_is_not_clear_is_asked_for(c_file, options, message):
    path = c_file(TWO)
    with pytest.raises(SourceError) as caught:
        load(path, **options)
    assert caught.value.message == message
    assert caught.value.where == str(path)


def test_a_file_without_a_loop_says_so(c_file):
    path = c_file("int f(int n) { int s = 0; for (int i = 0; i < n; i++) s += i; return s; }")
    with pytest.raises(SourceError, match="has no loop left after optimisation"):
        load(path)


def test_a_loop_of_which_nothing_is_left_says_so(c_file):
    path = c_file(
        "int f(int p, int q, int n) {\n"
        "  int s = 0;\n"
        "  short y = p;\n"
        "  for (int i = 0; i < n; i++)\n"
        "    y -= (s >> 21) + (int)((unsigned)q << 31);\n"
        "  return s ^ y;\n"
        "}"
    )
    with pytest.raises(SourceError) as caught:
        load(path)
    nothing = "computes nothing: it stores nothing and changes no value that is used after it"
    assert caught.value.message == f"{nothing}; gridloom compile {path}:f runs it in pieces"
    assert caught.value.where == f"{path}:5: loop in 'f'"


# -- limits ---------------------------------------------------------------------------------------------------------


LIMITS = {
    "break": (3, "has 2 ways out", """int f(int *x, int n) {
  for (int i = 0; i < n; i++)
    if (x[i] == 7)
      return i;
  return -1;
}"""),
    "while": (4, "ends when a value that it computes says so", """int f(unsigned x) {
  int c = 0;
  while (x > 1) {
    x = x & 1 ? 3 * x + 1 : x >> 1;
    c++;
  }
  return c;
}"""),
    "double": (4, "it computes with double", """void f(double *x, int n) {
  for (int i = 0; i < n; i++)
    x[i] *= 2;
}"""),
    "int64": (4, "it shifts a 64-bit integer by an amount that it computes", """void f(int64_t *x, int n) {
  for (int i = 0; i < n; i++)
    x[i] <<= i;
}"""),
    "call": (5, "it calls 'g', which clang did not inline; give its definition as static inline", """void g(int);
void f(int *x, int n) {
  for (int i = 0; i < n; i++)
    g(x[i]);
}"""),
    "list": (7, "the loop loads or stores a pointer", """struct n { int v; struct n *next; };
int f(struct n *p, int n) {
  int s = 0;
  for (int i = 0; i < n; i++) {
    s += p->v;
    p = p->next;
  }
  return s;
}"""),
    "volatile": (4, "the loop has volatile accesses", """void f(volatile int *x, int n) {
  for (int i = 0; i < n; i++)
    x[i] = 3;
}"""),
    "nest": (4, "has a loop inside", """void f(int (*a)[8], int n) {
#pragma gridloom
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      a[i][j] = i;
}"""),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_names_file_line_and_what_to_do(c_file, name):
    line, message, text = LIMITS[name]
    path = c_file(text)
    with pytest.raises(SourceError) as caught:
        load(path)
    assert message in caught.value.message
    assert str(caught.value).startswith(f"{path}:{line}:")


def test_bad_c_is_clangs_message_with_file_and_line(c_file):
    path = c_file("void f(int *x) {\n  x[0] = y;\n}")
    with pytest.raises(SourceError) as caught:
        load(path)
    assert str(caught.value) == f"{path}:3:10: clang: use of undeclared identifier 'y'"


def test_a_compiler_that_is_not_there_is_reported(c_file, monkeypatch):
    monkeypatch.setenv("GRIDLOOM_CLANG", "/nowhere/clang")
    path = c_file("void f(void) {}")
    with pytest.raises(SourceError, match=r"clang \(/nowhere/clang\) cannot be started: No such file or directory"):
        load(path)


def test_missing_file_is_reported(tmp_path: Path):
    with pytest.raises(SourceError, match="there is no such file"):
        load_source(str(tmp_path / "none.c"))


# -- options --------------------------------------------------------------------------------------------------------

SCALE = "void f(int *restrict x, int *restrict y, int n) { for (int i = 0; i < n; i++) y[i] = 3 * x[i]; }"


def test_source_text_carries_the_options(c_file):
    path = c_file(SCALE)
    assert parse_spec("a.c:f,loop=1,unroll=2,flatten=true,memory=streams,size.x=9")[1] == COptions(
        function="f", loop=1, unroll=2, flatten=True, memory="streams", sizes={"x": 9}
    )
    assert {a.name: a.length for a in load_source(f"{path}:f,size.x=33").arrays} == {"x": 33, "y": 1024}
    streams = load_source(f"{path}:memory=streams")
    assert sorted(node.op for node in streams.nodes if node.op != "const") == ["input", "mul", "output"]
    with pytest.raises(OptionError, match="found 'unrol=2'; expected loop=N, flatten=true"):
        load_source(f"{path}:f,unrol=2")
    with pytest.raises(OptionError, match="size of 'z': the loop has no array of that name; it has: x, y"):
        load_source(f"{path}:f,size.z=2")


def test_unrolled_graph_computes_the_same_with_the_same_counter(c_file):
    path = c_file("int f(int *restrict x, int *restrict y, int n) { int s = 5, t = 0; for (int i = 0; i < n; i++) {"
                  " s = s * 3 + x[i] - t; t = x[i] ^ s; y[i] = t; } return s; }")  # fmt: skip
    memory = {"x": ints(1024).astype(np.int64), "y": np.zeros(1024, np.int64)}
    once = load(path).dfg
    for factor in (2, 3, 4):
        more = load(path, unroll=factor).dfg
        a = Interpreter(once).run(Stimulus(iterations=24, memory=memory))
        b = Interpreter(more).run(Stimulus(iterations=24 // factor, memory=memory))
        np.testing.assert_array_equal(a.memory["y"], b.memory["y"])
        assert a.liveouts == b.liveouts
    assert recurrence_mii(load(c_file(SCALE), unroll=4).dfg) == 1
    with pytest.raises(OptionError, match="unroll = 65; expected 1 to 64"):
        load(path, unroll=65)


NEST = """
void f(const int (*restrict a)[5], const int *restrict x, int *restrict y, int n) {
  for (int i = 0; i < n; i++) {
    int s = 0;
    for (int j = 0; j < 5; j++)
      s += a[i][j] * x[j];
    y[i] = s;
  }
}
"""


def test_a_nest_is_flattened_into_one_loop(c_file):
    path = c_file(NEST)
    arguments = {"a": ints(100).reshape(20, 5), "x": ints(5), "y": ints(20), "n": 20}
    machine = run_both(path, COptions(flatten=True), arguments)
    assert machine.trips == [100]
    assert "store_if" in [node.op for node in machine.loop.dfg.nodes]


COUNTED = """
void f(const int *restrict x, int *restrict y, int n) {
  for (int i = 0; i < n; i++) {
    int k = 0, v = x[i] & 31;
    while (v > 0) {
      v = v & 1 ? v - 1 : v >> 1;
      k++;
    }
    y[i] = k;
  }
}
"""


def test_flattening_takes_an_inner_loop_that_ends_early_or_never_starts(c_file):
    path = c_file(COUNTED)
    run_both(path, COptions(flatten=True), {"x": ints(30), "y": ints(30), "n": 30})


# -- memory ---------------------------------------------------------------------------------------------------------


def orders(path: Path, **options) -> list[tuple[str, str, int]]:
    return [(e.source, e.target, e.distance) for e in load(path, **options).dfg.edges if e.kind == "order"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x[i + 3] = x[i] + 1;", [("store_x", "load_x", 3)]),
        ("x[i] = x[i + 3] + 1;", [("load_x", "store_x", 3)]),
        ("x[i] = x[i] * 3;", [("load_x", "store_x", 0)]),
        ("x[2 * i] = x[2 * i + 1];", []),
        ("x[2 * i] = x[2 * i + 6];", [("load_x", "store_x", 3)]),
        ("x[i + p] = x[i + p + 2];", [("load_x", "store_x", 2)]),
        ("x[i + p] = x[i];", [("load_x", "store_x", 0), ("store_x", "load_x", 1)]),
    ],
)
def test_distances_are_proved_from_affine_indices(c_file, body, expected):
    path = c_file(f"void f(int *x, int p, int n) {{ for (int i = 0; i < n; i++) {body} }}")
    assert orders(path) == expected


def test_arrays_that_may_overlap_are_kept_in_order_and_restrict_is_advised(c_file):
    text = "void f(int *x, int *y, int n) { for (int i = 0; i < n; i++) y[i] = x[i] + 1; }"
    loop = load(c_file(text))
    assert loop.advice() == [
        "x and y may overlap, so their accesses are kept in order; 'restrict' on x or y removes that"
    ]
    assert [(e.source, e.target, e.distance) for e in loop.dfg.edges if e.kind == "order"] == [
        ("load_x", "store_y", 0),
        ("store_y", "load_x", 1),
    ]
    free = load(c_file(text.replace("*y", "*restrict y")))
    assert free.advice() == []
    assert [e for e in free.dfg.edges if e.kind == "order"] == []
    other = load(c_file(text.replace("int *x", "float *x")))
    assert other.advice() == []


STRUCT = """
struct s { int a; int16_t b; uint8_t c; };
void f(struct s *p, int n) {
  for (int i = 0; i < n; i++) {
    p[i].b += p[i].a;
    p[i].c ^= 1;
  }
}
"""


def test_members_of_a_struct_are_arrays_of_their_own(c_file):
    path = c_file(STRUCT)
    kind = np.dtype([("a", "i4"), ("b", "i2"), ("c", "u1"), ("", "u1")])
    data = np.frombuffer(np.random.default_rng(0).bytes(40 * kind.itemsize), kind).copy()
    machine = run_both(path, COptions(), {"p": data, "n": 40})
    assert [(a.name, a.offset, a.stride, a.size) for a in machine.loop.arrays] == [
        ("p_0", 0, 8, 4), ("p_4", 4, 8, 2), ("p_6", 6, 8, 1),
    ]  # fmt: skip


def test_tables_of_the_source_come_with_their_contents(c_file):
    path = c_file("static const uint8_t t[4] = {200, 1, 2, 3};\n"
                  "void f(int *x, int n) { for (int i = 0; i < n; i++) x[i] = t[x[i] & 3]; }")  # fmt: skip
    assert {a.name: a.contents for a in load(path).arrays} == {"x": None, "t": (200, 1, 2, 3)}


def test_a_load_under_a_condition_never_leaves_its_array(c_file):
    path = c_file("int f(int *x, int n) { int s = 0; for (int i = 0; i < n; i++) if (i > 0) s += x[i - 1]; return s; }")
    arguments = {"x": ints(20), "n": 20}
    run_both(path, COptions(), arguments)
    assert graph_of(path, COptions(), arguments).arrays[0].length == 20


# -- the list -------------------------------------------------------------------------------------------------------


def test_describe_lists_every_loop_and_why_one_cannot_be_mapped(c_file):
    path = c_file(NEST + "int g(int *x, int n) { for (int i = 0; i < n; i++) if (x[i]) return i; return 0; }")
    outer, inner, search = describe(path)
    assert (outer.function, outer.number, outer.line, outer.innermost) == ("f", 0, 4, False)
    assert "has a loop inside; name the inner one (--loop), or run both as one (--flatten)" in outer.limit
    assert (inner.number, inner.line, inner.depth, inner.rec_mii, inner.trip, inner.limit) == (1, 6, 1, 1, "5", None)
    assert (inner.ops["load"], inner.ops["mul"]) == (2, 1)
    assert "has 2 ways out" in search.limit


# -- the compiler ---------------------------------------------------------------------------------------------------


def fake_clang(folder: Path, script: str) -> str:
    """A program that stands for clang; its last argument but one is the file to write."""
    path = folder / "clang"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_ir_that_llvmlite_does_not_know_is_reported_with_what_to_do(c_file, tmp_path, monkeypatch):
    path = c_file("void f(void) {}")
    script = 'while [ "$1" != -o ]; do shift; done; echo "define new syntax" > "$2"'
    monkeypatch.setenv("GRIDLOOM_CLANG", fake_clang(tmp_path, script))
    with pytest.raises(SourceError, match=r"the compiler's IR cannot be read: .*brings a pair that fits$"):
        load(path)


def test_a_compiler_that_ends_without_a_word_is_reported(c_file, tmp_path, monkeypatch):
    path = c_file("void f(void) {}")
    monkeypatch.setenv("GRIDLOOM_CLANG", fake_clang(tmp_path, "exit 3"))
    with pytest.raises(SourceError) as caught:
        load(path)
    assert str(caught.value) == f"{path}: clang: clang ended with status 3"


def test_nothing_is_left_behind_and_the_source_folder_is_not_written_to(c_file):
    path = c_file(SCALE)
    before = sorted(path.parent.iterdir())
    load(path)
    assert sorted(path.parent.iterdir()) == before


SWITCHES = """
void f(const int *restrict x, int *restrict y, int n) {
  for (int i = 0; i < n; i++) {
    int v = x[i];
    switch (v & 3) {
    case 0: v += 7; break;
    case 1: y[i + 64] = v; /* falls through */
    case 2: v ^= 0x55; break;
    case 3: v = -v; break;
    }
    switch (v >> 28) {
    case -3: y[i + 128] = 1; break;
    case 2: case 5: v >>= 1; break;
    default: v--;
    }
    y[i] = v;
  }
}
"""


def test_switches_with_all_cases_with_fall_through_and_with_a_default(c_file):
    machine = run_both(c_file(SWITCHES), COptions(), {"x": ints(50), "y": ints(200), "n": 50})
    assert [node.op for node in machine.loop.dfg.nodes].count("store_if") == 2


NARROW = """
int f(const uint8_t *restrict x, uint16_t *restrict y, int n) {
  int s = 0;
  for (uint8_t i = 0; i < n; i++) {
    y[i] = (uint32_t)((uint64_t)(x[i] * 0x9E3779B9u) * 0xDEADBEEFu >> 37);
    s += (int)(((long long)s * (unsigned)(x[i] << 24)) >> 31);
    s ^= (uint8_t)(x[i] << (i & 7) | x[i] >> (-i & 7));
  }
  return s;
}
"""


def test_narrow_counters_unsigned_products_and_rotations_by_run_time_amounts(c_file):
    run_both(c_file(NARROW), COptions(), {"x": np.arange(200, dtype="u1") * 7, "y": np.zeros(200, "u2"), "n": 200})


@pytest.mark.parametrize("n", [0, 1, 2])
def test_short_trip_counts(c_file, n):
    path = c_file("int f(int *x, int p, int n) { int s = p, t = 3, u = 1; for (int i = 0; i < n; i++) {"
                  " s = t + x[i]; t = u; u = s; x[i] = s; } return s ^ t ^ u; }")  # fmt: skip
    run_both(path, COptions(), {"x": ints(8), "p": 11, "n": n})


def test_a_store_under_a_condition_streams_by_writing_back(c_file):
    path = c_file("void f(const int *restrict x, int16_t *restrict y, int p, int n) { for (int i = 0; i < n; i++)"
                  " if (x[i] > p) y[i] = x[i]; }")  # fmt: skip
    machine = run_both(path, COptions(memory="streams"), {"x": ints(40), "y": ints(40).astype("i2"), "p": 0, "n": 40})
    assert sorted(node.op for node in machine.loop.dfg.nodes if node.op in ("input", "output")) == [
        "input", "input", "output",
    ]  # fmt: skip


def test_an_array_holds_what_its_promise_or_its_largest_offset_says(c_file):
    path = c_file("void f(const int x[restrict static 100], int *restrict y, int n) { for (int i = 0; i < n; i++)"
                  " y[i + 2000] = x[i]; }")  # fmt: skip
    assert {array.name: array.length for array in load(path).arrays} == {"x": 100, "y": 3024}


def test_nodes_know_the_line_that_they_come_from(c_file):
    path = c_file("void f(int *restrict x, int n) {\n  for (int i = 0; i < n; i++) {\n    int v = x[i];\n"
                  "    v *= 3;\n    x[i] = v;\n  }\n}")  # fmt: skip
    loop = load(path)
    assert {node: loop.lines[node] for node in ("load_x", "mul", "store_x")} == {"load_x": 4, "mul": 5, "store_x": 6}


NAMED = """
void scale(int *restrict out, const int *restrict in, int n, int gain, int lo) {
  int base = gain * 7 + lo;
  for (int row = lo; row < n; row++) out[row + base] = in[row * 2] * gain + base;
}
void rows(int *restrict c, const int *restrict a, const int *restrict weight, int n, int m) {
  for (int i = 0; i < n; i++) {
    int sum = c[i];
    for (int k = 0; k < m; k++) sum += a[i * m + k] * weight[i];
    c[i] = sum;
  }
}
"""


@pytest.mark.parametrize(
    ("function", "names"),
    [("scale", {"gain", "base", "in_index_start", "out_index_start"}), ("rows", {"i_times_m", "sum", "weight_i"})],
)
def test_live_ins_bear_names_of_the_source(c_file, function: str, names: set[str]):
    """A value without a variable is named by what it is computed from, a counter by the array whose index it is."""
    assert set(load_source(f"{c_file(NAMED)}:{function}").liveins) == names
