// The two products of the BiCG method in one pass over A.
func.func @bicg(%A: memref<12x16xi32>, %s: memref<16xi32>, %q: memref<12xi32>, %p: memref<16xi32>, %r: memref<12xi32>) {
  %zero = arith.constant 0 : i32
  affine.for %j = 0 to 16 {
    affine.store %zero, %s[%j] : memref<16xi32>
  }
  affine.for %i = 0 to 12 {
    %factor = affine.load %r[%i] : memref<12xi32>
    %dot = affine.for %j = 0 to 16 iter_args(%sum = %zero) -> i32 {
      %a = affine.load %A[%i, %j] : memref<12x16xi32>
      %old = affine.load %s[%j] : memref<16xi32>
      %up = arith.muli %factor, %a : i32
      %new = arith.addi %old, %up : i32
      affine.store %new, %s[%j] : memref<16xi32>
      %v = affine.load %p[%j] : memref<16xi32>
      %part = arith.muli %a, %v : i32
      %next = arith.addi %sum, %part : i32
      affine.yield %next : i32
    }
    affine.store %dot, %q[%i] : memref<12xi32>
  }
  return
}
