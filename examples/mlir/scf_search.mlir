// The place of the first element that equals a key, or -1: a while loop with two ways out.
func.func @search(%x: memref<48xi32>, %key: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant -1 : i32
  %length = arith.constant 48 : i32
  %false = arith.constant false
  %found:2 = scf.while (%i = %zero, %stop = %false) : (i32, i1) -> (i32, i1) {
    %inside = arith.cmpi slt, %i, %length : i32
    %true = arith.constant true
    %running = arith.xori %stop, %true : i1
    %more = arith.andi %inside, %running : i1
    scf.condition(%more) %i, %stop : i32, i1
  } do {
  ^bb0(%i: i32, %stop: i1):
    %at = arith.index_cast %i : i32 to index
    %v = memref.load %x[%at] : memref<48xi32>
    %same = arith.cmpi eq, %v, %key : i32
    %next = arith.addi %i, %one : i32
    %kept = arith.select %same, %i, %next : i32
    scf.yield %kept, %same : i32, i1
  }
  %result = arith.select %found#1, %found#0, %none : i32
  return %result : i32
}
