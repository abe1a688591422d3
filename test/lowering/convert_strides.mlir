// RUN: pto-buf-opt %s -p ptobuf-plan-memory,ptobuf-convert-to-pto | filecheck %s

// The tiles of a set lie as far apart as the plan counts: on a2a3 the cube writes i32 accumulators in blocks of 32 rows.
// CHECK: %thin = pto.alloc_tile addr = %a4096 :
// CHECK: %sums = pto.alloc_tile addr = %a16384 :

!sums = !ptobuf.slots<2, acc, 16x128xi32, blayout=col_major, slayout=row_major, fractal=1024>
!sums_slot = !ptobuf.slot<acc, 16x128xi32, blayout=col_major, slayout=row_major, fractal=1024>
!sums_tile = !pto.tile_buf<acc, 16x128xi32, blayout=col_major, slayout=row_major, fractal=1024>
!left = !ptobuf.slots<1, left, 16x32xi8, blayout=row_major, slayout=row_major>
!left_slot = !ptobuf.slot<left, 16x32xi8, blayout=row_major, slayout=row_major>
!thin = !ptobuf.slots<2, right, 32x128xi8, blayout=row_major, slayout=col_major>
!thin_slot = !ptobuf.slot<right, 32x128xi8, blayout=row_major, slayout=col_major>

module attributes {pto.target_arch = "a3"} {
func.func @product() attributes {pto.entry, pto.kernel_kind = #pto.kernel_kind<cube>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %left = ptobuf.alloc_slots "left" : !left
  %thin = ptobuf.alloc_slots "thin" : !thin
  %sums = ptobuf.alloc_slots "sums" : !sums
  %a = ptobuf.slot_select %left[%c0] : !left
  %b = ptobuf.slot_select %thin[%c1] : !thin
  %c = ptobuf.slot_select %sums[%c1] : !sums
  %v = ptobuf.matmul_into ins(%a, %b : !left_slot, !thin_slot) outs(%c : !sums_slot) -> !sums_tile
  return
}
}
