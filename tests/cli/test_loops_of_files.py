"""``gridloom map`` and ``show`` on C and Python files: which loop, by which options, and what is said to mistakes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

pytestmark = pytest.mark.tools
needs_clang = pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None or importlib.util.find_spec("llvmlite") is None,
    reason="the extra c is not installed",
)

TWO = """\
int dot(const int *restrict a, const int *restrict b, int n) {
  int s = 0;
  for (int i = 0; i < n; i++)
    s += a[i] * b[i];
  return s;
}
void scale(const int *x, int *y, int n) {
  for (int i = 0; i < n; i++)
    y[i] = 3 * x[i];
}
int find(const int *x, int n) {
  for (int i = 0; i < n; i++)
    if (x[i] == 7)
      return i;
  return -1;
}
"""

NEST = """\
void rows(const int (*restrict a)[5], int *restrict y, int n) {
  for (int i = 0; i < n; i++) {
    int s = 0;
    for (int j = 0; j < 5; j++)
      s += a[i][j];
    y[i] = s;
  }
}
"""

WHILE = """\
int f(unsigned x) {
  int c = 0;
  while (x > 1) {
    x = x & 1 ? 3 * x + 1 : x >> 1;
    c++;
  }
  return c;
}
"""

CALL = """\
int g(int);
void f(int *x, int n) {
  for (int i = 0; i < n; i++)
    x[i] = g(x[i]);
}
"""

KERNELS = """\
from gridloom import Array, int32, kernel, loop

@kernel
def scale(x: Array[int32], y: Array[int32], n: int32):
    for i in loop(n):
        y[i] = x[i] * 3

@kernel
def endless(x: Array[int32], n: int32):
    for i in loop(n):
        if x[i] > 3:
            break
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "two.c").write_text(TWO)
    (tmp_path / "nest.c").write_text(NEST)
    (tmp_path / "k.py").write_text(KERNELS)
    (tmp_path / "while.c").write_text(WHILE)
    (tmp_path / "call.c").write_text(CALL)
    (tmp_path / "bad.c").write_text("void f(int *x) {\n  x[0] = y;\n}\n")
    return tmp_path


@needs_clang
def test_show_lists_the_loops_of_a_c_file(gridloom, files):
    assert (
        gridloom("show", "two.c").out
        == """\
two.c:dot,loop=0  (line 3, innermost)
  5 ops: 2 add, 2 load, 1 mul
  RecMII 1, n iterations
two.c:scale,loop=0  (line 8, innermost)
  4 ops: 1 add, 1 load, 1 mul, 1 store
  RecMII 3, n iterations
  x and y may overlap, so their accesses are kept in order; 'restrict' on x or y removes that
two.c:find,loop=0  (line 12, innermost)
  cannot be mapped: two.c:12: loop in 'find': has 2 ways out (lines 12, 13): early exits (break, return, && in \
the condition) are not taken; run all iterations and keep the result of the one that counts; gridloom compile \
two.c:find runs it in pieces
"""
    )


@needs_clang
def test_show_lists_loops_as_json(gridloom, files):
    dot, scale, find = gridloom("show", "two.c", "--json").record["loops"]
    assert (dot["source"], dot["place"], dot["rec_mii"], dot["limit"]) == (
        "two.c:dot,loop=0",
        "line 3, innermost",
        1,
        None,
    )
    assert dot["ops"] == {"load": 2, "mul": 1, "add": 2}
    assert len(scale["advice"]) == 1
    assert "has 2 ways out" in find["limit"] and find["ops"] == {}


@needs_clang
def test_what_show_lists_can_be_mapped_and_drawn(gridloom, files):
    for row in gridloom("show", "two.c", "--json").record["loops"]:
        drawn = gridloom("show", row["source"])
        assert drawn.status == (0 if row["limit"] is None else 2)
    assert gridloom("show", "two.c", "--function", "dot").out.startswith("two.dot\n")


def test_show_lists_the_kernels_of_a_python_file(gridloom, files):
    assert (
        gridloom("show", "k.py").out
        == """\
k.py:scale  (line 3)
  4 ops: 1 add, 1 load, 1 mul, 1 store
  RecMII 1
k.py:endless  (line 8)
  cannot be mapped: k.py:11: kernel 'endless': branches on a value of the loop; use gridloom.select, or store \
with when=
"""
    )


@needs_clang
def test_options_choose_the_loop_and_say_the_same_as_the_text(gridloom, files):
    options = ("--arch", "torus:4x4", "--time-limit", "20", "--json")
    by_words = gridloom("map", "two.c", "--function", "scale", "--unroll", "2", "--size", "x=64", *options)
    by_text = gridloom("map", "two.c:scale,unroll=2,size.x=64", *options)
    assert by_words.status == 0, by_words.err
    assert by_words.record["dfg"] == by_text.record["dfg"]
    assert by_words.record["dfg"]["name"] == "two.scale,unroll=2"
    assert by_words.record["verified"] == {"legal": True, "simulated": True, "compared_with": "source"}
    nested = gridloom("map", "nest.c", "--flatten", *options).record
    inner = gridloom("map", "nest.c", "--function", "rows", "--loop", "1", *options).record
    assert nested["status"] == inner["status"] == "mapped"
    assert nested["dfg"]["nodes"] > inner["dfg"]["nodes"]


def test_a_python_kernel_is_mapped_by_its_name(gridloom, files):
    for source in ("k.py:scale", "k.py:scale,unroll=2"):
        done = gridloom("map", source, "--arch", "torus:4x4", "--json")
        assert done.status == 0, done.err
        assert done.record["status"] == "mapped"
    assert gridloom("map", "k.py", "--function", "scale", "--arch", "mesh:3x3", "--json").record["dfg"]["nodes"] == 4


@needs_clang
def test_a_static_array_gets_streams_and_the_report_repeats_the_loop(gridloom, files):
    done = gridloom("map", "two.c", "--function", "dot", "--arch", "mesh:3x3", "--html", "r.html", "-o", "m.json")
    assert done.status == 0, done.err
    assert "gridloom map two.c:dot --arch mesh:3x3" in (files / "r.html").read_text()
    assert '"input"' in (files / "m.json").read_text() and '"load"' not in (files / "m.json").read_text()


WRONG = {
    "which loop": (
        ("two.c",),
        "two.c: the file has 3 innermost loops (dot:3, scale:8, find:12); write #pragma gridloom before one, or name "
        "it with --function and --loop",
    ),
    "function": (("two.c:dto",), "two.c: has no function 'dto'; functions with loops: dot, scale, find"),
    "loop": (
        ("two.c", "--function", "dot", "--loop", "1"),
        "two.c: has no loop 1; function 'dot' has 1, counted from 0",
    ),
    "flatten": (
        ("two.c", "--function", "dot", "--flatten"),
        "two.c:3: loop in 'dot': has no loop around it that could be flattened into it; leave out --flatten",
    ),
    "file": (("none.c:f",), "none.c: there is no such file"),
    "C": (("bad.c",), "bad.c:2:10: clang: use of undeclared identifier 'y'"),
    "array": (
        ("two.c:dot", "--size", "z=8"),
        "size of 'z': the loop has no array of that name; it has: a, b",
    ),
    "early exit": (
        ("two.c:find",),
        "two.c:12: loop in 'find': has 2 ways out (lines 12, 13): early exits (break, return, && in the condition) are "
        "not taken; run all iterations and keep the result of the one that counts; gridloom compile two.c:find runs it "
        "in pieces",
    ),
    "while": (
        ("while.c",),
        "while.c:3: loop in 'f': ends when a value that it computes says so; only loops whose number of iterations is "
        "known when they start are taken: count to a bound; gridloom compile while.c:f runs it in pieces",
    ),
    "call": (
        ("call.c",),
        "call.c:4: it calls 'g', which clang did not inline; give its definition as static inline",
    ),
    "kernel": (
        ("k.py:sclae",),
        "k.py: has no kernel 'sclae'; functions decorated with @gridloom.kernel: scale, endless",
    ),
    "kernels": (("k.py",), "k.py: has 2 kernels; functions decorated with @gridloom.kernel: scale, endless"),
    "built-in": (
        ("kernel:fir", "--flatten"),
        "'kernel:fir' takes none of --function, --loop, --flatten, --unroll, --distinct, --size and --assume-range; "
        "they are for loops of *.c and *.mlir and kernels of *.py",
    ),
}


@needs_clang
@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_one_line_and_status_2(gridloom, files, name):
    words, message = WRONG[name]
    done = gridloom("map", *words, "--arch", "torus:4x4")
    assert (done.status, done.out, done.err) == (2, "", f"error: {message}\n")


@needs_clang
def test_a_loop_that_is_no_stream_and_a_recurrence_are_refused_on_a_static_array(gridloom, files):
    Path("static.c").write_text("""\
void count(const unsigned char *restrict x, int *restrict h, int n) {
  for (int i = 0; i < n; i++)
    h[x[i]]++;
}
int carry(const int *restrict x, int n) {
  int s = 1;
  for (int i = 0; i < n; i++)
    s = (s ^ x[i]) * 3;
  return s;
}
void some(const int *restrict x, int *restrict y, int n) {
  for (int i = 0; i < n; i++)
    y[i + 1] = y[i] + x[i];
}
""")
    refused = gridloom("map", "static.c:count", "--arch", "mesh:4x4")
    message = "an access of h goes where the data say, so it is no stream; map the loop onto an array with memory units"
    assert (refused.status, refused.err) == (2, f"error: static.c:3: {message}\n")
    failed = gridloom("map", "static.c:carry", "--arch", "mesh:4x4")
    assert failed.status == 1
    assert "recurrence" in failed.out and "untried: a modulo-scheduled array (torus) with II 2" in failed.out
    assert gridloom("map", "static.c:count", "--arch", "torus:4x4", "--time-limit", "20").status == 0


def test_what_to_install_is_said_where_the_extra_is_missing(gridloom, files, monkeypatch):
    from gridloom.compiler.ir import driver

    monkeypatch.setattr(driver, "_zig", lambda: None)
    monkeypatch.delenv("GRIDLOOM_CLANG", raising=False)
    done = gridloom("map", "two.c:dot", "--arch", "torus:4x4")
    assert (done.status, done.err) == (2, "error: C sources need clang: pip install '.[c]', or let the "
                                       "environment's GRIDLOOM_CLANG name a clang\n")  # fmt: skip


@needs_clang
def test_what_to_install_is_said_where_llvmlite_is_missing(gridloom, files, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "llvmlite", None)
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    done = gridloom("map", "two.c:dot", "--arch", "torus:4x4")
    assert (done.status, done.err) == (2, "error: C sources need llvmlite: pip install '.[c]'\n")


def test_a_compiler_that_does_not_end_is_stopped(gridloom, files, monkeypatch):
    from gridloom.compiler.ir import driver

    slow = files / "clang"
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(0o755)
    monkeypatch.setenv("GRIDLOOM_CLANG", str(slow))
    monkeypatch.setattr(driver, "TIME_LIMIT", 0.2)
    done = gridloom("map", "two.c:dot", "--arch", "torus:4x4")
    assert (done.status, done.err) == (2, "error: two.c: clang did not end within 0.2 s and was stopped\n")


@needs_clang
def test_a_suite_of_our_examples_needs_no_folder_and_takes_streams_where_the_array_has_no_memory(gridloom, files):
    Path("two.yaml").write_text("""\
suite: two
files: examples
budget: {effort: 20000, time_limit: 30}
groups:
  - {sources: [prefix_sum.c], archs: ["torus:4x4"]}
  - {sources: ["saxpy.c", "fir.c:fir"], archs: ["onehop:9x9"]}
expected: {cells: 3, mapped: 3}
""")
    done = gridloom("bench", "two.yaml", "--jobs", "1", "--json")
    assert done.status == 0, done.err
    rows = done.record["rows"]
    assert [row["cell"]["source"] for row in rows] == ["prefix_sum.c", "saxpy.c", "fir.c:fir"]
    assert all(row["verified"] == {"legal": True, "simulated": True, "compared_with": "source"} for row in rows)
    assert all(row["elapsed"] >= row["seconds"] for row in rows)
    assert done.record["summary"]["median_elapsed"] == sorted(row["elapsed"] for row in rows)[1]


@needs_clang
def test_the_suite_of_c_loops_has_every_example(gridloom, files):
    from gridloom.flow.bench.suite import load_suite
    from gridloom.flow.files import examples_folder

    torus, static = load_suite("c-loops").groups
    assert sorted(torus.sources) == sorted(path.name for path in examples_folder().glob("*.c"))
    assert set(static.sources) < set(torus.sources)
