// y = alpha * A x + beta * B x in single precision.
func.func @gesummv(%alpha: f32, %beta: f32, %A: memref<12x12xf32>, %B: memref<12x12xf32>, %x: memref<12xf32>, %y: memref<12xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 12 {
    %sums:2 = affine.for %j = 0 to 12 iter_args(%t = %zero, %u = %zero) -> (f32, f32) {
      %a = affine.load %A[%i, %j] : memref<12x12xf32>
      %b = affine.load %B[%i, %j] : memref<12x12xf32>
      %v = affine.load %x[%j] : memref<12xf32>
      %pa = arith.mulf %a, %v : f32
      %pb = arith.mulf %b, %v : f32
      %ta = arith.addf %t, %pa : f32
      %ub = arith.addf %u, %pb : f32
      affine.yield %ta, %ub : f32, f32
    }
    %left = arith.mulf %alpha, %sums#0 : f32
    %right = arith.mulf %beta, %sums#1 : f32
    %sum = arith.addf %left, %right : f32
    affine.store %sum, %y[%i] : memref<12xf32>
  }
  return
}
