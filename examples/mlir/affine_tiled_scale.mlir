// Tiles of four with a rest: the upper bound of the inner loop is a minimum of two.
#start = affine_map<(d0) -> (d0)>
#stop = affine_map<(d0) -> (d0 + 4, 30)>
func.func @tiled_scale(%x: memref<30xi32>, %factor: i32) {
  affine.for %tile = 0 to 30 step 4 {
    affine.for %i = #start(%tile) to min #stop(%tile) {
      %v = affine.load %x[%i] : memref<30xi32>
      %p = arith.muli %v, %factor : i32
      affine.store %p, %x[%i] : memref<30xi32>
    }
  }
  return
}
