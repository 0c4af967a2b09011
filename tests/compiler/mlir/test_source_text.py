from __future__ import annotations

import pytest

from gridloom.compiler.mlir.source_text import functions_of, modernise_text, unreachable, value_name, without

PROGRAM = """\
module attributes {dlti.dl_spec = #dlti.dl_spec<#dlti.dl_entry<"dlti.endianness", "{">>, "a.b" = "}"} {
  func.func private @outside(memref<?xf32>, i32) -> i32
  // func.func @comment(%a: i32) {
  func.func @first(%A: memref<?x8xf32, strided<[8, 1]>> {llvm.noalias}, %n: i32)
      -> (i32 {llvm.signext}) attributes {llvm.linkage = #llvm.linkage<external>} {
    %0 = func.call @second(%n) : (i32) -> i32
    return %0 : i32
  }
  func.func @second(%n: i32) -> i32 { return %n : i32 }
  func.func @third(%n: i32) -> i32 {
    return %n : i32
  }
}
"""


def test_functions_are_found_with_their_lines_parameters_and_bodies():
    rows = [(row.name, row.line, row.parameters, row.has_body) for row in functions_of(PROGRAM)]
    assert rows == [
        ("outside", 2, (), False),
        ("first", 4, ("A", "n"), True),
        ("second", 9, ("n",), True),
        ("third", 10, ("n",), True),
    ]


def test_parameters_that_are_numbers_get_names():
    (row,) = functions_of("func.func @f(%0: memref<?xi32>, %n: i32, %2: index) {\n  return\n}\n")
    assert row.parameters == ("arg0", "n", "arg2")


def test_the_module_around_functions_is_blanked_and_lines_stay():
    text = modernise_text(PROGRAM)
    assert text.splitlines()[0].strip() == text.splitlines()[-1].strip() == ""
    assert text.splitlines()[1:-1] == PROGRAM.splitlines()[1:-1]


def test_functions_of_several_modules_become_those_of_one():
    text = "module {\n  func.func @f() { return }\n} loc(#loc)\nmodule @m {\n  func.func @g() { return }\n}\n"
    assert " ".join(modernise_text(text).split()) == "func.func @f() { return } func.func @g() { return }"


def test_strings_of_a_host_are_blanked():
    text = (
        'llvm.mlir.global internal constant @str0("{ \\0A")\n'
        "llvm.mlir.global external @stderr() : !llvm.ptr<struct<(i32, ptr<i8>)>> {\n  llvm.return\n}\n"
        "func.func @f() { return }\n"
    )
    assert " ".join(modernise_text(text).split()) == "func.func @f() { return }"


def test_a_function_needs_itself_and_what_it_calls():
    rows = functions_of(PROGRAM)
    assert [row.name for row in unreachable(PROGRAM, rows, "first")] == ["outside", "third"]


def test_a_function_that_is_left_out_leaves_its_lines():
    rows = functions_of(PROGRAM)
    text = without(PROGRAM, [row for row in rows if row.name == "second"])
    assert text.splitlines()[8].strip() == ""
    assert text.count("\n") == PROGRAM.count("\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%0 = constant 1 : i32", "%0 = arith.constant 1 : i32"),
        ("%0 = addf %a, %b : f32", "%0 = arith.addf %a, %b : f32"),
        ('%0 = cmpi "slt", %a, %b : i32', "%0 = arith.cmpi slt, %a, %b : i32"),
        ("store %v, %m[%i] : memref<4xi32>", "memref.store %v, %m[%i] : memref<4xi32>"),
        ("call @g() : () -> ()", "func.call @g() : () -> ()"),
        ("affine.store %v, %m[%i] : memref<4xi32>", "affine.store %v, %m[%i] : memref<4xi32>"),
    ],
)
def test_ops_of_the_old_dialect_get_their_new_names(old: str, new: str):
    head = "func @f() {\n  "
    assert modernise_text(head + old + "\n}\n") == f"func.{head}{new}\n}}\n"


@pytest.mark.parametrize(
    ("place", "name"),
    [("%i", "i"), ("arith", "sum"), ("f %", ""), ("for", "")],
    ids=["argument", "result", "number", "op without a result"],
)
def test_values_are_named_by_where_they_stand(place: str, name: str):
    line = "  for %i = 0 { %0 = f %n; %sum = arith.addi"
    assert value_name([line], 1, line.index(place) + 1) == name
