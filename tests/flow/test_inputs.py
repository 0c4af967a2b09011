"""One way in: whatever is asked about a source and an array, the graph is the same, and the source is read once."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gridloom.archs import Arch, build
from gridloom.cli import main
from gridloom.cli.commands import estimate_command
from gridloom.compiler.ir.c_source import CSource
from gridloom.compiler.ir.driver import CompiledText
from gridloom.compiler.loops.spec import parse
from gridloom.compiler.python.kernel import find_source
from gridloom.dfg.model import Dfg
from gridloom.errors import ArchError
from gridloom.explore import points
from gridloom.flow import Request, run
from gridloom.flow.bench.run import run_cell
from gridloom.flow.inputs import memory_of, prepare, read_arch, read_source
from gridloom.flow.partition import flow as partition_flow

needs_clang = pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None or importlib.util.find_spec("llvmlite") is None,
    reason="the extra c is not installed",
)

C_LOOP = """\
void blend(const short *restrict a, const short *restrict b, int *restrict y, int n) {
  for (int i = 0; i < n; i++)
    y[i] = (a[i] + b[i]) ^ a[i];
}
"""
PYTHON_LOOP = """\
from gridloom import Array, int16, int32, kernel, loop

@kernel
def blend(a: Array[int16], b: Array[int16], y: Array[int32], n: int32):
    for i in loop(n):
        y[i] = (a[i] + b[i]) ^ a[i]
"""


@pytest.fixture(params=[pytest.param("c", marks=[needs_clang, pytest.mark.tools]), "py"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = tmp_path / f"blend.{request.param}"
    path.write_text(C_LOOP if request.param == "c" else PYTHON_LOOP, encoding="utf-8")
    return str(path)


@pytest.fixture
def clang_runs(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that clang was run for."""
    from gridloom.compiler.ir import reader

    seen: list[Path] = []
    compile_program = reader.compile_program

    def counted(source: CSource) -> CompiledText:
        seen.append(source.path)
        return compile_program(source)

    monkeypatch.setattr(reader, "compile_program", counted)
    return seen


def ops(dfg: Dfg) -> list[str]:
    return sorted(node.op for node in dfg.nodes)


# -- prepare ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arch", "memory"),
    [("mesh:4x4", "streams"), ("vpcma", "streams"), ("rdu:4x4", "streams"), ("torus:2x2,memory=none", "streams"),
     ("torus:2x2", "arrays"), ("streaming-engine", "arrays")],
)  # fmt: skip
def test_accesses_become_what_the_array_has(arch: str, memory: str) -> None:
    assert memory_of(build(arch)) == memory


def test_a_loop_is_streams_on_rows_and_accesses_on_a_torus(source: str) -> None:
    assert set(ops(prepare(source, "vpcma").dfg)) == {"add", "input", "output", "xor"}
    assert {"load", "store"} <= set(ops(prepare(source, "torus:2x2").dfg))


def test_products_and_sums_are_fused_where_the_array_fuses() -> None:
    assert "mul_add" in ops(prepare("kernel:dot_product", "streaming-engine").dfg)
    assert "mul_add" not in ops(prepare("kernel:dot_product", "torus:2x2").dfg)


def test_streams_are_loads_and_stores_where_there_is_no_port() -> None:
    assert {"load", "store"} <= set(ops(prepare("kernel:vector_add", "torus:2x2").dfg))


def test_a_prepared_graph_is_prepared_already() -> None:
    for arch in ("streaming-engine", "torus:2x2", "mesh:4x4", "vpcma"):
        once = prepare("kernel:fir", arch)
        assert prepare(once.dfg, once.arch).dfg == once.dfg


def test_the_text_of_a_loop_comes_with_its_graph(source: str) -> None:
    prepared = prepare(source, "torus:2x2")
    assert prepared.text is not None
    listing = prepared.text.listing(prepared.dfg)
    assert listing.lines[-1].strip().startswith(("y[i] =", "}"))
    line = next(k for k, text in enumerate(listing.lines, listing.first) if "y[i] =" in text)
    assert [listing.nodes.get(node.id) for node in prepared.dfg.nodes if node.op in ("xor", "store")] == [line, line]


def test_a_decorated_function_is_a_source(tmp_path: Path) -> None:
    path = tmp_path / "blend.py"
    path.write_text(PYTHON_LOOP, encoding="utf-8")
    kernel = find_source(parse(str(path)))
    assert prepare(kernel, "vpcma").dfg == prepare(str(path), "vpcma").dfg


def test_other_sources_have_no_text() -> None:
    assert prepare("kernel:fir", "mesh:8x8").text is None


def test_an_array_stands_for_itself_and_files_are_told_by_their_ending(tmp_path: Path) -> None:
    mesh = build("mesh:2x2")
    assert read_arch(mesh) is mesh
    assert read_arch({"family": "mesh", "rows": 2, "cols": 2}).fingerprint == mesh.fingerprint
    with pytest.raises(ArchError, match="there is no such file"):
        read_arch(tmp_path / "none.xml")


# -- the same for every flow ------------------------------------------------------------------------------------------


class Seen(Exception):
    """Carries the graph that a flow was about to work on."""

    def __init__(self, dfg: Dfg) -> None:
        self.dfg = dfg


def graph_of_map(source: str, arch: Arch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["gridloom.flow.run"], "map_graph", raises_first_graph)
    run(Request(source=source, arch=arch))


def graph_of_bench(source: str, arch: Arch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["gridloom.flow.run"], "map_graph", raises_first_graph)
    budget = {"seed": 0, "effort": 1, "time_limit": None}
    run_cell({"source": source, "arch": arch.name, "mapper": "auto", "settings": {}, **budget})


def graph_of_partition(source: str, arch: Arch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_flow, "_PartitionRun", raises_first_graph)
    partition_flow.partition(partition_flow.PartitionRequest(source=source, arch=arch))


def graph_of_estimate(source: str, arch: Arch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_flow.BoundEstimator, "estimate", raises_first_graph)
    estimate_command.estimate(source=source, arch=arch.name, estimator="bound")


def graph_of_explore(source: str, arch: Arch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "mii", raises_first_graph)
    points.probability("bounds", source, points.ArrayCandidate(None, arch))  # type: ignore[arg-type]


def raises_first_graph(*arguments: object, **_: object) -> None:
    raise Seen(next(value for value in arguments if isinstance(value, Dfg)))


@pytest.mark.parametrize(
    "flow", [graph_of_map, graph_of_bench, graph_of_partition, graph_of_estimate, graph_of_explore]
)
def test_every_flow_works_on_the_prepared_graph(flow, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arch = build("vpcma")
    expected = prepare(source, arch).dfg
    with pytest.raises(Seen) as seen:
        flow(source, arch, monkeypatch)
    assert seen.value.dfg == expected


# -- clang runs once --------------------------------------------------------------------------------------------------


@needs_clang
@pytest.mark.tools
def test_a_mapping_with_its_report_runs_clang_once(tmp_path: Path, clang_runs: list[Path]) -> None:
    path = tmp_path / "blend.c"
    path.write_text(C_LOOP, encoding="utf-8")
    html = tmp_path / "report.html"
    assert main(["map", str(path), "--arch", "vpcma:4x4", "--effort", "2000", "--html", str(html)]) == 0
    assert 'id="source"' in html.read_text(encoding="utf-8")
    assert clang_runs == [path]


@needs_clang
@pytest.mark.tools
def test_an_estimate_runs_clang_once(tmp_path: Path, clang_runs: list[Path]) -> None:
    path = tmp_path / "blend.c"
    path.write_text(C_LOOP, encoding="utf-8")
    assert estimate_command.estimate(source=str(path), arch="vpcma", estimator="bound") == 0
    assert clang_runs == [path]


def test_a_source_that_is_read_without_an_array_keeps_its_accesses(source: str) -> None:
    assert {"load", "store"} <= set(ops(read_source(source)))


@pytest.mark.parametrize("command", ["map", "estimate", "partition"])
def test_map_estimate_and_partition_take_the_same_loops(
    command: str, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if command == "partition":
        pytest.importorskip("pymetis")
    options = ["--effort", "2000"] if command == "map" else ["--estimator", "bound"]
    assert main([command, source, "--arch", "vpcma:4x4", *options]) == 0, capsys.readouterr().err


def test_cutting_a_program_is_no_part_of_the_time_for_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    from gridloom.flow import inputs
    from gridloom.targets.dataflow.sections import run as sections

    reading, cut_while_reading, cut = [False], [], sections.cut_program

    @contextmanager
    def watched(seconds: float, what: str) -> Iterator[None]:
        reading[0] = True
        yield
        reading[0] = False

    def cut_program(dfg: Dfg, arch: Arch) -> object:
        cut_while_reading.append(reading[0])
        return cut(dfg, arch)

    monkeypatch.setattr(inputs, "deadline", watched)
    monkeypatch.setattr(sections, "cut_program", cut_program)
    prepared = prepare("model:gemm,inner=64,columns=64", "rdu:4x4")
    assert cut_while_reading == [False]
    assert [rows[0].dfg for rows in prepared.sections] == [prepared.dfg]
