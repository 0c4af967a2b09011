// Two elementwise ops on tensors, which become one loop.
#id = affine_map<(d0) -> (d0)>
func.func @relu(%x: tensor<48xi32>, %shift: tensor<48xi32>) -> tensor<48xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<48xi32>
  %sum = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %shift : tensor<48xi32>, tensor<48xi32>) outs(%empty : tensor<48xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %s = arith.addi %a, %b : i32
    linalg.yield %s : i32
  } -> tensor<48xi32>
  %result = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%sum : tensor<48xi32>) outs(%empty : tensor<48xi32>) {
  ^bb0(%a: i32, %o: i32):
    %r = arith.maxsi %a, %zero : i32
    linalg.yield %r : i32
  } -> tensor<48xi32>
  return %result : tensor<48xi32>
}
