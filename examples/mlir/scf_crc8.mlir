// A checksum of eight bits: eight shifts for each byte, with a carried value through both loops.
func.func @crc8(%data: memref<32xi8>) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %top = arith.constant 128 : i32
  %poly = arith.constant 7 : i32
  %mask = arith.constant 255 : i32
  %crc = scf.for %i = %c0 to %c32 step %c1 iter_args(%outer = %zero) -> i32 {
    %byte = memref.load %data[%i] : memref<32xi8>
    %wide = arith.extui %byte : i8 to i32
    %start = arith.xori %outer, %wide : i32
    %after = scf.for %bit = %c0 to %c8 step %c1 iter_args(%c = %start) -> i32 {
      %carry = arith.andi %c, %top : i32
      %shifted = arith.shli %c, %one : i32
      %set = arith.cmpi ne, %carry, %zero : i32
      %mixed = arith.xori %shifted, %poly : i32
      %chosen = arith.select %set, %mixed, %shifted : i32
      %kept = arith.andi %chosen, %mask : i32
      scf.yield %kept : i32
    }
    scf.yield %after : i32
  }
  return %crc : i32
}
