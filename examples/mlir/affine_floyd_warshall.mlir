// All shortest paths: three loops around one comparison.
func.func @floyd_warshall(%path: memref<10x10xi32>) {
  affine.for %k = 0 to 10 {
    affine.for %i = 0 to 10 {
      affine.for %j = 0 to 10 {
        %direct = affine.load %path[%i, %j] : memref<10x10xi32>
        %there = affine.load %path[%i, %k] : memref<10x10xi32>
        %onward = affine.load %path[%k, %j] : memref<10x10xi32>
        %via = arith.addi %there, %onward : i32
        %best = arith.minsi %direct, %via : i32
        affine.store %best, %path[%i, %j] : memref<10x10xi32>
      }
    }
  }
  return
}
