"""Whole functions: values equal native code, whichever way their loops begin, end and overlap."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gridloom as gl
from gridloom.errors import GridloomError, OptionError, SourceError

pytest.importorskip("llvmlite")
pytest.importorskip("ziglang")
pytestmark = pytest.mark.tools

SOURCE = """
#include <stdint.h>

void gemm(int n, const int *restrict A, const int *restrict B, int *restrict C) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      C[i * n + j] *= 3;
      for (int k = 0; k < n; k++) C[i * n + j] += A[i * n + k] * B[k * n + j];
    }
}

void trisolv(int n, float L[8][8], float *restrict x, const float *restrict b) {
  for (int i = 0; i < n; i++) {
    x[i] = b[i];
    for (int j = 0; j < i; j++) x[i] -= L[i][j] * x[j];
    x[i] = x[i] / L[i][i];
  }
}

int find(const int *a, int n, int x) {
  for (int i = 0; i < n; i++) if (a[i] == x) return i;
  return -1;
}

void copy_string(char *d, const char *s) { while ((*d++ = *s++)); }

const char *find_char(const char *s, char c) {
  for (; *s; s++) if (*s == c) return s;
  return 0;
}

void insertion_sort(int *a, int n) {
  for (int i = 1; i < n; i++) {
    int key = a[i], j = i - 1;
    while (j >= 0 && a[j] > key) { a[j + 1] = a[j]; j--; }
    a[j + 1] = key;
  }
}

void shift(int *a, int *b, int n) { for (int i = 0; i < n; i++) a[i + 1] = b[i] + 1; }

int64_t sum64(const int64_t *a, int n) { int64_t s = 0; for (int i = n - 1; i >= 0; i -= 2) s += a[i]; return s; }

uint8_t narrow(uint8_t *p, int16_t *q, int n, uint8_t k) {
  uint8_t total = k;
  for (int i = 0; i < n; i++) { p[i] += q[i]; total ^= p[i]; q[i] >>= 1; }
  return total;
}

void swap_words(uint32_t *p, uint16_t *q, int n) { for (int i = 0; i < n; i++) q[i] = (uint16_t)(p[i] >> 3); }

int histogram[8];
int count;
void counted(const uint8_t *p, int n) {
  for (int i = 0; i < n; i++) { histogram[p[i] & 7]++; if (p[i] > 100) count++; }
}

int windows(const int *restrict a, int n) {
  int best = 0;
  for (int i = 0; i < n; i++) {
    int s = 0;
#pragma nounroll
    for (int y = 0; y < 3; y++)
#pragma nounroll
      for (int x = 0; x < 3; x++) s += a[i * 8 + y * 32 + x * 2];
    best = s > best ? s : best;
  }
  return best;
}
int ragged(const int *restrict a, const int *restrict length, int n) {
  int s = 0;
  for (int i = 0; i < n; i++) {
    int t = i ^ s, w = s + 1, k = i, m = s >> 1;
    for (int j = 0; j < length[i]; j++) { t ^= a[j]; w += t; k |= w; m -= k; }
    s += t + w + (k ^ m);
  }
  return s;
}
void row_sums(const int *restrict A, const int *restrict x, int *restrict y, int n, int m) {
  for (int i = 0; i < n; i++) {
    int s = 0;
    for (int j = 0; j < m; j++) s += A[i * m + j] * x[j] ^ i;
    y[i] = s;
  }
}
int64_t wide_sums(int64_t *a, int n, int64_t k) {
  int64_t s = k;
  for (int i = 0; i < n; i++) { s += a[i] ^ k; a[i] = s - (a[i] >> 7); }
  return s;
}
int64_t wide_search(const int64_t *a, int n, int64_t k) {
  int64_t s = k;
  for (int i = 0; i < n; i++) { if (a[i] == k) break; s += a[i] * 3; }
  return s;
}
int power(int base, int exponent) { return exponent ? base * power(base, exponent - 1) : 1; }
int outside(const int *a, int n) { int s = 0; for (int i = 0; i <= n; i++) s += a[i]; return s; }
int endless(int n) { volatile int x = n; while (x) { } return x; }
int quotient(int a, int b) { return a / b; }
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("functions") / "functions.c"
    path.write_text(SOURCE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def compiled(source):
    """A function that compiles one of the source's once."""
    known = {}

    def get(name):
        if name not in known:
            known[name] = gl.compile(f"{source}:{name}", "torus:4x4", effort=20_000)
        return known[name]

    return get


def numbers(shape, seed=0, dtype=np.int32, low=-50, high=50):
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def line_of(name):
    """The line that a function of one line stands on."""
    return next(k for k, text in enumerate(SOURCE.split("\n"), 1) if f" {name}(" in text)


def only(run):
    """What the one innermost loop cost."""
    return list(run.loops.values())[-1]


def check(run, *, simulated=True):
    """Values equal native code, and loops were simulated."""
    assert run.native.agrees, run.native
    assert (sum(row.simulated for row in run.loops.values()) > 0) is simulated
    assert run.cycles == run.breakdown["total"] == sum(v for k, v in run.breakdown.items() if k != "total")


def test_an_imperfect_nest_leaves_the_product(compiled):
    a, b, c = (numbers((5, 5), seed) for seed in range(3))
    run = compiled("gemm").run(n=5, A=a, B=b, C=c, always=True)
    check(run)
    assert (run.arrays["C"] == 3 * c + a @ b).all()
    assert only(run).launches == 25 and only(run).iterations == 125


def test_arrays_that_are_given_stay_as_they_are(compiled):
    c = numbers((2, 2))
    before = c.copy()
    compiled("gemm").run(n=2, A=numbers((2, 2)), B=numbers((2, 2)), C=c)
    assert (c == before).all()


def test_singles_of_a_triangular_nest_round_as_native_code_does(compiled):
    rng = np.random.default_rng(3)
    matrix = (rng.random((8, 8)) + 1).astype(np.float32)
    run = compiled("trisolv").run(n=8, L=matrix, x=np.zeros(8, np.float32), b=rng.random(8).astype(np.float32))
    check(run)


@pytest.mark.parametrize("place", [0, 15, 16, 47, 48, 99, None])
def test_a_search_ends_in_whichever_piece_its_exit_is(compiled, place):
    data = np.zeros(100, np.int32)
    if place is not None:
        data[place] = 7
    run = compiled("find").run(a=data, n=100, x=7, always=True)
    check(run)
    assert run.value == (-1 if place is None else place)
    assert only(run).pieces == {0: 1, 15: 1, 16: 2, 47: 2, 48: 3, 99: 3, None: 3}[place]


def test_a_loop_without_iterations_launches_nothing(compiled):
    run = compiled("find").run(a=np.zeros(1, np.int32), n=0, x=7)
    check(run, simulated=False)
    assert run.value == -1 and only(run).launches == 0


def test_stores_after_the_exit_are_suppressed(compiled):
    text = b"a line of more than sixteen characters\0"
    run = compiled("copy_string").run(d=bytearray(b"x" * 60), s=text)
    check(run)
    assert run.arrays["d"].tobytes() == text.ljust(60, b"x")[: len(text)] + b"x" * (60 - len(text))


def test_a_returned_pointer_is_told_as_array_and_byte(compiled):
    run = compiled("find_char").run(s=b"hello world\0", c=ord("w"))
    check(run)
    assert run.value == ("s", 6)
    assert compiled("find_char").run(s=b"hello\0", c=ord("w")).value is None


def test_a_loop_that_runs_backwards_until_a_value_says_so(compiled):
    data = numbers(20, 5)
    run = compiled("insertion_sort").run(a=data, n=20)
    check(run)
    assert (run.arrays["a"] == np.sort(data)).all()


def test_arrays_that_share_memory_overlap_in_c(compiled):
    data = numbers(20)
    run = compiled("shift").run(a=data[:16], b=data[:16], n=15)
    check(run)
    assert run.arrays["a"].tolist() == [data[0] + k for k in range(16)]
    apart = compiled("shift").run(a=data[:16], b=data[2:18], n=10)
    check(apart)


def test_bytes_that_are_elements_of_two_sizes_are_left_to_the_host(compiled):
    words = numbers(16, 1, np.uint32, 0, 1 << 20)
    run = compiled("swap_words").run(p=words, q=words.view(np.uint16), n=16)
    assert run.native.agrees
    assert only(run).kept_on_host == 1
    assert only(run).kept_reason == "its array q shares bytes with another one of different elements"


def test_wide_integers_are_right_wherever_they_run(compiled):
    data = numbers(9, 2, np.int64, -(1 << 62), 1 << 62)
    run = compiled("sum64").run(a=data, n=9)
    assert run.native.agrees
    assert run.value == data[::2].sum()


def test_narrow_types_wrap_around(compiled):
    run = compiled("narrow").run(
        p=numbers(30, 1, np.uint8, 0, 255), q=numbers(30, 2, np.int16, -3000, 3000), n=30, k=200
    )
    check(run)
    assert run.value.dtype == np.uint8


def test_variables_of_the_file_are_given_and_left(compiled):
    run = compiled("counted").run(
        p=numbers(40, 1, np.uint8, 0, 255), n=40, histogram=np.arange(8, dtype=np.int32), count=5
    )
    check(run)
    assert run.variables["histogram"].sum() == 28 + 40 and run.variables["count"][0] > 5


def test_calls_that_clang_did_not_inline_run_on_the_host(compiled):
    run = compiled("power").run(base=3, exponent=5)
    assert run.native.agrees and run.value == 243


def test_fewer_simulated_launches_change_no_cycle(compiled):
    given = {"n": 4, "A": numbers((4, 4)), "B": numbers((4, 4), 1), "C": numbers((4, 4), 2)}
    some, every = compiled("gemm").run(simulate=1, **given), compiled("gemm").run(simulate="all", **given)
    assert some.breakdown == every.breakdown
    assert only(some).simulated == 5 and only(every).simulated == 16


def test_random_truth_values_are_0_or_1(tmp_path):
    path = tmp_path / "bools.c"
    path.write_text(
        "int f(const _Bool *b, int n) { int s = 0; for (int i = 0; i < n; i++) s = s * 3 + b[i]; return s; }"
    )
    run = gl.compile(f"{path}:f", "torus:2x2", effort=200).run(seed=1)
    assert set(run.arrays["b"].tolist()) == {0, 1}


def test_random_arguments_are_the_same_for_the_same_seed(compiled):
    first, second = (compiled("find").run(seed=4, n=30) for _ in range(2))
    assert first.value == second.value and (first.arrays["a"] == second.arrays["a"]).all()


FIND = {"a": [1], "n": 1, "x": 1}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a": ...}, "'find' needs an array for 'a' (int *): give a=ARRAY, --data a=FILE.npy or --random SEED"),
        ({"n": ...}, "'find' needs a number for 'n' (int): give n=NUMBER, --args n=NUMBER or --random SEED"),
        ({"y": 2}, "'find' has no parameter or variable 'y'; it has: a, n, x, histogram, count"),
        ({"a": np.zeros(3, np.int16)}, "'a' takes int32, found an array of int16; convert it with .astype"),
        ({"a": 5}, "'a' is a pointer (int *); expected an array, found 5"),
        ({"n": 1 << 40}, "'n' is 1099511627776; int holds -2147483648 to 2147483647"),
        ({"n": 1.5}, "'n' takes an integer (int), found 1.5"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_words(compiled, change, message):
    given = {name: value for name, value in {**FIND, **change}.items() if value is not ...}
    with pytest.raises(OptionError) as raised:
        compiled("find").run(**given)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        (
            "outside",
            {"a": [1, 2], "n": 2},
            "reads 4 bytes at byte 8 of a, which has 8; give a longer array, or smaller",
        ),
        ("outside", {"a": None, "n": 2}, "reads at address 0, through a pointer that leads nowhere"),
        ("quotient", {"a": 1, "b": 0}, "divides by zero"),
    ],
)
def test_a_run_that_c_does_not_define_is_refused_with_its_line(compiled, source, name, given, message):
    with pytest.raises(SourceError) as raised:
        compiled(name).run(**given)
    assert f"{source}: line {line_of(name)} {message}" in str(raised.value)


def test_a_function_that_does_not_end_is_stopped(compiled, monkeypatch):
    monkeypatch.setattr("gridloom.flow.functions.run.LIMIT", 1000)
    with pytest.raises(SourceError, match=f"line {line_of('endless')} runs for too many iterations"):
        compiled("endless").run(n=1)


def test_what_names_no_function_is_refused(source):
    with pytest.raises(OptionError) as raised:
        gl.compile("functions.py:f", "torus:4x4")
    assert "expected FILE.c, FILE.c:FUNCTION or FILE.mlir:FUNCTION, found 'functions.py:f'" in str(raised.value)
    with pytest.raises(OptionError) as raised:
        gl.compile(source, "torus:4x4")
    assert "has no main and these functions: gemm, trisolv" in str(raised.value)


def test_an_unknown_function_is_refused_with_those_there_are(source):
    with pytest.raises(GridloomError, match="has no function 'nothing'; it has: gemm, trisolv"):
        gl.compile(f"{source}:nothing", "torus:4x4")


def test_an_array_without_memory_units_leaves_all_to_the_host(source):
    compiled = gl.compile(f"{source}:shift", "mesh:4x4")
    assert compiled.loops[0].reason == "array mesh:4x4 has no memory units"
    run = compiled.run(a=numbers(9), b=numbers(9), n=8)
    assert run.native.agrees and run.cycles - run.data_movement == run.host == run.single_issue


def test_a_saved_function_runs_again_without_a_search(compiled, tmp_path):
    from gridloom.flow.functions.files import dumps, load

    path = tmp_path / "find.json"
    path.write_text(dumps(compiled("find")), encoding="utf-8")
    again = load(path, Path(compiled("find").program.file))
    given = {"a": numbers(64, 3), "n": 64, "x": 7}
    assert again.run(**given).breakdown == compiled("find").run(**given).breakdown


def test_a_saved_function_whose_source_changed_is_refused(tmp_path):
    from gridloom.errors import MappingError
    from gridloom.flow.functions.files import dumps, load

    source, saved = tmp_path / "f.c", tmp_path / "f.json"
    source.write_text("void f(int *a, int n) { for (int i = 0; i < n; i++) a[i] += 3; }", encoding="utf-8")
    saved.write_text(dumps(gl.compile(f"{source}:f", "torus:4x4", effort=2000)), encoding="utf-8")
    source.write_text("void f(int *a, int n) { for (int i = 0; i < n; i++) a[i] += 4; }", encoding="utf-8")
    with pytest.raises(
        MappingError, match="is mapped from another source than there is now; compile the function again"
    ):
        load(saved, source)


@pytest.mark.parametrize("always", [False, True])
def test_the_timeline_has_every_cycle_once(compiled, always):
    run = compiled("gemm").run(n=3, A=numbers(9), B=numbers(9), C=numbers(9), trace=True, always=always)
    now = 0
    for event in run.events:
        assert event.start == now
        now += event.cycles
    assert now == run.cycles
    assert {event.unit for event in run.events} <= {"memory", "host", "array"}
    assert not always or "array" in {event.unit for event in run.events}


def test_a_nest_that_is_faster_as_one_loop_is_launched_as_a_whole(compiled):
    given = {"a": numbers(600, 1), "n": 20}
    run, inner = compiled("windows").run(simulate="all", **given), compiled("windows").run(always=True, **given)
    check(run)
    nest, innermost = (row for row in run.loops.values())
    assert (nest.launches, nest.simulated, nest.iterations) == (20, 20, 180)
    assert innermost.launches == 0 and innermost.in_nest == 60
    assert run.cycles < inner.cycles


def test_launches_that_take_longer_on_the_array_are_moved_to_the_host(compiled):
    given = {"a": numbers(64, 3), "n": 1, "x": 1000}
    run, launched = compiled("find").run(**given), compiled("find").run(always=True, **given)
    assert run.cycles == run.single_issue == run.host < launched.cycles
    assert only(run).moved == 1 and only(run).launches == 0 and run.data_movement == 0
    assert only(run).simulated == 1


def test_a_counted_loop_goes_to_the_array_from_the_number_of_iterations_that_pays(compiled):
    lengths = np.where(np.arange(40) % 5, 1, 30).astype(np.int32)
    run = compiled("ragged").run(a=numbers(40), length=lengths, n=40)
    inner = only(run)
    assert run.native.agrees and inner.threshold == 2
    assert (inner.launches, inner.moved) == (8, 32)


@pytest.mark.parametrize(("n", "jams", "plain"), [(20, 10, 0), (21, 10, 1)])
def test_several_iterations_of_the_loop_around_run_side_by_side(compiled, n, jams, plain):
    run = compiled("row_sums").run(simulate="all", A=numbers(n * 30), x=numbers(30, 1), y=numbers(n), n=n, m=30)
    check(run)
    jammed = next(row for name, row in run.loops.items() if name.endswith("_jam2"))
    assert (jammed.launches, jammed.simulated, jammed.iterations) == (jams, jams, 30 * jams)
    assert only(run).in_nest == 2 * jams and only(run).launches + only(run).moved == plain


def test_a_saved_function_keeps_loops_side_by_side(compiled, tmp_path):
    from gridloom.flow.functions.files import dumps, load

    path = tmp_path / "rows.json"
    path.write_text(dumps(compiled("row_sums")), encoding="utf-8")
    again = load(path, Path(compiled("row_sums").program.file))
    assert [loop.text for loop in again.loops] == [loop.text for loop in compiled("row_sums").loops]


@pytest.mark.parametrize("name", ["wide_sums", "wide_search"])
def test_64_bit_elements_and_live_ins_run_on_the_array(compiled, name):
    data = numbers(40, 2, np.int64, -(1 << 62), 1 << 62)
    run = compiled(name).run(a=data, n=40, k=int(data[33]), simulate="all", always=True)
    check(run)
    assert run.loops and only(run).launches == 1


def test_the_report_shows_throughput_by_array_size(compiled):
    from gridloom.flow.functions.describing import sizes_text

    head, line = sizes_text(compiled("row_sums")).split("\n")
    assert head == "iterations per cycle by array size, as the bounds allow"
    rates = dict(part.split(": ") for part in line.partition(": ")[2].split(", "))
    assert list(rates) == ["2x2", "4x4", "8x8", "16x16"]
    assert float(rates["2x2"]) < 1 < float(rates["4x4"]) <= float(rates["8x8"]) <= float(rates["16x16"])
