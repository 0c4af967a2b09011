// A convolution by its name.
func.func @conv_1d(%x: memref<36xi32>, %h: memref<5xi32>, %y: memref<32xi32>) {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%y : memref<32xi32>)
  linalg.conv_1d ins(%x, %h : memref<36xi32>, memref<5xi32>) outs(%y : memref<32xi32>)
  return
}
