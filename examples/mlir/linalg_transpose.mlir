// A matrix and its transpose, with a buffer of its own in between.
func.func @symmetric(%A: memref<10x10xi32>, %out: memref<10x10xi32>) {
  %t = memref.alloc() : memref<10x10xi32>
  linalg.transpose ins(%A : memref<10x10xi32>) outs(%t : memref<10x10xi32>) permutation = [1, 0]
  linalg.add ins(%A, %t : memref<10x10xi32>, memref<10x10xi32>) outs(%out : memref<10x10xi32>)
  memref.dealloc %t : memref<10x10xi32>
  return
}
