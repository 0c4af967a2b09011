// Forward substitution with a lower triangular matrix of ones on the diagonal: the inner bound is the outer counter.
#row = affine_map<(d0) -> (d0)>
func.func @trisolv(%L: memref<16x16xi32>, %x: memref<16xi32>, %b: memref<16xi32>) {
  affine.for %i = 0 to 16 {
    %right = affine.load %b[%i] : memref<16xi32>
    %rest = affine.for %j = 0 to #row(%i) iter_args(%r = %right) -> i32 {
      %l = affine.load %L[%i, %j] : memref<16x16xi32>
      %v = affine.load %x[%j] : memref<16xi32>
      %p = arith.muli %l, %v : i32
      %d = arith.subi %r, %p : i32
      affine.yield %d : i32
    }
    affine.store %rest, %x[%i] : memref<16xi32>
  }
  return
}
