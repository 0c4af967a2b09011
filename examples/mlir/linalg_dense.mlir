// A layer of a network on tensors: a product, a bias and a ReLU; the result becomes a parameter.
#map = affine_map<(d0, d1) -> (d0, d1)>
#bias = affine_map<(d0, d1) -> (d1)>
func.func @dense(%x: tensor<4x12xf32>, %w: tensor<12x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x8xf32>
  %clear = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %product = linalg.matmul ins(%x, %w : tensor<4x12xf32>, tensor<12x8xf32>) outs(%clear : tensor<4x8xf32>) -> tensor<4x8xf32>
  %out = tensor.empty() : tensor<4x8xf32>
  %result = linalg.generic {indexing_maps = [#map, #bias, #map], iterator_types = ["parallel", "parallel"]}
      ins(%product, %b : tensor<4x8xf32>, tensor<8xf32>) outs(%out : tensor<4x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    %r = arith.maximumf %s, %zero : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  return %result : tensor<4x8xf32>
}
