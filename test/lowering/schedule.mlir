// RUN: pto-buf-opt %s -p 'ptobuf-schedule{interleave=2}' | filecheck %s
// RUN: pto-buf-opt %s -p ptobuf-schedule | filecheck %s --check-prefix UNTOUCHED

// The order that issue 2131 of pypto asks for; the index arithmetic of both trips comes first.
// CHECK-LABEL: func.func @cube
// CHECK:       scf.for %j = %c0 to %c512 step %c256 {
// CHECK-NEXT:    %j_1 = arith.addi %j, %c128 : index
// CHECK-NEXT:    arith.divui %j, %c128
// CHECK-NOT:     matmul_into
// CHECK:         arith.divui %j_1, %c128
// CHECK-NOT:     matmul_into
// CHECK:         %b0 = ptobuf.extract_into ins(%w, %c0, %j :
// CHECK-NEXT:    %b0_1 = ptobuf.extract_into ins(%w, %c0, %j_1 :
// CHECK-NEXT:    %c = ptobuf.matmul_into ins(%q, %b0 :
// CHECK-NEXT:    %c_1 = ptobuf.matmul_into ins(%q, %b0_1 :
// CHECK-NEXT:    ptobuf.store ins(%c :
// CHECK-NEXT:    ptobuf.store ins(%c_1 :
// CHECK-NEXT:  }

// UNTOUCHED-LABEL: func.func @cube
// UNTOUCHED:       scf.for %j = %c0 to %c512 step %c128 {
// UNTOUCHED:         %b0 = ptobuf.extract_into
// UNTOUCHED:         %c = ptobuf.matmul_into
// UNTOUCHED:         ptobuf.store
// UNTOUCHED-NEXT:  }

!wide = !ptobuf.slots<1, mat, 128x512xbf16, blayout=col_major, slayout=row_major>
!left = !ptobuf.slots<1, left, 16x128xbf16, blayout=row_major, slayout=row_major>
!thin = !ptobuf.slots<2, right, 128x128xbf16, blayout=row_major, slayout=col_major>
!sums = !ptobuf.slots<2, acc, 16x128xf32, blayout=col_major, slayout=row_major, fractal=1024>
!wide_slot = !ptobuf.slot<mat, 128x512xbf16, blayout=col_major, slayout=row_major>
!left_slot = !ptobuf.slot<left, 16x128xbf16, blayout=row_major, slayout=row_major>
!thin_slot = !ptobuf.slot<right, 128x128xbf16, blayout=row_major, slayout=col_major>
!sums_slot = !ptobuf.slot<acc, 16x128xf32, blayout=col_major, slayout=row_major, fractal=1024>
!thin_tile = !pto.tile_buf<right, 128x128xbf16, blayout=row_major, slayout=col_major>
!sums_tile = !pto.tile_buf<acc, 16x128xf32, blayout=col_major, slayout=row_major, fractal=1024>
!view = !pto.tensor_view<16x512xf32>
!part = !pto.partition_tensor_view<16x128xf32>

module attributes {pto.target_arch = "a3"} {
func.func @cube(%out: !pto.ptr<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %c512 = arith.constant 512 : index
  %to = pto.make_tensor_view %out, shape = [%c16, %c512], strides = [%c512, %c1] : !view
  %wide = ptobuf.alloc_slots "wide" : !wide
  %left = ptobuf.alloc_slots "left" : !left
  %thin = ptobuf.alloc_slots "thin" : !thin
  %sums = ptobuf.alloc_slots "sums" : !sums
  %w = ptobuf.slot_select %wide[%c0] : !wide
  %q = ptobuf.slot_select %left[%c0] : !left
  scf.for %j = %c0 to %c512 step %c128 {
    %step = arith.divui %j, %c128 : index
    %k = arith.remui %step, %c2 : index
    %right = ptobuf.slot_select %thin[%k] : !thin
    %b0 = ptobuf.extract_into ins(%w, %c0, %j : !wide_slot, index, index) outs(%right : !thin_slot) -> !thin_tile
    %acc = ptobuf.slot_select %sums[%k] : !sums
    %c = ptobuf.matmul_into ins(%q, %b0 : !left_slot, !thin_tile) outs(%acc : !sums_slot) -> !sums_tile
    %p = pto.partition_view %to, offsets = [%c0, %j], sizes = [%c16, %c128] : !view -> !part
    ptobuf.store ins(%c : !sums_tile) outs(%p : !part)
  }
  return
}
}
