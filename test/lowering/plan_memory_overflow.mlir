// RUN: pto-buf-opt %s -p ptobuf-plan-memory --split-input-file --expect-errors
// RUN: pto-buf-opt %s -p 'ptobuf-plan-memory{check-only=true}' --split-input-file --expect-errors

module attributes {pto.target_arch = "a3"} {
  // Every function of a file is looked at.
  func.func @one_set_too_big() {
    // expected-error@+3 {{'rights' does not fit in right (L0B): 256 KiB are needed at once, a2a3 has 64 KiB [capacity-or-count]}}
    // expected-note@+2 {{'rights' 2 x 256x256xf16 = 256 KiB, kept throughout}}
    // expected-help@+1 {{tile 128x128 would fit}}
    %rights = ptobuf.alloc_slots "rights" : !ptobuf.slots<2, right, 256x256xf16, blayout=row_major, slayout=col_major>
    return
  }

  func.func @two_sets_together() {
    // expected-note@+1 {{'xs' 2 x 128x128xf32 = 128 KiB, kept throughout}}
    %xs = ptobuf.alloc_slots "xs" : !ptobuf.slots<2, vec, 128x128xf32, blayout=row_major, slayout=none_box>
    // expected-error@+3 {{'ys' does not fit in vec (UB): 256 KiB are needed at once, a2a3 has 184 KiB}}
    // expected-note@+2 {{'ys' 2 x 128x128xf32 = 128 KiB, kept throughout}}
    // expected-help@+1 {{tile 64x64 would fit}}
    %ys = ptobuf.alloc_slots "ys" : !ptobuf.slots<2, vec, 128x128xf32, blayout=row_major, slayout=none_box>
    return
  }
}

// -----

// The compiler's tile is reported at the op that makes it.
module attributes {pto.target_arch = "a3"} {
  func.func @set_and_compiler_tile(%n: index, %p: !pto.ptr<f32>) {
    // expected-note@+1 {{'ring' 2 x 128x128xf32 = 128 KiB, kept throughout}}
    %ring = ptobuf.alloc_slots "ring" : !ptobuf.slots<2, vec, 128x128xf32, blayout=row_major, slayout=none_box>
    %set = ptobuf.alloc_slots "exp" {owned} : !ptobuf.slots<1, vec, 128x128xf32, blayout=row_major, slayout=none_box>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    scf.for %i = %c0 to %n step %c1 {
      %k = arith.remui %i, %c2 : index
      %x = ptobuf.slot_select %ring[%k] : !ptobuf.slots<2, vec, 128x128xf32, blayout=row_major, slayout=none_box>
      %y = ptobuf.slot_select %set[%c0] : !ptobuf.slots<1, vec, 128x128xf32, blayout=row_major, slayout=none_box>
      // expected-error@+2 {{'exp' does not fit in vec (UB): 192 KiB are needed at once, a2a3 has 184 KiB}}
      // expected-note@+1 {{'exp' 1 x 128x128xf32 = 64 KiB, live at line 42}}
      %e = ptobuf.exp_into ins(%x : !ptobuf.slot<vec, 128x128xf32, blayout=row_major, slayout=none_box>) outs(%y : !ptobuf.slot<vec, 128x128xf32, blayout=row_major, slayout=none_box>) -> !pto.tile_buf<vec, 128x128xf32, blayout=row_major, slayout=none_box>
    }
    return
  }
}

// -----

// a5 has room for it.
module attributes {pto.target_arch = "a5"} {
  func.func @larger() {
    %xs = ptobuf.alloc_slots "xs" : !ptobuf.slots<3, vec, 128x128xf32, blayout=row_major, slayout=none_box>
    return
  }
}

// -----

module attributes {pto.target_arch = "a3"} {
  func.func @pinned() {
    // expected-error@+1 {{'r' is pinned to address 256; in right (L0B) a slot starts at a multiple of 512 [pinned-address]}}
    %r = ptobuf.alloc_slots "r" {addr = 256 : i64} : !ptobuf.slots<2, right, 16x16xf16, blayout=row_major, slayout=col_major>
    // expected-note@+1 {{'first' is declared here}}
    %first = ptobuf.alloc_slots "first" {addr = 0 : i64} : !ptobuf.slots<2, vec, 24x256xf32, blayout=row_major, slayout=none_box>
    // expected-error@+1 {{'second' pinned to [0, 32768) overlaps 'first' at [0, 49152)}}
    %second = ptobuf.alloc_slots "second" {addr = 0 : i64} : !ptobuf.slots<2, vec, 16x256xf32, blayout=row_major, slayout=none_box>
    // expected-help@+2 {{did you mean 'first'?}}
    // expected-error@+1 {{'third' wants to share with 'frist', but there is no slot set of that name [slot-set]}}
    %third = ptobuf.alloc_slots "third" {share = ["frist"]} : !ptobuf.slots<1, vec, 8x128xf32, blayout=row_major, slayout=none_box>
    return
  }
}
