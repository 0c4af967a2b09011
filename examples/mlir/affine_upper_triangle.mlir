// A condition on the counters: what lies above the diagonal is doubled, the rest is cleared.
#above = affine_set<(d0, d1) : (d1 - d0 - 1 >= 0)>
func.func @upper_triangle(%A: memref<12x12xi32>) {
  %zero = arith.constant 0 : i32
  %two = arith.constant 2 : i32
  affine.for %i = 0 to 12 {
    affine.for %j = 0 to 12 {
      affine.if #above(%i, %j) {
        %a = affine.load %A[%i, %j] : memref<12x12xi32>
        %d = arith.muli %a, %two : i32
        affine.store %d, %A[%i, %j] : memref<12x12xi32>
      } else {
        affine.store %zero, %A[%i, %j] : memref<12x12xi32>
      }
    }
  }
  return
}
