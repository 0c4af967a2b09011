// Euclid's algorithm for every pair: a while loop whose end depends on what it computes.
func.func @gcd(%a: memref<16xi32>, %b: memref<16xi32>, %out: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0 : i32
  scf.for %i = %c0 to %c16 step %c1 {
    %first = memref.load %a[%i] : memref<16xi32>
    %second = memref.load %b[%i] : memref<16xi32>
    %result:2 = scf.while (%p = %first, %q = %second) : (i32, i32) -> (i32, i32) {
      %more = arith.cmpi ne, %q, %zero : i32
      scf.condition(%more) %p, %q : i32, i32
    } do {
    ^bb0(%p: i32, %q: i32):
      %r = arith.remui %p, %q : i32
      scf.yield %q, %r : i32, i32
    }
    memref.store %result#0, %out[%i] : memref<16xi32>
  }
  return
}
