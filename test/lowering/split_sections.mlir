// RUN: pto-buf-opt %s -p ptobuf-split-sections | filecheck %s
// RUN: pto-buf-opt %s -p ptobuf-split-sections,ptobuf-plan-memory,ptobuf-insert-fences,ptobuf-allocate-events,ptobuf-convert-to-pto,ptobuf-join-sections | filecheck %s --check-prefix JOINED

module attributes {pto.target_arch = "a3"} {

// Each part has its own core's sets and ops, and what these need of the loop and the numbers.
// CHECK-LABEL: func.func @k.cube(
// CHECK-SAME: pto.kernel_kind = #pto.kernel_kind<cube>, ptobuf.part_of = "k"
// CHECK: alloc_slots "C"
// CHECK-NOT: alloc_slots "V"
// CHECK: matmul_into
// CHECK-NEXT: scf.for
// CHECK-NEXT: pto.sync.wait <PIPE_FIX>, 1
// CHECK-NEXT: ptobuf.store
// CHECK-NEXT: pto.sync.set <PIPE_FIX>, 0
// CHECK-NEXT: }
// CHECK-NEXT: pto.sync.wait <PIPE_FIX>, 1
// CHECK-LABEL: func.func @k.vector(
// CHECK-NOT: alloc_slots "C"
// CHECK: alloc_slots "V"
// CHECK: pto.sync.set <PIPE_MTE2>, 1
// CHECK-NEXT: scf.for
// CHECK: pto.sync.wait <PIPE_MTE2>, 0
// CHECK-NEXT: ptobuf.load_into
// CHECK-NEXT: pto.sync.set <PIPE_MTE2>, 1

// JOINED-LABEL: func.func @k(%ffts: memref<256xi64>, %w: !pto.ptr<f32>, %x: !pto.ptr<f16>, %o: !pto.ptr<f32>, %n: index)
// JOINED-NEXT: pto.set_ffts %ffts
// JOINED-NEXT: pto.section.cube {
// JOINED: pto.tstore
// JOINED: pto.barrier #pto.pipe<PIPE_ALL>
// JOINED-NEXT: }
// JOINED-NEXT: pto.section.vector {
// JOINED: scf.if %is_first {
// JOINED: pto.tload
// JOINED: } else {
// JOINED-NOT: pto.tload
// JOINED: pto.sync.wait <PIPE_MTE2>, 0
// JOINED-NEXT: pto.sync.set <PIPE_MTE2>, 1
// JOINED: pto.barrier #pto.pipe<PIPE_ALL>
func.func @k(%w: !pto.ptr<f32>, %x: !pto.ptr<f16>, %o: !pto.ptr<f32>, %n: index) attributes {pto.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %wv = pto.make_tensor_view %w, shape = [%c16, %c64], strides = [%c64, %c1] : !pto.tensor_view<16x64xf32>
  %xv = pto.make_tensor_view %x, shape = [%c64, %c64], strides = [%c64, %c1] : !pto.tensor_view<64x64xf16>
  %ov = pto.make_tensor_view %o, shape = [%n, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x64xf32>
  %C = ptobuf.alloc_slots "C" : !ptobuf.slots<1, acc, 16x64xf32, blayout=col_major, slayout=row_major, fractal=1024>
  %A = ptobuf.alloc_slots "A" : !ptobuf.slots<1, left, 16x64xf16, blayout=row_major, slayout=row_major>
  %B = ptobuf.alloc_slots "B" : !ptobuf.slots<1, right, 64x64xf16, blayout=row_major, slayout=col_major>
  %M = ptobuf.alloc_slots "M" : !ptobuf.slots<1, mat, 64x64xf16, blayout=col_major, slayout=row_major>
  %V = ptobuf.alloc_slots "V" : !ptobuf.slots<1, vec, 16x64xf32, blayout=row_major, slayout=none_box>
  %xw = pto.partition_view %xv, offsets = [%c0, %c0], sizes = [%c64, %c64] : !pto.tensor_view<64x64xf16> -> !pto.partition_tensor_view<64x64xf16>
  %ww = pto.partition_view %wv, offsets = [%c0, %c0], sizes = [%c16, %c64] : !pto.tensor_view<16x64xf32> -> !pto.partition_tensor_view<16x64xf32>
  %c = ptobuf.slot_select %C[%c0] : !ptobuf.slots<1, acc, 16x64xf32, blayout=col_major, slayout=row_major, fractal=1024>
  %a = ptobuf.slot_select %A[%c0] : !ptobuf.slots<1, left, 16x64xf16, blayout=row_major, slayout=row_major>
  %b = ptobuf.slot_select %B[%c0] : !ptobuf.slots<1, right, 64x64xf16, blayout=row_major, slayout=col_major>
  %m = ptobuf.slot_select %M[%c0] : !ptobuf.slots<1, mat, 64x64xf16, blayout=col_major, slayout=row_major>
  %v = ptobuf.slot_select %V[%c0] : !ptobuf.slots<1, vec, 16x64xf32, blayout=row_major, slayout=none_box>
  %mt = ptobuf.load_into ins(%xw : !pto.partition_tensor_view<64x64xf16>) outs(%m : !ptobuf.slot<mat, 64x64xf16, blayout=col_major, slayout=row_major>) -> !pto.tile_buf<mat, 64x64xf16, blayout=col_major, slayout=row_major>
  %at = ptobuf.extract_into ins(%mt, %c0, %c0 : !pto.tile_buf<mat, 64x64xf16, blayout=col_major, slayout=row_major>, index, index) outs(%a : !ptobuf.slot<left, 16x64xf16, blayout=row_major, slayout=row_major>) -> !pto.tile_buf<left, 16x64xf16, blayout=row_major, slayout=row_major>
  %bt = ptobuf.move_into ins(%mt : !pto.tile_buf<mat, 64x64xf16, blayout=col_major, slayout=row_major>) outs(%b : !ptobuf.slot<right, 64x64xf16, blayout=row_major, slayout=col_major>) -> !pto.tile_buf<right, 64x64xf16, blayout=row_major, slayout=col_major>
  %ct = ptobuf.matmul_into ins(%at, %bt : !pto.tile_buf<left, 16x64xf16, blayout=row_major, slayout=row_major>, !pto.tile_buf<right, 64x64xf16, blayout=row_major, slayout=col_major>) outs(%c : !ptobuf.slot<acc, 16x64xf32, blayout=col_major, slayout=row_major, fractal=1024>) -> !pto.tile_buf<acc, 16x64xf32, blayout=col_major, slayout=row_major, fractal=1024>
  scf.for %i = %c0 to %n step %c1 {
    %row = arith.muli %i, %c16 : index
    ptobuf.store ins(%ct : !pto.tile_buf<acc, 16x64xf32, blayout=col_major, slayout=row_major, fractal=1024>) outs(%ww : !pto.partition_tensor_view<16x64xf32>)
    %vt = ptobuf.load_into ins(%ww : !pto.partition_tensor_view<16x64xf32>) outs(%v : !ptobuf.slot<vec, 16x64xf32, blayout=row_major, slayout=none_box>) -> !pto.tile_buf<vec, 16x64xf32, blayout=row_major, slayout=none_box>
    %ow = pto.partition_view %ov, offsets = [%row, %c0], sizes = [%c16, %c64] : !pto.tensor_view<?x64xf32> -> !pto.partition_tensor_view<16x64xf32>
    ptobuf.store ins(%vt : !pto.tile_buf<vec, 16x64xf32, blayout=row_major, slayout=none_box>) outs(%ow : !pto.partition_tensor_view<16x64xf32>)
  }
  return
}

// A kernel for one kind of core stays as it is, whether it says so or not.
// CHECK-LABEL: func.func @one(
// CHECK-NOT: sync
func.func @one(%w: !pto.ptr<f32>) attributes {pto.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %wv = pto.make_tensor_view %w, shape = [%c16, %c64], strides = [%c64, %c1] : !pto.tensor_view<16x64xf32>
  %ww = pto.partition_view %wv, offsets = [%c0, %c0], sizes = [%c16, %c64] : !pto.tensor_view<16x64xf32> -> !pto.partition_tensor_view<16x64xf32>
  %V = ptobuf.alloc_slots "V" : !ptobuf.slots<1, vec, 16x64xf32, blayout=row_major, slayout=none_box>
  %v = ptobuf.slot_select %V[%c0] : !ptobuf.slots<1, vec, 16x64xf32, blayout=row_major, slayout=none_box>
  %vt = ptobuf.load_into ins(%ww : !pto.partition_tensor_view<16x64xf32>) outs(%v : !ptobuf.slot<vec, 16x64xf32, blayout=row_major, slayout=none_box>) -> !pto.tile_buf<vec, 16x64xf32, blayout=row_major, slayout=none_box>
  ptobuf.store ins(%vt : !pto.tile_buf<vec, 16x64xf32, blayout=row_major, slayout=none_box>) outs(%ww : !pto.partition_tensor_view<16x64xf32>)
  return
}
}
