// A sparse matrix in rows times a vector: the bounds of the inner loop and its places are loaded.
func.func @spmv(%starts: memref<13xi32>, %columns: memref<64xi32>, %values: memref<64xi32>, %x: memref<16xi32>, %y: memref<12xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c12 = arith.constant 12 : index
  %zero = arith.constant 0 : i32
  scf.for %row = %c0 to %c12 step %c1 {
    %after = arith.addi %row, %c1 : index
    %s = memref.load %starts[%row] : memref<13xi32>
    %e = memref.load %starts[%after] : memref<13xi32>
    %start = arith.index_cast %s : i32 to index
    %end = arith.index_cast %e : i32 to index
    %sum = scf.for %k = %start to %end step %c1 iter_args(%acc = %zero) -> i32 {
      %column = memref.load %columns[%k] : memref<64xi32>
      %at = arith.index_cast %column : i32 to index
      %v = memref.load %values[%k] : memref<64xi32>
      %w = memref.load %x[%at] : memref<16xi32>
      %p = arith.muli %v, %w : i32
      %t = arith.addi %acc, %p : i32
      scf.yield %t : i32
    }
    memref.store %sum, %y[%row] : memref<12xi32>
  }
  return
}
