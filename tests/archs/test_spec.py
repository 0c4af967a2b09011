"""Descriptions: ARCH strings, dictionaries, YAML files; errors with file, line and key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.archs import build, load_yaml, parse_string
from gridloom.archs.described.writing import describe
from gridloom.archs.spec import WIDTHS, check_simd
from gridloom.errors import ArchError


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("vpcma", {"family": "vpcma"}),
        ("ramp-7", {"family": "ramp-7"}),
        ("mesh:8x8", {"family": "mesh", "rows": 8, "cols": 8}),
        ("streaming-engine:16,spokes=6", {"family": "streaming-engine", "tiles": 16, "spokes": 6}),
        (
            "mesh:8x4,inputs=skewed,io=border,mul=columns,fifo=4",
            {"family": "mesh", "rows": 8, "cols": 4, "inputs": "skewed", "io": "border", "mul": "columns", "fifo": 4},
        ),
        ("torus,rows=2,cols=3", {"family": "torus", "rows": 2, "cols": 3}),
        ("mesh:fifo=unbounded,a=none,b=null", {"family": "mesh", "fifo": None, "a": None, "b": None}),
        ("vpcma:alu_routes=false,x=true,y=-3", {"family": "vpcma", "alu_routes": False, "x": True, "y": -3}),
    ],
)  # fmt: skip
def test_arch_string_reads_as(text: str, spec: dict[str, Any]) -> None:
    assert parse_string(text) == spec


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ("mash:2x2", "array 'mash:2x2': no arch is called 'mash'; did you mean mesh?"),
        ("mesh:2x2,big", "array 'mesh:2x2,big': expected key=value, found 'big'"),
        ("mesh:2*2", "array 'mesh:2*2': expected key=value, found '2*2'"),
        ("mesh:2x2,rows=3", "array 'mesh:2x2,rows=3': 'rows' is given twice"),
        ("mesh:2x2,family=hex", "array 'mesh:2x2,family=hex': 'family' is given twice"),
        (
            "mesh",
            "array 'mesh': rows: family 'mesh' needs this parameter; write the size after the family, as in mesh:4x4",
        ),
        ("mesh:0x2", "array 'mesh:0x2': rows: expected 1 to 128, found 0"),
        ("mesh:2x129", "array 'mesh:2x129': cols: expected 1 to 128, found 129"),
        ("vpcma:99999x99999", "array 'vpcma:99999x99999': rows: expected 1 to 128, found 99999"),
        ("rdu:500x2", "array 'rdu:500x2': rows: expected 1 to 128, found 500"),
        ("torus:2x2000", "array 'torus:2x2000': cols: expected 1 to 128, found 2000"),
        (
            "mesh:2x2,fifos=3",
            "array 'mesh:2x2,fifos=3': fifos: family 'mesh' has no such parameter; it has: classes, cols, fifo, "
            "inputs, io, latency, link, mul, operands, rows",
        ),
        ("mesh:2x2,operands=0", "array 'mesh:2x2,operands=0': operands: expected 1 to 8, found 0"),
        ("mesh:2x2,latency=2", "array 'mesh:2x2,latency=2': latency: Input should be a valid dictionary, found 2"),
        ({}, "array: family: expected the name of a family, found None"),
        ({"family": ["mesh"]}, "array: family: expected the name of a family, found ['mesh']"),
        (
            {"family": "mesh", "rows": 2, "cols": 2, "latency": {"*": 0}},
            "array: latency.*: expected 1 (the output register) to 1024, found 0",
        ),
        (
            {"family": "torus", "rows": 2, "cols": 2, "latency": {"mull": 2}},
            "array: latency.mull: no such op class; known: *, alu, mul, div, fp, mem, mem_data, input, output, const, "
            "livein, route, gemm, vector, buffer, dram",
        ),
        (
            {"family": "mesh", "rows": 2, "cols": 2, "classes": {"mull": "all"}},
            "array: classes.mull: no such op class; known: alu, mul, div, fp, mem, mem_data, input, output, const, "
            "livein, route, gemm, vector, buffer, dram",
        ),
        ({"family": "mesh", "rows": "two", "cols": 2}, "array: rows: Input should be a valid integer, unable to parse "
         "string as an integer, found 'two'"),
    ],
)  # fmt: skip
def test_bad_description_is_refused_with_the_reason(description: Any, message: str) -> None:
    with pytest.raises(ArchError) as error:
        build(description)
    assert str(error.value) == message


def test_description_nested_without_end_is_refused() -> None:
    nest: Any = "all"
    for _ in range(5000):
        nest = [nest]
    with pytest.raises(ArchError, match=r"^array: is nested too deeply to describe an array$"):
        build({"family": "mesh", "rows": 2, "cols": 2, "mul": nest})


def test_array_that_would_fill_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridloom.archs.model.MAX_ARCS", 20_000)
    build("torus:4x4,file=central,regs=128")
    with pytest.raises(ArchError, match=r"the array has more than 20000 arcs; describe a smaller one$"):
        build("torus:8x8,file=central,regs=128")


# -- YAML --------------------------------------------------------------------------------------------------------------


def yaml(folder: Path, text: str) -> Path:
    path = folder / "array.yaml"
    path.write_text(text, encoding="utf-8")
    return path


EXAMPLES = {
    "layout": (
        "family: mesh\nrows: 2\ncols: 3\nmul:\n  layout:\n    - '#.#'\n    - '.#.'\n",
        {"family": "mesh", "rows": 2, "cols": 3, "mul": "checkerboard"},
    ),
    "region": (
        "family: hex\nrows: 3\ncols: 3\nio: {region: {rows: [0, 0]}}\nfifo:\n  - value: 2\n"
        "  - {where: {region: {cols: [1, 2]}}, value: 8}\n",
        {"family": "hex", "rows": 3, "cols": 3, "io": {"tiles": [[0, 0], [0, 1], [0, 2]]},
         "fifo": {"layout": [[2, 8, 8]] * 3}},
    ),
    "list": (
        "family: torus\nrows: 2\ncols: 2\nregs: 2\nmemory: {tiles: [[0, 0], [1, 0]]}\nlatency: {'*': 1, mul: 2}\n",
        {"family": "torus", "rows": 2, "cols": 2, "regs": 2, "memory": "columns", "latency": {"mul": 2}},
    ),
    "preset": ("family: ramp-3\nhold: next\n", "ramp-3:hold=next"),
    "vpcma": ("family: vpcma\ncols: 4\nconstants: 8\n", "vpcma:cols=4,constants=8"),
    "streaming-engine": ("family: streaming-engine\ntiles: 8\nlevel: paper\n", "streaming-engine:8,level=paper"),
    "rdu": ("family: rdu\nrows: 2\ncols: 2\nchannels: 1\n", "rdu:2x2,channels=1"),
    "union": (
        "family: chess\nrows: 2\ncols: 2\nclasses:\n  div: [{tiles: [[0, 0]]}, {region: {rows: [1, 1]}}]\n"
        "  mem: none\n",
        {"family": "chess", "rows": 2, "cols": 2,
         "classes": {"div": {"layout": ["#.", "##"]}, "mem": {"tiles": []}}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_yaml_builds_the_same_array_as_its_equal(tmp_path: Path, name: str) -> None:
    text, equal = EXAMPLES[name]
    assert load_yaml(yaml(tmp_path, text)).fingerprint == build(equal).fingerprint
    assert build(str(yaml(tmp_path, text))).fingerprint == build(equal).fingerprint


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("family: mesh\nrows: 2\ncols: 2\nfifos: 3\n", 4, "fifos: family 'mesh' has no such parameter; it has: "
         "classes, cols, fifo, inputs, io, latency, link, mul, operands, rows"),
        ("rows: 2\ncols: 2\nfamily: mash\n", 3, "no arch is called 'mash'; did you mean mesh?"),
        ("rows: 2\nfamily: mesh\n", 2, "cols: family 'mesh' needs this parameter"),
        ("family: mesh\ncols: 2\nrows: 900\n", 3, "rows: expected 1 to 128, found 900"),
        ("family: mesh\nrows: 2\ncols: 2\nclasses:\n  div: none\n  mem:\n    tiles: [[5, 0]]\n", 7,
         "classes.mem.tiles: expected [row, col] within 2 x 2, found [5, 0]"),
        ("family: mesh\nrows: 2\ncols: 2\nfifo:\n  - value: 1\n  - value: 2\n    where: corner\n", 7, "fifo.1.where: "
         "no layout is called 'corner'; known: all, none, checkerboard, columns, borders, any, border"),
        ("family: mesh\nrows: 2\ncols: 2\nlatency:\n  mul: 3\n  alu: 0\n", 6,
         "latency.alu: expected 1 (the output register) to 1024, found 0"),
        ("a: &x [1]\nb: 2\n", 1, "YAML anchors and aliases (& and *) are not taken; write the values out"),
        ("family: mesh\nb: *x\n", 2, "YAML anchors and aliases (& and *) are not taken; write the values out"),
    ],
)  # fmt: skip
def test_error_names_file_line_and_key(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = yaml(tmp_path, text)
    with pytest.raises(ArchError) as error:
        load_yaml(path)
    assert str(error.value) == f"{path}:{line}: {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- mesh\n", "expected keys and values, found CommentedSeq"),
        ("", "expected keys and values, found NoneType"),
        ("family: [mesh\n", "is not YAML: expected ',' or ']', but got '<stream end>' at line 2, column 1"),
        ("rows: 2\ncols: 2\n", "family: expected the name of a family, found None"),
    ],
)
def test_file_that_is_no_description_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = yaml(tmp_path, text)
    with pytest.raises(ArchError) as error:
        load_yaml(path)
    assert str(error.value) == f"{path}: {message}"


def test_key_given_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArchError, match=r'is not YAML: found duplicate key "rows" with value "3"'):
        load_yaml(yaml(tmp_path, "family: mesh\nrows: 2\nrows: 3\ncols: 2\n"))


def test_stars_in_comments_and_strings_are_no_aliases(tmp_path: Path) -> None:
    text = "# 2 *rows* & more\nfamily: mesh\nrows: 2 # *a &b\ncols: 2\nlatency: {'*': 2}\n"
    assert load_yaml(yaml(tmp_path, text)).tiles[0].latency_of("alu") == 2


def test_bomb_of_aliases_is_refused_at_once(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 12)]
    with pytest.raises(ArchError, match="anchors and aliases"):
        load_yaml(yaml(tmp_path, "\n".join(lines)))


def test_long_file_is_refused_unread(tmp_path: Path) -> None:
    path = yaml(tmp_path, "#" * 4_000_001)
    with pytest.raises(ArchError) as error:
        load_yaml(path)
    assert str(error.value) == f"{path}: is 4000001 characters long; at most 4000000 are read"


def test_huge_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "huge.yaml"
    with path.open("wb") as file:
        file.truncate(16_000_001)
    with pytest.raises(ArchError) as error:
        load_yaml(path)
    assert str(error.value) == f"{path}: is larger than 16000000 bytes, the most that is read"


def test_missing_and_binary_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArchError, match=r"gone\.yaml: there is no such file$"):
        build(str(tmp_path / "gone.yaml"))
    path = tmp_path / "binary.yml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ArchError, match=r"binary\.yml: is not UTF-8 text: byte 0xff at offset 0$"):
        build(path)


@given(st.integers(-10, 10_000))
def test_a_width_is_a_power_of_two_within_bounds(simd: int) -> None:
    allowed = simd in [1 << k for k in range(5, 13)]
    if allowed:
        assert check_simd(simd) == simd
        return
    with pytest.raises(ArchError) as error:
        check_simd(simd, "here")
    assert str(error.value) == f"here: expected a power of two from {WIDTHS[0]} to {WIDTHS[1]}, found {simd}"


def test_none_is_a_single_lane() -> None:
    assert check_simd(None) is None


@pytest.mark.parametrize("text", ["adres:rows=12", "adres:cols=12", "adres:12x8"])
def test_name_of_an_array_with_half_of_a_size_builds_it_again(text: str) -> None:
    assert build(text).name == text


@pytest.mark.parametrize("text", ["streaming-engine:3", "streaming-engine:3,simd=256"])
def test_a_description_by_resources_keeps_the_width(text: str) -> None:
    arch = build(text)
    again = build(describe(arch))
    assert (again.simd, again.simd_lanes()) == (arch.simd, arch.simd_lanes())


@pytest.mark.parametrize(
    ("simd", "message"),
    [
        (48, "array: graph.simd: expected a power of two from 32 to 4096, found 48"),
        (5, "array: graph.simd: expected a whole number from 32 to 4096 or null (one lane), found 5"),
    ],
)
def test_a_wrong_width_of_a_description_is_named(simd: int, message: str) -> None:
    described: dict[str, Any] = describe(build("streaming-engine:2,simd=64"))
    described["graph"]["simd"] = simd
    with pytest.raises(ArchError) as error:
        build(described)
    assert str(error.value) == message
