"""What is not taken is refused by name, with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridloom.compiler.c import describe, load
from gridloom.compiler.mlir.lowering import lower
from gridloom.compiler.mlir.refusal import Refusal
from gridloom.errors import SourceError

BODIES = {
    "dialect": (
        "%c = arith.constant 0 : index\n%v = vector.load %x[%c] : memref<8xi32>, vector<4xi32>",
        "vector.load is of the dialect 'vector', which is not taken; taken are affine, arith, bufferization, cf, func, "
        "index, linalg, llvm, math, memref, scf, tensor, ub",
        3,
    ),
    "unknown dialect": (
        '%c = "polygeist.subindex"(%x) : (memref<8xi32>) -> memref<8xi32>',
        "polygeist.subindex is of the dialect 'polygeist', which is not taken; taken are affine, arith, bufferization, "
        "cf, func, index, linalg, llvm, math, memref, scf, tensor, ub",
        2,
    ),
    "op": (
        "%c = arith.constant 1.0 : f32\n%e = math.exp %c : f32",
        "math.exp is not taken; of 'math' there are absf, absi, copysign, ctlz, ctpop, cttz, sqrt",
        3,
    ),
    "f64": (
        "%c = arith.constant 1.0 : f64",
        "computes with f64; integers of up to 64 bits and f32 are taken (f64=f32 after the function's name reads every "
        "f64 as f32)",
        2,
    ),
    "f16": ("%c = arith.constant 1.0 : f16", "f16 is not taken; integers, index and f32 are", 2),
    "vector": (
        "%c = arith.constant dense<1> : vector<4xi32>",
        "vector<4xi32> is not taken: the array computes with single words; lower vectors to loops first",
        2,
    ),
    "open size": (
        "%n = arith.constant 4 : index\n%m = memref.alloc(%n) : memref<?xi32>",
        "memref.alloc of a size that is computed is not taken; give it a fixed size",
        3,
    ),
    "no body": ("func.call @g(%x) : (memref<8xi32>) -> ()", "calls 'g', which has no body", 2),
    "recursion": ("func.call @f(%x) : (memref<8xi32>) -> ()", "calls 'f', which calls itself", 2),
    "syntax": ("%c = arith.constant : i32", "MLIR: expected attribute value", 2),
    "unknown op": ("%c = arith.frobnicate %x", "MLIR: custom op 'arith.frobnicate' is unknown", 2),
    "old pointer": (
        "%p = llvm.mlir.null : !llvm.ptr<i8>",
        "the pointers of LLVM before version 17 (!llvm.ptr<i8>) are not taken; !llvm.ptr is",
        2,
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_is_refused_by_name_and_line(name: str):
    body, message, line = BODIES[name]
    text = f"func.func @f(%x: memref<8xi32>) {{\n{body}\nreturn\n}}\nfunc.func private @g(memref<8xi32>)\n"
    with pytest.raises(Refusal) as caught:
        lower(text, "f", False, 32)
    assert (caught.value.message, caught.value.line) == (message, line)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("memref<*xi32>", "memref<*xi32> is not taken; give it a rank"),
        ("memref<8xcomplex<f32>>", "memref<8xcomplex<f32>> is not taken; integers, index and f32 are"),
        (
            "memref<8xi32, strided<[?]>>",
            "a parameter is memref<8xi32, strided<[?]>>; buffers with open strides are not taken",
        ),
        ("memref<8xi32, 3>", "a parameter is memref<8xi32, 3>; buffers of one memory space are taken"),
        (
            "memref<8x8xi32, affine_map<(d0, d1) -> (d1, d0)>>",
            "a parameter is memref<8x8xi32, affine_map<(d0, d1) -> (d1, d0)>>; run normalize-memrefs first, so that "
            "its layout is plain",
        ),
    ],
)
def test_a_parameter_is_refused_by_its_type(kind: str, message: str):
    with pytest.raises(Refusal) as caught:
        lower(f"\nfunc.func @f(%x: {kind}) {{\nreturn\n}}\n", "f", False, 32)
    assert (caught.value.message, caught.value.line) == (message, 2)


def test_results_that_no_word_holds_are_refused():
    with pytest.raises(Refusal) as caught:
        lower("func.func @f(%x: memref<8xi32>) -> memref<8xi32> {\nreturn %x : memref<8xi32>\n}\n", "f", False, 32)
    assert caught.value.message == "returns memref<8xi32>; one number may be returned, buffers are parameters"


TWO = """\
func.func @good(%x: memref<8xi32>, %n: i32) {
  affine.for %i = 0 to 8 {
    affine.store %n, %x[%i] : memref<8xi32>
  }
  return
}
func.func @bad(%x: memref<8xf64>) {
  return
}
"""


def test_a_function_that_is_refused_does_not_stand_in_the_way_of_another(tmp_path: Path):
    path = tmp_path / "two.mlir"
    path.write_text(TWO)
    rows = [(row.function, row.number, row.line, row.limit) for row in describe(path)]
    assert rows == [
        ("good", 0, 2, None),
        ("bad", None, 7, f"{path}:7: {BODIES['f64'][1]}"),
    ]
    assert load(path).function == "good"


def test_the_message_of_a_refused_function_names_file_and_line(tmp_path: Path):
    path = tmp_path / "two.mlir"
    path.write_text(TWO)
    with pytest.raises(SourceError) as caught:
        load(path, function="bad")
    assert str(caught.value) == f"{path}:7: {BODIES['f64'][1]}"


def test_an_unknown_function_is_named_with_those_that_there_are(tmp_path: Path):
    path = tmp_path / "two.mlir"
    path.write_text(TWO)
    with pytest.raises(SourceError) as caught:
        load(path, function="worse")
    assert str(caught.value) == f"{path}: has no function 'worse'; functions: good, bad"


def test_a_file_whose_functions_are_all_refused_lists_them_and_gives_the_first_reason(tmp_path: Path):
    path = tmp_path / "doubles.mlir"
    path.write_text("func.func private @g(f64)\nfunc.func @f(%x: f64) {\n  return\n}\n")
    assert [(row.function, row.limit) for row in describe(path)] == [("f", f"{path}:2: {BODIES['f64'][1]}")]
    with pytest.raises(SourceError) as caught:
        load(path)
    assert str(caught.value) == f"{path}:2: {BODIES['f64'][1]}"
