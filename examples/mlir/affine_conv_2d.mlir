// A 3x3 convolution over an image of bytes, with a nest of four loops.
func.func @conv_2d(%image: memref<12x12xi8>, %weights: memref<3x3xi32>, %out: memref<10x10xi32>) {
  %zero = arith.constant 0 : i32
  affine.for %y = 0 to 10 {
    affine.for %x = 0 to 10 {
      %total = affine.for %u = 0 to 3 iter_args(%above = %zero) -> i32 {
        %row = affine.for %v = 0 to 3 iter_args(%sum = %above) -> i32 {
          %pixel = affine.load %image[%y + %u, %x + %v] : memref<12x12xi8>
          %wide = arith.extui %pixel : i8 to i32
          %w = affine.load %weights[%u, %v] : memref<3x3xi32>
          %p = arith.muli %wide, %w : i32
          %s = arith.addi %sum, %p : i32
          affine.yield %s : i32
        }
        affine.yield %row : i32
      }
      affine.store %total, %out[%y, %x] : memref<10x10xi32>
    }
  }
  return
}
