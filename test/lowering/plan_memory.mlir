// RUN: pto-buf-opt %s -p ptobuf-plan-memory | filecheck %s
// A second plan finds every set pinned where the first put it.
// RUN: pto-buf-opt %s -p ptobuf-plan-memory,ptobuf-plan-memory | filecheck %s
// RUN: pto-buf-opt %s -p 'ptobuf-plan-memory{check-only=true}' | filecheck %s --check-prefix UNTOUCHED

// UNTOUCHED-NOT: addr = 0

module attributes {pto.target_arch = "a3"} {

// Sets of the user's first, in program order; the compiler's tile beside them, since there is room.
// CHECK-LABEL: func.func @cube
// CHECK: alloc_slots "q1" {owned, addr = 262144 : i64}
// CHECK: alloc_slots "wide" {addr = 0 : i64}
// CHECK: alloc_slots "thin" {addr = 0 : i64}
// CHECK: alloc_slots "sums" {addr = 0 : i64}
func.func @cube() {
  %q1 = ptobuf.alloc_slots "q1" {owned} : !ptobuf.slots<1, mat, 16x128xbf16, blayout=col_major, slayout=row_major>
  %wide = ptobuf.alloc_slots "wide" : !ptobuf.slots<2, mat, 128x512xbf16, blayout=col_major, slayout=row_major>
  %thin = ptobuf.alloc_slots "thin" : !ptobuf.slots<2, right, 128x128xbf16, blayout=row_major, slayout=col_major>
  %sums = ptobuf.alloc_slots "sums" : !ptobuf.slots<2, acc, 16x128xf32, blayout=col_major, slayout=row_major, fractal=1024>
  return
}

// The two sources of the sum lie 256 bytes apart modulo 512.
// CHECK-LABEL: func.func @sources
// CHECK: alloc_slots "xs" {addr = 0 : i64}
// CHECK: alloc_slots "ys" {addr = 65792 : i64}
// CHECK: alloc_slots "sum" {owned, addr = 131328 : i64}
func.func @sources(%n: index) {
  %xs = ptobuf.alloc_slots "xs" : !ptobuf.slots<2, vec, 64x128xf32, blayout=row_major, slayout=none_box>
  %ys = ptobuf.alloc_slots "ys" : !ptobuf.slots<2, vec, 64x128xf32, blayout=row_major, slayout=none_box>
  %set = ptobuf.alloc_slots "sum" {owned} : !ptobuf.slots<1, vec, 64x128xf32, blayout=row_major, slayout=none_box>
  %c0 = arith.constant 0 : index
  %x = ptobuf.slot_select %xs[%c0] : !ptobuf.slots<2, vec, 64x128xf32, blayout=row_major, slayout=none_box>
  %y = ptobuf.slot_select %ys[%c0] : !ptobuf.slots<2, vec, 64x128xf32, blayout=row_major, slayout=none_box>
  %z = ptobuf.slot_select %set[%c0] : !ptobuf.slots<1, vec, 64x128xf32, blayout=row_major, slayout=none_box>
  %sum = ptobuf.add_into ins(%x, %y : !ptobuf.slot<vec, 64x128xf32, blayout=row_major, slayout=none_box>, !ptobuf.slot<vec, 64x128xf32, blayout=row_major, slayout=none_box>) outs(%z : !ptobuf.slot<vec, 64x128xf32, blayout=row_major, slayout=none_box>) -> !pto.tile_buf<vec, 64x128xf32, blayout=row_major, slayout=none_box>
  return
}

// A pinned set stays where it is, and others go around it.
// CHECK-LABEL: func.func @pinned
// CHECK: alloc_slots "first" {addr = 8192 : i64}
// CHECK: alloc_slots "second" {addr = 4096 : i64}
// CHECK: alloc_slots "third" {addr = 0 : i64}
func.func @pinned() {
  %first = ptobuf.alloc_slots "first" : !ptobuf.slots<2, vec, 16x128xf32, blayout=row_major, slayout=none_box>
  %second = ptobuf.alloc_slots "second" {addr = 4096 : i64} : !ptobuf.slots<1, vec, 8x128xf32, blayout=row_major, slayout=none_box>
  %third = ptobuf.alloc_slots "third" : !ptobuf.slots<1, vec, 8x128xf32, blayout=row_major, slayout=none_box>
  return
}

}
