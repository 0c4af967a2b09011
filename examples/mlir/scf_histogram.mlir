// Counts bytes: the place of an update is loaded, so that the loop reads what it has just written.
func.func @histogram(%data: memref<64xi8>, %counts: memref<256xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1 : i32
  scf.for %i = %c0 to %c64 step %c1 {
    %byte = memref.load %data[%i] : memref<64xi8>
    %place = arith.index_castui %byte : i8 to index
    %old = memref.load %counts[%place] : memref<256xi32>
    %new = arith.addi %old, %one : i32
    memref.store %new, %counts[%place] : memref<256xi32>
  }
  return
}
