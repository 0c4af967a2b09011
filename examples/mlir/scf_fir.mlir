// A filter of four taps; the number of samples is that of the buffer.
func.func @fir(%x: memref<?xi32>, %h: memref<4xi32>, %y: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i32
  %n = memref.dim %y, %c0 : memref<?xi32>
  scf.for %i = %c0 to %n step %c1 {
    %sum = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> i32 {
      %at = arith.addi %i, %k : index
      %v = memref.load %x[%at] : memref<?xi32>
      %w = memref.load %h[%k] : memref<4xi32>
      %p = arith.muli %v, %w : i32
      %s = arith.addi %acc, %p : i32
      scf.yield %s : i32
    }
    memref.store %sum, %y[%i] : memref<?xi32>
  }
  return
}
