// C += A B on buffers.
func.func @matmul(%A: memref<8x12xi32>, %B: memref<12x10xi32>, %C: memref<8x10xi32>) {
  linalg.matmul ins(%A, %B : memref<8x12xi32>, memref<12x10xi32>) outs(%C : memref<8x10xi32>)
  return
}
