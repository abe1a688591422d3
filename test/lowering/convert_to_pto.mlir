// RUN: pto-buf-opt %s -p ptobuf-convert-to-pto | filecheck %s

!ring = !ptobuf.slots<3, vec, 16x8xf32, blayout=row_major, slayout=none_box>
!slot = !ptobuf.slot<vec, 16x8xf32, blayout=row_major, slayout=none_box>
!tile = !pto.tile_buf<vec, 16x8xf32, blayout=row_major, slayout=none_box>
!part = !pto.tile_buf<vec, 16x8xf32, valid=?x8, blayout=row_major, slayout=none_box>

module attributes {pto.target_arch = "a3"} {

// Slots become addresses at one stride, lanes become ids.

// CHECK-LABEL: func.func @kernel
// CHECK: %[[FIXED:[^ ]+]] = pto.alloc_tile addr = %a1536 : !pto.tile_buf<vec, 16x8xf32
// CHECK-NOT: ptobuf
// CHECK: pto.tload ins(%w : !pto.partition_tensor_view<16x8xf32>) outs(%[[FIXED]] :
// CHECK: pto.set_flag[<PIPE_V>, <PIPE_MTE2>, <EVENT_ID3>]
// CHECK: scf.for %i = %c0 to %n
// CHECK: %[[LANE:[^ ]+]] = arith.remui
// CHECK-NEXT: %[[WIDE:[^ ]+]] = arith.index_cast %[[LANE]] : index to i64
// CHECK-NEXT: %[[SCALED:[^ ]+]] = arith.muli %[[WIDE]], %a512
// CHECK-NEXT: %[[ADDRESS:[^ ]+]] = arith.addi %[[SCALED]], %a512
// CHECK-NEXT: %[[ID:[^ ]+]] = arith.addi %[[LANE]], %c2
// CHECK: pto.wait_flag_dyn[<PIPE_V>, <PIPE_MTE2>, %[[ID]]]
// CHECK: %[[NARROW:[^ ]+]] = pto.alloc_tile addr = %[[ADDRESS]] valid_row = %n : !pto.tile_buf<vec, 16x8xf32, valid=?x8
// CHECK-NEXT: pto.tload ins(%p : !pto.partition_tensor_view<?x8xf32>) outs(%[[NARROW]] :
// CHECK-NEXT: %[[AGAIN:[^ ]+]] = pto.alloc_tile addr = %[[ADDRESS]] valid_row = %n
// CHECK-NEXT: pto.tadds ins(%[[NARROW]], %f {{.*}}) outs(%[[AGAIN]] :
func.func @kernel(%x: !pto.ptr<f32>, %n: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %v = pto.make_tensor_view %x, shape = [%c16, %c8], strides = [%c8, %c1] : !pto.tensor_view<16x8xf32>
  %w = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c16, %c8] : !pto.tensor_view<16x8xf32> -> !pto.partition_tensor_view<16x8xf32>
  %p = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%n, %c8] : !pto.tensor_view<16x8xf32> -> !pto.partition_tensor_view<?x8xf32>
  %ring = ptobuf.alloc_slots "ring" {addr = 512 : i64} : !ring
  %e = ptobuf.event "ring.free" {ids = array<i64: 2, 3, 4>} : !ptobuf.event<V -> MTE2, 3>
  %last = ptobuf.slot_select %ring[%c2] : !ring
  %a = ptobuf.load_into ins(%w : !pto.partition_tensor_view<16x8xf32>) outs(%last : !slot) -> !tile
  ptobuf.release %a : !tile
  ptobuf.set %e[%c1] : !ptobuf.event<V -> MTE2, 3>
  scf.for %i = %c0 to %n step %c1 {
    %s = arith.remui %i, %c3 : index
    %slot = ptobuf.slot_select %ring[%s] : !ring
    ptobuf.wait %e[%s] : !ptobuf.event<V -> MTE2, 3>
    %b = ptobuf.load_into ins(%p : !pto.partition_tensor_view<?x8xf32>) outs(%slot : !slot) valid(%n) -> !part
    %c = ptobuf.adds_into ins(%b, %f : !part, f32) outs(%slot : !slot) valid(%n) -> !part
  }
  return
}
}
