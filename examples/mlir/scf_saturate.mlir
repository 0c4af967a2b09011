// A sum of two signals of 16 bits that stays within its range: two branches, one inside the other.
func.func @saturate(%a: memref<32xi16>, %b: memref<32xi16>, %out: memref<32xi16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %most = arith.constant 32767 : i32
  %least = arith.constant -32768 : i32
  scf.for %i = %c0 to %c32 step %c1 {
    %x = memref.load %a[%i] : memref<32xi16>
    %y = memref.load %b[%i] : memref<32xi16>
    %wx = arith.extsi %x : i16 to i32
    %wy = arith.extsi %y : i16 to i32
    %sum = arith.addi %wx, %wy : i32
    %above = arith.cmpi sgt, %sum, %most : i32
    %kept = scf.if %above -> i32 {
      scf.yield %most : i32
    } else {
      %below = arith.cmpi slt, %sum, %least : i32
      %inner = scf.if %below -> i32 {
        scf.yield %least : i32
      } else {
        scf.yield %sum : i32
      }
      scf.yield %inner : i32
    }
    %narrow = arith.trunci %kept : i32 to i16
    memref.store %narrow, %out[%i] : memref<32xi16>
  }
  return
}
