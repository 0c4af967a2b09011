// The running sum, and the total as a result.
func.func @prefix_sum(%x: memref<40xi32>, %y: memref<40xi32>) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  %zero = arith.constant 0 : i32
  %total = scf.for %i = %c0 to %c40 step %c1 iter_args(%sum = %zero) -> i32 {
    %v = memref.load %x[%i] : memref<40xi32>
    %s = arith.addi %sum, %v : i32
    memref.store %s, %y[%i] : memref<40xi32>
    scf.yield %s : i32
  }
  return %total : i32
}
