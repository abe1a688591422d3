// RUN: pto-buf-opt %s -p ptobuf-verify-slots --split-input-file --expect-errors

!tile = !pto.tile_buf<vec, 16x64xf32, blayout=row_major, slayout=none_box>
!slot = !ptobuf.slot<vec, 16x64xf32, blayout=row_major, slayout=none_box>
!two = !ptobuf.slots<2, vec, 16x64xf32, blayout=row_major, slayout=none_box>
!part = !pto.partition_tensor_view<16x64xf32>

func.func @fine(%w: !part, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %ring = ptobuf.alloc_slots "ring" : !two
  scf.for %i = %c0 to %n step %c1 {
    %k = arith.remui %i, %c2 : index
    %s = ptobuf.slot_select %ring[%k] : !two
    %v = ptobuf.load_into ins(%w : !part) outs(%s : !slot) -> !tile
    ptobuf.store ins(%v : !tile) outs(%w : !part)
    ptobuf.release %v : !tile
  }
  return
}

func.func @index(%w: !part, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  // expected-note@+4 {{'ring' is declared here}}
  // expected-note@+3 {{'ring' is declared here}}
  // expected-note@+2 {{'ring' is declared here}}
  // expected-note@+1 {{'ring' is declared here}}
  %ring = ptobuf.alloc_slots "ring" : !two
  scf.for %i = %c0 to %n step %c1 {
    %a = arith.remui %i, %c3 : index
    // expected-error@+2 {{slot index i % 3 is 2 when i = 2, n >= 3, outside [0, 2): 'ring' has 2 slots (0 to 1) [slot-index-out-of-range]}}
    // expected-help@+1 {{use % 2 instead of % 3, or give 'ring' 3 slots}}
    %s = ptobuf.slot_select %ring[%a] : !two
    %v = ptobuf.load_into ins(%w : !part) outs(%s : !slot) -> !tile
    %b = arith.subi %i, %c1 : index
    %d = arith.remsi %b, %c2 : index
    // expected-error@+2 {{slot index (i - 1) rem 2 is -1 when i = 0, n >= 1, outside [0, 2)}}
    // expected-help@+1 {{keep the index from going below 0: add a multiple of 2 before its remainder is taken}}
    %t = ptobuf.slot_select %ring[%d] : !two
    %u = ptobuf.load_into ins(%w : !part) outs(%t : !slot) -> !tile
    // expected-error@+1 {{slot index i is 2 when i = 2, n >= 3, outside [0, 2)}}
    %x = ptobuf.slot_select %ring[%i] : !two
    %y = ptobuf.load_into ins(%w : !part) outs(%x : !slot) -> !tile
    ptobuf.store ins(%y : !tile) outs(%w : !part)
  }
  // expected-error@+1 {{slot index n can be 2, outside [0, 2)}}
  %z = ptobuf.slot_select %ring[%n] : !two
  %q = ptobuf.load_into ins(%w : !part) outs(%z : !slot) -> !tile
  return
}

// -----

!tile = !pto.tile_buf<vec, 16x64xf32, blayout=row_major, slayout=none_box>
!slot = !ptobuf.slot<vec, 16x64xf32, blayout=row_major, slayout=none_box>
!two = !ptobuf.slots<2, vec, 16x64xf32, blayout=row_major, slayout=none_box>
!part = !pto.partition_tensor_view<16x64xf32>

func.func @unwritten(%w: !part, %n: index, %flag: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %ring = ptobuf.alloc_slots "ring" : !two
  %s0 = ptobuf.slot_select %ring[%c0] : !two
  %s1 = ptobuf.slot_select %ring[%c1] : !two
  // expected-note@+1 {{the loop that writes it may run no trips, or may not reach this slot}}
  scf.for %i = %c0 to %n step %c1 {
    %v = ptobuf.load_into ins(%w : !part) outs(%s0 : !slot) -> !tile
  }
  // expected-error@+2 {{'store' reads slot 0 of 'ring', which is not written [read-before-write]}}
  // expected-help@+1 {{make sure that the loop runs (peel its first step)}}
  ptobuf.store ins(%s0 : !slot) outs(%w : !part)
  // expected-note@+1 {{it is written only in one arm of this branch}}
  scf.if %flag {
    %v = ptobuf.load_into ins(%w : !part) outs(%s1 : !slot) -> !tile
  }
  // expected-error@+1 {{'store' reads slot 1 of 'ring', which is not written}}
  ptobuf.store ins(%s1 : !slot) outs(%w : !part)
  return
}

func.func @clobbers(%w: !part, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %ring = ptobuf.alloc_slots "ring" : !two
  scf.for %i = %c0 to %n step %c1 {
    %k = arith.andi %i, %c1 : index
    %j = arith.addi %i, %c2 : index
    %l = arith.remui %j, %c2 : index
    %s = ptobuf.slot_select %ring[%k] : !two
    %t = ptobuf.slot_select %ring[%l] : !two
    // expected-note@+1 {{the value was written here}}
    %v = ptobuf.load_into ins(%w : !part) outs(%s : !slot) -> !tile
    // expected-error@+2 {{'load' overwrites slot 0 of 'ring' when i = 0, n >= 1, whose value is still needed [clobber]}}
    // expected-help@+1 {{read the value before this write, choose another slot, or give 'ring' one more}}
    %u = ptobuf.load_into ins(%w : !part) outs(%t : !slot) -> !tile
    // expected-note@+1 {{and is named here}}
    ptobuf.store ins(%v : !tile) outs(%w : !part)
    ptobuf.store ins(%u : !tile) outs(%w : !part)
  }
  %s0 = ptobuf.slot_select %ring[%c0] : !two
  // expected-note@+1 {{the value was written here}}
  %a = ptobuf.load_into ins(%w : !part) outs(%s0 : !slot) -> !tile
  // expected-error@+1 {{'load' overwrites slot 0 of 'ring', whose value nothing has read [clobber]}}
  %b = ptobuf.load_into ins(%w : !part) outs(%s0 : !slot) -> !tile
  ptobuf.store ins(%b : !tile) outs(%w : !part)
  return
}

func.func @releases(%w: !part, %n: index, %flag: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ring = ptobuf.alloc_slots "ring" : !two
  // expected-note@+1 {{'other' is declared here}}
  %other = ptobuf.alloc_slots "other" : !two
  %s = ptobuf.slot_select %ring[%c0] : !two
  %t = ptobuf.slot_select %ring[%c1] : !two
  %o = ptobuf.slot_select %other[%c1] : !two
  %v = ptobuf.load_into ins(%w : !part) outs(%s : !slot) -> !tile
  scf.if %flag {
    // expected-note@+2 {{released here}}
    // expected-note@+1 {{first released here}}
    ptobuf.release %v : !tile
  }
  // expected-error@+2 {{'store' uses slot 0 of 'ring' after its release [use-after-release]}}
  // expected-help@+1 {{move the release behind this use}}
  ptobuf.store ins(%s : !slot) outs(%w : !part)
  // expected-error@+2 {{releases slot 0 of 'ring' a second time [release-misuse]}}
  // expected-help@+1 {{release a lease once}}
  ptobuf.release %s : !slot
  // expected-error@+1 {{releases slot 1 of 'other', which is not taken [release-misuse]}}
  ptobuf.release %o : !slot
  // expected-note@+1 {{taken here, and not again since}}
  %u = ptobuf.load_into ins(%w : !part) outs(%t : !slot) -> !tile
  // expected-note@+1 {{each trip of this loop releases it}}
  scf.for %i = %c0 to %n step %c1 {
    // expected-error@+2 {{'store' uses slot 1 of 'ring' after its release when i = 1, n >= 2}}
    // expected-help@+1 {{move the release behind the loop: the lease was taken outside of it}}
    ptobuf.store ins(%u : !tile) outs(%w : !part)
    // expected-note@+3 {{released here}}
    // expected-error@+2 {{releases slot 1 of 'ring' again when i = 1, n >= 2: the lease was taken outside of this loop}}
    // expected-help@+1 {{move the release behind the loop}}
    ptobuf.release %u : !tile
  }
  return
}

// -----

!tile = !pto.tile_buf<vec, 16x64xf32, blayout=row_major, slayout=none_box>
!slot = !ptobuf.slot<vec, 16x64xf32, blayout=row_major, slayout=none_box>
!one = !ptobuf.slots<1, vec, 16x64xf32, blayout=row_major, slayout=none_box>
!part = !pto.partition_tensor_view<16x64xf32>

func.func @joined(%w: !part, %flag: i1) {
  %c0 = arith.constant 0 : index
  %a = ptobuf.alloc_slots "a" : !one
  %b = ptobuf.alloc_slots "b" : !one
  %s = ptobuf.slot_select %a[%c0] : !one
  %t = ptobuf.slot_select %b[%c0] : !one
  // expected-error@+2 {{%r comes out of an 'if' in slots of 'a' and 'b' that are not one slot [slot-join]}}
  // expected-help@+1 {{choose the index first and select one slot with it}}
  %r = scf.if %flag -> (!tile) {
    // expected-note@+1 {{from here}}
    %v = ptobuf.load_into ins(%w : !part) outs(%s : !slot) -> !tile
    scf.yield %v : !tile
  } else {
    // expected-note@+1 {{from here}}
    %u = ptobuf.load_into ins(%w : !part) outs(%t : !slot) -> !tile
    scf.yield %u : !tile
  }
  ptobuf.store ins(%r : !tile) outs(%w : !part)
  return
}

// -----

!tile = !pto.tile_buf<vec, 16x64xf32, blayout=row_major, slayout=none_box>
!slot = !ptobuf.slot<vec, 16x64xf32, blayout=row_major, slayout=none_box>
!ring = !ptobuf.slots<2, vec, 16x64xf32, blayout=row_major, slayout=none_box>
!part = !pto.partition_tensor_view<16x64xf32>

func.func @held(%w: !part, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %ring = ptobuf.alloc_slots "ring" : !ring
  %s = ptobuf.slot_select %ring[%c0] : !ring
  %a = ptobuf.load_into ins(%w : !part) outs(%s : !slot) -> !tile
  // expected-note@+1 {{the value is taken up here}}
  %h = ptobuf.slot_select %ring[%c0] {held} : !ring
  ptobuf.store ins(%h : !slot) outs(%w : !part)
  // expected-error@+2 {{'load' overwrites slot 0 of 'ring', whose value is still needed [clobber]}}
  // expected-help@+1 {{read the value before this write, choose another slot, or give 'ring' one more}}
  %b = ptobuf.load_into ins(%w : !part) outs(%s : !slot) -> !tile
  // what the slot holds is another thing
  ptobuf.store ins(%s : !slot) outs(%w : !part)
  // expected-note@+1 {{and is named here}}
  ptobuf.store ins(%h : !slot) outs(%w : !part)
  scf.for %i = %c0 to %n step %c1 {
    %k = arith.remui %i, %c2 : index
    %t = ptobuf.slot_select %ring[%k] : !ring
    %x = ptobuf.load_into ins(%w : !part) outs(%t : !slot) -> !tile
    // each trip takes up its own
    %g = ptobuf.slot_select %ring[%k] {held} : !ring
    ptobuf.store ins(%g : !slot) outs(%w : !part)
  }
  return
}
