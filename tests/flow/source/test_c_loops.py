"""Graphs of C loops against the function's own IR: every form of a graph is compared, and errors are found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import gridloom as gl
from gridloom.compiler.c.lower import InstructionLowering
from gridloom.compiler.ir.ir import Value
from gridloom.compiler.loops.operations import Operand
from gridloom.dfg.model import Dfg
from gridloom.flow.loops.loop_text import read_loop
from gridloom.flow.source.comparison import SourceComparison

pytest.importorskip("llvmlite")
pytest.importorskip("ziglang")
pytestmark = pytest.mark.tools

SOURCE = """
int cases(const unsigned char *c, int n) {
  int t = 1;
  for (int i = 0; i < n; i++)
    switch (c[i]) { case 200: t = t * 7 + i; break; case 3: t ^= 9; break; case 130: t -= 5; break; default: t += 2; }
  return t;
}
void blend(const unsigned char *restrict a, const unsigned char *restrict b, unsigned char *restrict o, int n) {
  for (int i = 0; i < n; i++) if (a[i] > b[i]) o[i] = (a[i] * 3 + b[i]) >> 2;
}
void products(const int *restrict a, const int *restrict b, int *restrict c, int n) {
  for (int y = 0; y < n; y++) {
    int s = 0;
    for (int x = 0; x < 8; x++) s += a[8 * y + x] * b[x];
    c[y] = s;
  }
}
void rows(const short *restrict a, short *restrict b, int h, int w) {
  for (int y = 0; y < h; y++)
    for (int x = 0; x < 24; x++) b[y * 32 + x] = a[y * 32 + x] * 3 + y;
}
int element(const unsigned char *h, int n) {
  int s = 0;
  for (int i = 0; i < n; i++) if (i & 2) s = s * 3 + h[112];
  return s;
}
float scaled(const float *a, float f, int n) {
  float s = 0;
  for (int i = 0; i < n; i++) s = s * 0.5f + a[i] * f;
  return s;
}
int table[64];
static __attribute__((noinline)) int part(const int *p, int m) {
  int s = 0;
  for (int i = 0; i < m; i++) s = s * 5 + p[i] + table[i & 63];
  return s;
}
int called(const int *p) { return part(p, 5) + part(p + 3, 9); }
int linked(int **p, int n) {
  int *q = *p, s = 0;
  for (int i = 0; i < n; i++) s += q[i];
  return s;
}
"""
#: Source -> what accesses become.
FORMS = {
    "cases": "arrays", "cases,unroll=3": "arrays", "blend": "arrays", "blend,unroll=2": "arrays",
    "products,loop=1": "arrays", "products,loop=1,unroll=4": "arrays", "products,loop=1,jam=2": "arrays",
    "products,flatten=true": "arrays", "products,interchange=true": "arrays", "rows,loop=1": "arrays",
    "rows,flatten=true": "arrays", "rows,interchange=true": "arrays", "scaled": "arrays", "part": "arrays",
    "cases,memory=streams": "streams", "blend,memory=streams": "streams", "scaled,memory=streams": "streams",
    "element,memory=streams": "streams",
}  # fmt: skip


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "loops.c"
    path.write_text(SOURCE.lstrip("\n"))
    return path


def _changed(dfg: Dfg) -> Dfg:
    """The graph with one of its results off by a little: an error of a front end."""
    other = {"add": "sub", "sub": "add", "mul": "add", "fadd": "fsub", "fmul": "fadd", "umin": "umax"}
    carried = {edge.target for edge in dfg.edges if edge.distance}
    rows = [node for node in dfg.nodes if node.op in other]
    # A change of what is not an index shows in values; others may only leave the arrays.
    chosen = next((node for node in rows if node.op in ("mul", "fmul")), None) or next(
        node for node in rows if node.id in carried and node.liveout
    )
    changed = replace(chosen, op=other[chosen.op], op_class=None)
    return replace(dfg, nodes=tuple(changed if node is chosen else node for node in dfg.nodes), _checked=False)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_graph_is_compared_with_the_source(source: Path, form: str) -> None:
    for row in read_loop(f"{source}:{form}", FORMS[form]):
        assert row.reference is not None
        found = row.reference.compare(row.dfg, 0)
        assert found.findings == () and found.runs >= 3 and found.reason == "", (row.label, found)


@pytest.mark.parametrize("form", [form for form in FORMS if not form.startswith("cases")])
def test_a_wrong_operation_is_found_in_every_form(source: Path, form: str) -> None:
    row = read_loop(f"{source}:{form}", FORMS[form])[0]
    assert row.reference is not None
    (finding,) = row.reference.compare(_changed(row.dfg), 0).findings
    assert "by the graph and" in finding and "by the source" in finding


def test_the_loop_of_a_local_function_is_run_by_its_caller(source: Path) -> None:
    row = read_loop(f"{source}:part", "arrays")[0]
    assert row.reference is not None and row.reference.compare(row.dfg, 0).runs >= 2


def test_a_mapped_loop_says_that_it_computes_what_the_source_computes(source: Path) -> None:
    result = gl.map(f"{source}:cases", "torus:4x4", seed=1, effort=5000)
    assert result.to_dict()["verified"] == {"legal": True, "simulated": True, "compared_with": "source"}


def test_what_cannot_be_run_stays_compared_with_the_graph_and_says_why(source: Path) -> None:
    result = gl.map(f"{source}:linked", "torus:4x4", seed=1, effort=5000)
    record = result.to_dict()["verified"]
    assert (result.status, record["compared_with"]) == ("mapped", "graph")
    assert "pointer that leads nowhere" in record["not_compared"]


def test_exchanged_loops_with_streams_are_not_compared_and_say_so(source: Path) -> None:
    row = read_loop(f"{source}:rows,interchange=true", "streams")[0]
    assert row.reference is not None
    found = row.reference.compare(row.dfg, 0)
    assert found == SourceComparison(reason="the loops are exchanged, and a launch of the graph takes streams")


def test_map_refuses_a_graph_that_the_front_end_got_wrong(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def as_words(self: InstructionLowering, predicate: str, a: Value, b: Value, hint: str = "") -> Operand:
        return self.body.emit(predicate, self.value(a), self.value(b), hint=hint)

    monkeypatch.setattr(InstructionLowering, "equality", as_words)
    result = gl.map(f"{source}:cases", "torus:4x4", seed=1, effort=5000)
    assert result.status == "failed" and result.failure is not None and result.refused is not None
    assert result.failure.constraint == (
        "comparison with the source of what the mapper returned (an error in gridloom; please report it)"
    )
    assert result.to_dict()["verified"] == {"legal": True, "simulated": False, "compared_with": "graph"}


def test_a_comparison_without_runs_has_no_findings() -> None:
    assert SourceComparison(reason="nothing to run").runs == 0


IDCT = """
void idct(TYPE *restrict block, const unsigned short *restrict q, int *restrict ws, int n) {
  for (int c = 0; c < BOUND; c++) {
    int x0 = block[c] * q[c], x2 = block[16 + c] * q[16 + c], x4 = block[32 + c] * q[32 + c];
    int x6 = block[48 + c] * q[48 + c], x1 = block[8 + c] * q[8 + c], x3 = block[24 + c] * q[24 + c];
    int z = (x2 + x6) * 4433, t2 = z - x6 * 15137, t3 = z + x2 * 6270, t0 = (x0 + x4) << 13, t1 = (x0 - x4) << 13;
    ws[c] = (t0 + t3 + x1) >> 11; ws[56 + c] = (t0 + t3 - x1) >> 11;
    ws[8 + c] = (t1 + t2 + x3) >> 11; ws[48 + c] = (t1 + t2 - x3) >> 11;
    block[c] = (TYPE)(t1 - t2); block[56 + c] = (TYPE)(t0 - t3);
  }
}
"""


@pytest.mark.parametrize("kind", ["short", "int"])
@pytest.mark.parametrize("bound", ["8", "n"])
def test_the_columns_of_an_idct_equal_the_source(tmp_path: Path, kind: str, bound: str) -> None:
    path = tmp_path / "idct.c"
    path.write_text(IDCT.replace("TYPE", kind).replace("BOUND", bound))
    for row in read_loop(f"{path}:idct", "arrays"):
        assert row.reference is not None
        found = row.reference.compare(row.dfg, 0)
        assert found.findings == () and found.runs >= 3
        assert row.dfg.trip_count == (8 if bound == "8" else None)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["short", "int"])
@pytest.mark.parametrize("bound", ["8", "n"])
def test_the_columns_of_an_idct_are_mapped(tmp_path: Path, kind: str, bound: str) -> None:
    path = tmp_path / "idct.c"
    path.write_text(IDCT.replace("TYPE", kind).replace("BOUND", bound))
    result = gl.map(f"{path}:idct", "torus:4x4", seed=1, effort=30_000)
    assert (result.status, result.verified.compared_with) == ("mapped", "source")
