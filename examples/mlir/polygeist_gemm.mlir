// As Polygeist writes a PolyBench kernel: double precision, open rows, attributes of the compiler. Read it with f64=f32.
module attributes {dlti.dl_spec = #dlti.dl_spec<#dlti.dl_entry<i64, dense<64> : vector<2xi32>>, #dlti.dl_entry<!llvm.ptr<270>, dense<32> : vector<4xi32>>, #dlti.dl_entry<"dlti.endianness", "little">>, llvm.data_layout = "e-m:e-i64:64", llvm.target_triple = "x86_64-unknown-linux-gnu", "polygeist.target-cpu" = "x86-64"} {
  func.func @kernel_gemm(%arg0: f64, %arg1: f64, %arg2: memref<?x14xf64>, %arg3: memref<?x12xf64>, %arg4: memref<?x14xf64>) attributes {llvm.linkage = #llvm.linkage<external>} {
    affine.for %arg5 = 0 to 10 {
      affine.for %arg6 = 0 to 14 {
        %0 = affine.load %arg2[%arg5, %arg6] : memref<?x14xf64>
        %1 = arith.mulf %0, %arg1 : f64
        affine.store %1, %arg2[%arg5, %arg6] : memref<?x14xf64>
      }
      affine.for %arg6 = 0 to 12 {
        affine.for %arg7 = 0 to 14 {
          %0 = affine.load %arg3[%arg5, %arg6] : memref<?x12xf64>
          %1 = arith.mulf %arg0, %0 : f64
          %2 = affine.load %arg4[%arg6, %arg7] : memref<?x14xf64>
          %3 = arith.mulf %1, %2 : f64
          %4 = affine.load %arg2[%arg5, %arg7] : memref<?x14xf64>
          %5 = arith.addf %4, %3 : f64
          affine.store %5, %arg2[%arg5, %arg7] : memref<?x14xf64>
        }
      }
    }
    return
  }
}
