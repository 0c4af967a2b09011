// A reduction along one dimension.
func.func @row_sums(%A: memref<8x16xi32>, %sums: memref<8xi32>) {
  linalg.reduce ins(%A : memref<8x16xi32>) outs(%sums : memref<8xi32>) dimensions = [1]
    (%in: i32, %init: i32) {
      %s = arith.addi %in, %init : i32
      linalg.yield %s : i32
    }
  return
}
