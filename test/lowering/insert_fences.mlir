// RUN: pto-buf-opt %s -p ptobuf-insert-fences | filecheck %s

!slots = !ptobuf.slots<3, vec, 16x64xf32, blayout=row_major, slayout=none_box>
!slot = !ptobuf.slot<vec, 16x64xf32, blayout=row_major, slayout=none_box>
!tile = !pto.tile_buf<vec, 16x64xf32, blayout=row_major, slayout=none_box>
!part = !pto.partition_tensor_view<16x64xf32>

module attributes {pto.target_arch = "a3"} {

// Loaded, twice updated in place, stored: a READY event for each change of pipe and a FREE event back to the load, of
// three lanes each, on the slot's own index; a barrier only between the two updates.

// CHECK-LABEL: func.func @turn
// CHECK: %[[LOADED:[^ ]+]] = ptobuf.event "ring.ready.MTE2.V" {why = "RAW on ring (UB): MTE2 writes it by load at {{.*}}, then V updates it by adds at {{.*}}"} : !ptobuf.event<MTE2 -> V, 3>
// CHECK-NEXT: %[[DONE:[^ ]+]] = ptobuf.event "ring.ready.V.MTE3" {why = "RAW on ring (UB): V updates it by adds at {{.*}}, then MTE3 reads it by store at {{.*}}"} : !ptobuf.event<V -> MTE3, 3>
// CHECK-NEXT: %[[FREE:[^ ]+]] = ptobuf.event "ring.free.MTE3.MTE2" {why = "WAR on ring (UB): MTE3 reads it by store at {{.*}}, then a later lease: MTE2 writes it by load at {{.*}}"} : !ptobuf.event<MTE3 -> MTE2, 3>
// CHECK: ptobuf.set %[[FREE]][%c0]
// CHECK-NEXT: ptobuf.set %[[FREE]][%c1]
// CHECK-NEXT: ptobuf.set %[[FREE]][%c2]
// CHECK-NEXT: scf.for
// CHECK: %[[LANE:[^ ]+]] = arith.remui
// CHECK: ptobuf.wait %[[FREE]][%[[LANE]]]
// CHECK-NEXT: ptobuf.load_into
// CHECK-NEXT: ptobuf.set %[[LOADED]][%[[LANE]]]
// CHECK-NEXT: ptobuf.wait %[[LOADED]][%[[LANE]]]
// CHECK-NEXT: ptobuf.adds_into
// CHECK-NEXT: pto.barrier #pto.pipe<PIPE_V>
// CHECK-NEXT: ptobuf.adds_into
// CHECK-NEXT: ptobuf.set %[[DONE]][%[[LANE]]]
// CHECK-NEXT: ptobuf.wait %[[DONE]][%[[LANE]]]
// CHECK-NEXT: ptobuf.store
// CHECK-NEXT: ptobuf.set %[[FREE]][%[[LANE]]]
// CHECK-NEXT: }
// CHECK-NEXT: ptobuf.wait %[[FREE]][%c0]
// CHECK-NEXT: ptobuf.wait %[[FREE]][%c1]
// CHECK-NEXT: ptobuf.wait %[[FREE]][%c2]
// CHECK-NEXT: pto.barrier #pto.pipe<PIPE_ALL>
// CHECK-NEXT: func.return
func.func @turn(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %one: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %rows = arith.muli %n, %c16 : index
  %vx = pto.make_tensor_view %x, shape = [%rows, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x64xf32>
  %vy = pto.make_tensor_view %y, shape = [%rows, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x64xf32>
  %ring = ptobuf.alloc_slots "ring" : !slots
  scf.for %i = %c0 to %n step %c1 {
    %s = arith.remui %i, %c3 : index
    %row = arith.muli %i, %c16 : index
    %from = pto.partition_view %vx, offsets = [%row, %c0], sizes = [%c16, %c64] : !pto.tensor_view<?x64xf32> -> !part
    %to = pto.partition_view %vy, offsets = [%row, %c0], sizes = [%c16, %c64] : !pto.tensor_view<?x64xf32> -> !part
    %a = ptobuf.slot_select %ring[%s] : !slots
    %t = ptobuf.load_into ins(%from : !part) outs(%a : !slot) -> !tile
    %u = ptobuf.adds_into ins(%t, %one : !tile, f32) outs(%a : !slot) -> !tile
    %v = ptobuf.adds_into ins(%u, %one : !tile, f32) outs(%a : !slot) -> !tile
    ptobuf.store ins(%v : !tile) outs(%to : !part)
  }
  return
}

// A lone lease is waited for, but nothing is primed or drained.

// CHECK-LABEL: func.func @once
// CHECK-COUNT-1: ptobuf.set
// CHECK-NOT: ptobuf.set
// CHECK: pto.barrier #pto.pipe<PIPE_ALL>
func.func @once(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %vx = pto.make_tensor_view %x, shape = [%c16, %c64], strides = [%c64, %c1] : !pto.tensor_view<16x64xf32>
  %vy = pto.make_tensor_view %y, shape = [%c16, %c64], strides = [%c64, %c1] : !pto.tensor_view<16x64xf32>
  %from = pto.partition_view %vx, offsets = [%c0, %c0], sizes = [%c16, %c64] : !pto.tensor_view<16x64xf32> -> !part
  %to = pto.partition_view %vy, offsets = [%c0, %c0], sizes = [%c16, %c64] : !pto.tensor_view<16x64xf32> -> !part
  %ring = ptobuf.alloc_slots "ring" : !slots
  %a = ptobuf.slot_select %ring[%c1] : !slots
  %t = ptobuf.load_into ins(%from : !part) outs(%a : !slot) -> !tile
  ptobuf.store ins(%t : !tile) outs(%to : !part)
  return
}
}
