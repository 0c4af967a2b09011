// One time step there and back of the five-point stencil in single precision.
func.func @jacobi_2d(%A: memref<14x14xf32>, %B: memref<14x14xf32>) {
  %fifth = arith.constant 0.2 : f32
  affine.for %i = 1 to 13 {
    affine.for %j = 1 to 13 {
      %mid = affine.load %A[%i, %j] : memref<14x14xf32>
      %left = affine.load %A[%i, %j - 1] : memref<14x14xf32>
      %right = affine.load %A[%i, %j + 1] : memref<14x14xf32>
      %down = affine.load %A[%i + 1, %j] : memref<14x14xf32>
      %up = affine.load %A[%i - 1, %j] : memref<14x14xf32>
      %s1 = arith.addf %mid, %left : f32
      %s2 = arith.addf %s1, %right : f32
      %s3 = arith.addf %s2, %down : f32
      %s4 = arith.addf %s3, %up : f32
      %mean = arith.mulf %fifth, %s4 : f32
      affine.store %mean, %B[%i, %j] : memref<14x14xf32>
    }
  }
  affine.for %i = 1 to 13 {
    affine.for %j = 1 to 13 {
      %mid = affine.load %B[%i, %j] : memref<14x14xf32>
      %left = affine.load %B[%i, %j - 1] : memref<14x14xf32>
      %right = affine.load %B[%i, %j + 1] : memref<14x14xf32>
      %down = affine.load %B[%i + 1, %j] : memref<14x14xf32>
      %up = affine.load %B[%i - 1, %j] : memref<14x14xf32>
      %s1 = arith.addf %mid, %left : f32
      %s2 = arith.addf %s1, %right : f32
      %s3 = arith.addf %s2, %down : f32
      %s4 = arith.addf %s3, %up : f32
      %mean = arith.mulf %fifth, %s4 : f32
      affine.store %mean, %A[%i, %j] : memref<14x14xf32>
    }
  }
  return
}
