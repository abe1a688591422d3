// RUN: pto-buf-opt %s -p ptobuf-insert-fences | filecheck %s

!l1 = !ptobuf.slots<3, mat, 128x128xbf16, blayout=col_major, slayout=row_major>
!l1slot = !ptobuf.slot<mat, 128x128xbf16, blayout=col_major, slayout=row_major>
!l1tile = !pto.tile_buf<mat, 128x128xbf16, blayout=col_major, slayout=row_major>
!l0 = !ptobuf.slots<1, right, 128x128xbf16, blayout=row_major, slayout=col_major>
!l0slot = !ptobuf.slot<right, 128x128xbf16, blayout=row_major, slayout=col_major>
!l0tile = !pto.tile_buf<right, 128x128xbf16, blayout=row_major, slayout=col_major>

module attributes {pto.target_arch = "a3"} {

// Three slots of L1 against one of L0B: a READY and a FREE event of three lanes, on the slot's own index. The last
// pipe of the one lone L0B slot is the one that writes it, so only a barrier orders its leases.

// CHECK-LABEL: func.func @extract
// CHECK: %[[READY:[^ ]+]] = ptobuf.event "wide.ready.MTE2.MTE1" {why = "RAW on wide (L1): MTE2 writes it by load at {{.*}}, then MTE1 reads it by extract at {{.*}}"} : !ptobuf.event<MTE2 -> MTE1, 3>
// CHECK-NEXT: %[[FREE:[^ ]+]] = ptobuf.event "wide.free.MTE1.MTE2" {why = "WAR on wide (L1): MTE1 reads it by extract at {{.*}}, then a later lease: MTE2 writes it by load at {{.*}}"} : !ptobuf.event<MTE1 -> MTE2, 3>
// CHECK: ptobuf.set %[[FREE]][%c0]
// CHECK-NEXT: ptobuf.set %[[FREE]][%c1]
// CHECK-NEXT: ptobuf.set %[[FREE]][%c2]
// CHECK-NEXT: scf.for
// CHECK: %[[LANE:[^ ]+]] = arith.remui
// CHECK: ptobuf.wait %[[FREE]][%[[LANE]]]
// CHECK-NEXT: ptobuf.load_into
// CHECK-NEXT: ptobuf.set %[[READY]][%[[LANE]]]
// CHECK-NEXT: ptobuf.wait %[[READY]][%[[LANE]]]
// CHECK-NEXT: pto.barrier #pto.pipe<PIPE_MTE1>
// CHECK-NEXT: ptobuf.extract_into
// CHECK-NEXT: ptobuf.set %[[FREE]][%[[LANE]]]
// CHECK-NEXT: }
// CHECK-NEXT: ptobuf.wait %[[FREE]][%c0]
// CHECK-NEXT: ptobuf.wait %[[FREE]][%c1]
// CHECK-NEXT: ptobuf.wait %[[FREE]][%c2]
// CHECK-NEXT: pto.barrier #pto.pipe<PIPE_ALL>
// CHECK-NEXT: func.return
func.func @extract(%x: !pto.ptr<bf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c128 = arith.constant 128 : index
  %v = pto.make_tensor_view %x, shape = [%c128, %c128], strides = [%c128, %c1] : !pto.tensor_view<128x128xbf16>
  %w = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c128, %c128] : !pto.tensor_view<128x128xbf16> -> !pto.partition_tensor_view<128x128xbf16>
  %wide = ptobuf.alloc_slots "wide" : !l1
  %thin = ptobuf.alloc_slots "thin" : !l0
  scf.for %i = %c0 to %n step %c1 {
    %s = arith.remui %i, %c3 : index
    %a = ptobuf.slot_select %wide[%s] : !l1
    %b = ptobuf.slot_select %thin[%c0] : !l0
    %t = ptobuf.load_into ins(%w : !pto.partition_tensor_view<128x128xbf16>) outs(%a : !l1slot) -> !l1tile
    %u = ptobuf.extract_into ins(%t, %c0, %c0 : !l1tile, index, index) outs(%b : !l0slot) -> !l0tile
  }
  return
}

// A lone lease is waited for, but nothing is primed or drained.

// CHECK-LABEL: func.func @once
// CHECK-COUNT-1: ptobuf.set
// CHECK-NOT: ptobuf.set
// CHECK: pto.barrier #pto.pipe<PIPE_ALL>
func.func @once(%x: !pto.ptr<bf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %v = pto.make_tensor_view %x, shape = [%c128, %c128], strides = [%c128, %c1] : !pto.tensor_view<128x128xbf16>
  %w = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c128, %c128] : !pto.tensor_view<128x128xbf16> -> !pto.partition_tensor_view<128x128xbf16>
  %wide = ptobuf.alloc_slots "wide" : !l1
  %thin = ptobuf.alloc_slots "thin" : !l0
  %a = ptobuf.slot_select %wide[%c1] : !l1
  %b = ptobuf.slot_select %thin[%c0] : !l0
  %t = ptobuf.load_into ins(%w : !pto.partition_tensor_view<128x128xbf16>) outs(%a : !l1slot) -> !l1tile
  %u = ptobuf.extract_into ins(%t, %c0, %c0 : !l1tile, index, index) outs(%b : !l0slot) -> !l0tile
  return
}
}
