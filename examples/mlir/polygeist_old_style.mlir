// As MLIR was written before 2022: functions and arithmetic without the names of their dialects.
#map0 = affine_map<()[s0] -> (s0 - 1)>
module {
  func @smooth(%arg0: i32, %arg1: memref<?xi32>, %arg2: memref<?xi32>) {
    %c3_i32 = constant 3 : i32
    %0 = index_cast %arg0 : i32 to index
    affine.for %arg3 = 1 to #map0()[%0] {
      %1 = affine.load %arg1[%arg3 - 1] : memref<?xi32>
      %2 = affine.load %arg1[%arg3] : memref<?xi32>
      %3 = affine.load %arg1[%arg3 + 1] : memref<?xi32>
      %4 = addi %1, %2 : i32
      %5 = addi %4, %3 : i32
      %6 = divi_signed %5, %c3_i32 : i32
      affine.store %6, %arg2[%arg3] : memref<?xi32>
    }
    return
  }
}
