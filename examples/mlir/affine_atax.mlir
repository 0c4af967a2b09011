// y = A^T (A x): a dot product and an update for each row.
func.func @atax(%A: memref<12x16xi32>, %x: memref<16xi32>, %y: memref<16xi32>, %tmp: memref<12xi32>) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 16 {
    affine.store %zero, %y[%i] : memref<16xi32>
  }
  affine.for %i = 0 to 12 {
    %dot = affine.for %j = 0 to 16 iter_args(%t = %zero) -> i32 {
      %a = affine.load %A[%i, %j] : memref<12x16xi32>
      %v = affine.load %x[%j] : memref<16xi32>
      %p = arith.muli %a, %v : i32
      %s = arith.addi %t, %p : i32
      affine.yield %s : i32
    }
    affine.store %dot, %tmp[%i] : memref<12xi32>
    affine.for %j = 0 to 16 {
      %a = affine.load %A[%i, %j] : memref<12x16xi32>
      %v = affine.load %y[%j] : memref<16xi32>
      %p = arith.muli %a, %dot : i32
      %s = arith.addi %v, %p : i32
      affine.store %s, %y[%j] : memref<16xi32>
    }
  }
  return
}
