// Loops without an order: they run one after the other here.
func.func @parallel_add(%a: memref<8x12xi32>, %b: memref<8x12xi32>, %out: memref<8x12xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c8, %c12) step (%c1, %c1) {
    %x = memref.load %a[%i, %j] : memref<8x12xi32>
    %y = memref.load %b[%i, %j] : memref<8x12xi32>
    %s = arith.addi %x, %y : i32
    memref.store %s, %out[%i, %j] : memref<8x12xi32>
    scf.reduce
  }
  return
}
