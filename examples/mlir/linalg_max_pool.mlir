// The largest of each two by two pixels.
func.func @max_pool(%image: memref<1x8x8x1xi32>, %window: memref<2x2xi32>, %out: memref<1x4x4x1xi32>) {
  linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
    ins(%image, %window : memref<1x8x8x1xi32>, memref<2x2xi32>) outs(%out : memref<1x4x4x1xi32>)
  return
}
