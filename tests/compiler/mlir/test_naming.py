"""Names of values: they follow the locations of instructions, whatever stands between these."""

from __future__ import annotations

import pytest

pytest.importorskip("llvmlite")

from gridloom.compiler.mlir.naming import name_values

SOURCE = "func.func @f(%x: i32) -> i32 {\n  %first = arith.addi %x, %x : i32\n  %second = arith.muli %x, %x : i32\n}\n"
IR = """\
define i32 @f(i32 %0) !dbg !3 {
  %2 = add i32 %0, %0, !dbg !6
  switch i32 %2, label %5 [
    i32 0, label %3
    i32 1, label %5
  ], !dbg !6

3:                                                ; preds = %1
  %4 = add i32 %2, 1
  br label %5

5:                                                ; preds = %3, %1, %1
  %6 = phi i32 [ %2, %1 ], [ %4, %3 ], [ %2, %1 ]
  %7 = mul i32 %6, %6, !dbg !7
  ret i32 %7
}

!llvm.module.flags = !{!0}
!llvm.dbg.cu = !{!1}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, producer: "MLIR", isOptimized: true, emissionKind: LineTablesOnly)
!2 = !DIFile(filename: "f.mlir", directory: "")
!3 = distinct !DISubprogram(name: "f", file: !2, line: 1, type: !4, unit: !1)
!4 = !DISubroutineType(types: !5)
!5 = !{}
!6 = !DILocation(line: 2, column: 12, scope: !3)
!7 = !DILocation(line: 3, column: 13, scope: !3)
"""  # noqa: E501


def test_values_after_an_instruction_of_several_lines_have_their_own_names() -> None:
    text = name_values(IR, SOURCE, {"f": ["x"]}, "f.mlir")
    assert "%first = add i32 %x, %x" in text
    assert "%second = mul i32" in text
    assert "add i32 %first, 1\n" in text
