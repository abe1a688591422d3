// RUN: pto-buf-opt %s -p ptobuf-canonicalize | filecheck %s
// RUN: pto-buf-opt %s -p ptobuf-canonicalize | pto-buf-opt | filecheck %s

!tile = !pto.tile_buf<vec, 16x64xf32, blayout=row_major, slayout=none_box>
!slot = !ptobuf.slot<vec, 16x64xf32, blayout=row_major, slayout=none_box>
!two = !ptobuf.slots<2, vec, 16x64xf32, blayout=row_major, slayout=none_box>
!part = !pto.partition_tensor_view<16x64xf32>

// Equal indices are one value, equal selects one slot; what is in range already is not taken modulo.
// CHECK-LABEL: func.func @selects
// CHECK:         scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT:      %k = arith.remui %i, %c2 : index
// CHECK-NEXT:      %s = ptobuf.slot_select %ring[%k]
// CHECK-NEXT:      %v = ptobuf.load_into ins(%w : {{.*}}) outs(%s :
// CHECK-NEXT:      ptobuf.store ins(%s :
// CHECK-NEXT:      ptobuf.store ins(%v :
// CHECK-NEXT:    }
func.func @selects(%w: !part, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %ring = ptobuf.alloc_slots "ring" : !two
  scf.for %i = %c0 to %n step %c1 {
    %k = arith.remui %i, %c2 : index
    %s = ptobuf.slot_select %ring[%k] : !two
    %v = ptobuf.load_into ins(%w : !part) outs(%s : !slot) -> !tile
    %l = arith.andi %i, %c1 : index
    %t = ptobuf.slot_select %ring[%l] : !two
    ptobuf.store ins(%t : !slot) outs(%w : !part)
    %m = arith.remui %l, %c4 : index
    %u = ptobuf.slot_select %ring[%m] : !two
    %unused = ptobuf.slot_select %ring[%c0] : !two
    ptobuf.store ins(%v : !tile) outs(%w : !part)
    ptobuf.release %u : !slot
  }
  return
}

// A lease that nothing reads is not made, and what it needed is not made either; the set stays declared.
// CHECK-LABEL: func.func @dead
// CHECK-NOT:     load_into
// CHECK:         ptobuf.alloc_slots "ring"
// CHECK-NOT:     alloc_slots "tile"
// CHECK-NEXT:    func.return
func.func @dead(%w: !part, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ring = ptobuf.alloc_slots "ring" : !two
  %tile = ptobuf.alloc_slots "tile" {owned} : !two
  scf.for %i = %c0 to %n step %c1 {
    %s = ptobuf.slot_select %ring[%c0] : !two
    %v = ptobuf.load_into ins(%w : !part) outs(%s : !slot) -> !tile
    %t = ptobuf.slot_select %tile[%c0] : !two
    %u = ptobuf.exp_into ins(%v : !tile) outs(%t : !slot) -> !tile
    ptobuf.release %v : !tile
  }
  return
}

// What an accumulation builds on is needed although only the accumulator's last value is read.
// CHECK-LABEL: func.func @chain
// CHECK:         load_into
// CHECK:         exp_into
// CHECK:         store
func.func @chain(%w: !part, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ring = ptobuf.alloc_slots "ring" : !two
  %s = ptobuf.slot_select %ring[%c0] : !two
  %v = ptobuf.load_into ins(%w : !part) outs(%s : !slot) -> !tile
  %u = ptobuf.exp_into ins(%s : !slot) outs(%s : !slot) -> !tile
  ptobuf.store ins(%u : !tile) outs(%w : !part)
  return
}

// Loops of no trip and of one, and decided branches, are replaced by what they do.
// CHECK-LABEL: func.func @control
// CHECK-NOT:     scf.
// CHECK:         ptobuf.load_into
// CHECK-NEXT:    ptobuf.store
// CHECK-NEXT:    func.return %c3
func.func @control(%w: !part, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %ring = ptobuf.alloc_slots "ring" : !two
  scf.for %i = %c4 to %c2 step %c1 {
    %s = ptobuf.slot_select %ring[%c0] : !two
    %v = ptobuf.load_into ins(%w : !part) outs(%s : !slot) -> !tile
  }
  %sum = scf.for %i = %c1 to %c2 step %c4 iter_args(%part = %c2) -> (index) {
    %first = arith.cmpi eq, %i, %c1 : index
    scf.if %first {
      %s = ptobuf.slot_select %ring[%c1] : !two
      %v = ptobuf.load_into ins(%w : !part) outs(%s : !slot) -> !tile
      ptobuf.store ins(%v : !tile) outs(%w : !part)
    } else {
      %s = ptobuf.slot_select %ring[%c0] : !two
      %v = ptobuf.load_into ins(%w : !part) outs(%s : !slot) -> !tile
    }
    %next = arith.addi %part, %i : index
    scf.yield %next : index
  }
  return %sum : index
}

// An argument is not assumed to be natural here: the bound of 0 stays, and so does a remainder that could be negative.
// CHECK-LABEL: func.func @arguments
// CHECK:         arith.maxsi %n, %c0
// CHECK:         arith.remsi %n, %c4
func.func @arguments(%n: index) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %a = arith.maxsi %n, %c0 : index
  %b = arith.remsi %n, %c4 : index
  return %a, %b : index, index
}

// A kernel that breaks the protocol keeps its accesses and releases.
// CHECK-LABEL: func.func @broken
// CHECK:         ptobuf.load_into
// CHECK:         ptobuf.release
// CHECK:         ptobuf.store
func.func @broken(%w: !part) {
  %c0 = arith.constant 0 : index
  %ring = ptobuf.alloc_slots "ring" : !two
  %s = ptobuf.slot_select %ring[%c0] : !two
  %v = ptobuf.load_into ins(%w : !part) outs(%s : !slot) -> !tile
  ptobuf.release %v : !tile
  ptobuf.store ins(%s : !slot) outs(%w : !part)
  return
}

// Whoever reads what a slot held means that: the mark stays where the protocol is broken, and has done its work else.
// CHECK-LABEL: func.func @still_held
// CHECK:         ptobuf.slot_select
// CHECK-NOT:     held
// CHECK:         return
func.func @still_held(%w: !part) {
  %c0 = arith.constant 0 : index
  %ring = ptobuf.alloc_slots "ring" : !two
  %s = ptobuf.slot_select %ring[%c0] : !two
  %v = ptobuf.load_into ins(%w : !part) outs(%s : !slot) -> !tile
  %h = ptobuf.slot_select %ring[%c0] {held} : !two
  ptobuf.store ins(%h : !slot) outs(%w : !part)
  return
}

// CHECK-LABEL: func.func @lost
// CHECK:         ptobuf.slot_select %ring[%c0] {held}
func.func @lost(%w: !part) {
  %c0 = arith.constant 0 : index
  %ring = ptobuf.alloc_slots "ring" : !two
  %s = ptobuf.slot_select %ring[%c0] : !two
  %v = ptobuf.load_into ins(%w : !part) outs(%s : !slot) -> !tile
  %h = ptobuf.slot_select %ring[%c0] {held} : !two
  ptobuf.store ins(%h : !slot) outs(%w : !part)
  %x = ptobuf.load_into ins(%w : !part) outs(%s : !slot) -> !tile
  ptobuf.store ins(%h : !slot) outs(%w : !part)
  return
}
