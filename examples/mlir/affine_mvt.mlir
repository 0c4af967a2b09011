// Two matrix-vector products, the second with the transposed matrix; the number of rows is a parameter.
func.func @mvt(%n: index, %x1: memref<?xi32>, %x2: memref<?xi32>, %y1: memref<?xi32>, %y2: memref<?xi32>, %A: memref<?x16xi32>) {
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %n {
      %x = affine.load %x1[%i] : memref<?xi32>
      %a = affine.load %A[%i, %j] : memref<?x16xi32>
      %y = affine.load %y1[%j] : memref<?xi32>
      %p = arith.muli %a, %y : i32
      %s = arith.addi %x, %p : i32
      affine.store %s, %x1[%i] : memref<?xi32>
    }
  }
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %n {
      %x = affine.load %x2[%i] : memref<?xi32>
      %a = affine.load %A[%j, %i] : memref<?x16xi32>
      %y = affine.load %y2[%j] : memref<?xi32>
      %p = arith.muli %a, %y : i32
      %s = arith.addi %x, %p : i32
      affine.store %s, %x2[%i] : memref<?xi32>
    }
  }
  return
}
