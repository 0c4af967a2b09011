// C = beta * C + alpha * A * B, as PolyBench orders the loops: the innermost one runs along a row.
func.func @gemm(%alpha: i32, %beta: i32, %C: memref<16x16xi32>, %A: memref<16x16xi32>, %B: memref<16x16xi32>) {
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 16 {
      %c = affine.load %C[%i, %j] : memref<16x16xi32>
      %scaled = arith.muli %c, %beta : i32
      affine.store %scaled, %C[%i, %j] : memref<16x16xi32>
    }
    affine.for %k = 0 to 16 {
      affine.for %j = 0 to 16 {
        %a = affine.load %A[%i, %k] : memref<16x16xi32>
        %b = affine.load %B[%k, %j] : memref<16x16xi32>
        %left = arith.muli %alpha, %a : i32
        %product = arith.muli %left, %b : i32
        %c = affine.load %C[%i, %j] : memref<16x16xi32>
        %sum = arith.addi %c, %product : i32
        affine.store %sum, %C[%i, %j] : memref<16x16xi32>
      }
    }
  }
  return
}
