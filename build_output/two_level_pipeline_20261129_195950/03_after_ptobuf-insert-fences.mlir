builtin.module attributes {pto.target_arch = "a3"} {
  func.func @two_level_pipeline(%x: !pto.ptr<bf16>, %weights: !pto.ptr<bf16>, %y: !pto.ptr<f32>) attributes {pto.entry, pto.kernel_kind = #pto.kernel_kind<cube>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c128 = arith.constant 128 : index
    %c1 = arith.constant 1 : index
    %x_view = pto.make_tensor_view %x, shape = [%c16, %c128], strides = [%c128, %c1] : !pto.tensor_view<16x128xbf16>
    %c512 = arith.constant 512 : index
    %weights_view = pto.make_tensor_view %weights, shape = [%c512, %c512], strides = [%c512, %c1] : !pto.tensor_view<512x512xbf16>
    %c64 = arith.constant 64 : index
    %y_view = pto.make_tensor_view %y, shape = [%c64, %c512], strides = [%c512, %c1] : !pto.tensor_view<64x512xf32>
    %c0_1 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c2 = arith.constant 2 : index
    %0 = ptobuf.alloc_slots "x_l1" {owned, addr = 0 : i64} : !ptobuf.slots<1, mat, 16x128xbf16, blayout=col_major, slayout=row_major>
    %1 = ptobuf.alloc_slots "x_l0" {owned, addr = 0 : i64} : !ptobuf.slots<1, left, 16x128xbf16, blayout=row_major, slayout=row_major>
    %2 = ptobuf.alloc_slots "w_l1" {owned, addr = 4096 : i64} : !ptobuf.slots<2, mat, 128x512xbf16, blayout=col_major, slayout=row_major>
    %3 = ptobuf.alloc_slots "w_l0" {owned, addr = 0 : i64} : !ptobuf.slots<2, right, 128x128xbf16, blayout=row_major, slayout=col_major>
    %4 = ptobuf.alloc_slots "product" {owned, addr = 0 : i64} : !ptobuf.slots<2, acc, 16x128xf32, blayout=col_major, slayout=row_major, fractal=1024>
    %5 = ptobuf.event "x_l1.ready.MTE2.MTE1" {why = "RAW on x_l1 (L1): MTE2 writes it by load at examples/two_level_pipeline.py:27:61, then MTE1 reads it by extract at examples/two_level_pipeline.py:30:62"} : !ptobuf.event<MTE2 -> MTE1, 1>
    %6 = ptobuf.event "x_l0.ready.MTE1.M" {why = "RAW on x_l0 (L0A): MTE1 writes it by extract at examples/two_level_pipeline.py:30:62, then M reads it by matmul at examples/two_level_pipeline.py:41:77"} : !ptobuf.event<MTE1 -> M, 1>
    %7 = ptobuf.event "w_l1.ready.MTE2.MTE1" {why = "RAW on w_l1 (L1): MTE2 writes it by load at examples/two_level_pipeline.py:34:71, then MTE1 reads it by extract at examples/two_level_pipeline.py:38:77"} : !ptobuf.event<MTE2 -> MTE1, 2>
    %8 = ptobuf.event "w_l1.free.MTE1.MTE2" {why = "WAR on w_l1 (L1): MTE1 reads it by extract at examples/two_level_pipeline.py:38:77, then a later lease: MTE2 writes it by load at examples/two_level_pipeline.py:34:71"} : !ptobuf.event<MTE1 -> MTE2, 2>
    %9 = ptobuf.event "w_l0.ready.MTE1.M" {why = "RAW on w_l0 (L0B): MTE1 writes it by extract at examples/two_level_pipeline.py:38:77, then M reads it by matmul at examples/two_level_pipeline.py:41:77"} : !ptobuf.event<MTE1 -> M, 2>
    %10 = ptobuf.event "w_l0.free.M.MTE1" {why = "WAR on w_l0 (L0B): M reads it by matmul at examples/two_level_pipeline.py:41:77, then a later lease: MTE1 writes it by extract at examples/two_level_pipeline.py:38:77"} : !ptobuf.event<M -> MTE1, 2>
    %11 = ptobuf.event "product.ready.M.FIX" {why = "RAW on product (L0C): M writes it by matmul at examples/two_level_pipeline.py:41:77, then FIX reads it by store at examples/two_level_pipeline.py:42:26"} : !ptobuf.event<M -> FIX, 2>
    %12 = ptobuf.event "product.free.FIX.M" {why = "WAR on product (L0C): FIX reads it by store at examples/two_level_pipeline.py:42:26, then a later lease: M writes it by matmul at examples/two_level_pipeline.py:41:77"} : !ptobuf.event<FIX -> M, 2>
    %13 = ptobuf.slot_select %0[%c0_1] : !ptobuf.slots<1, mat, 16x128xbf16, blayout=col_major, slayout=row_major>
    %14 = pto.partition_view %x_view, offsets = [%c0_1, %c0_1], sizes = [%c16, %c128] : !pto.tensor_view<16x128xbf16> -> !pto.partition_tensor_view<16x128xbf16>
    %x_l1 = ptobuf.load_into ins(%14 : !pto.partition_tensor_view<16x128xbf16>) outs(%13 : !ptobuf.slot<mat, 16x128xbf16, blayout=col_major, slayout=row_major>) -> !pto.tile_buf<mat, 16x128xbf16, blayout=col_major, slayout=row_major>
    ptobuf.set %5[%c0] : !ptobuf.event<MTE2 -> MTE1, 1>
    %15 = ptobuf.slot_select %1[%c0_1] : !ptobuf.slots<1, left, 16x128xbf16, blayout=row_major, slayout=row_major>
    ptobuf.wait %5[%c0] : !ptobuf.event<MTE2 -> MTE1, 1>
    %x_l0 = ptobuf.extract_into ins(%x_l1, %c0_1, %c0_1 : !pto.tile_buf<mat, 16x128xbf16, blayout=col_major, slayout=row_major>, index, index) outs(%15 : !ptobuf.slot<left, 16x128xbf16, blayout=row_major, slayout=row_major>) -> !pto.tile_buf<left, 16x128xbf16, blayout=row_major, slayout=row_major>
    ptobuf.set %6[%c0] : !ptobuf.event<MTE1 -> M, 1>
    ptobuf.set %8[%c0] : !ptobuf.event<MTE1 -> MTE2, 2>
    ptobuf.set %8[%c1] : !ptobuf.event<MTE1 -> MTE2, 2>
    ptobuf.set %10[%c0] : !ptobuf.event<M -> MTE1, 2>
    ptobuf.set %10[%c1] : !ptobuf.event<M -> MTE1, 2>
    ptobuf.set %12[%c0] : !ptobuf.event<FIX -> M, 2>
    ptobuf.set %12[%c1] : !ptobuf.event<FIX -> M, 2>
    ptobuf.wait %6[%c0] : !ptobuf.event<MTE1 -> M, 1>
    scf.for %panel = %c0_1 to %c4 step %c1 {
      %16 = arith.remui %panel, %c2 : index
      %17 = arith.muli %panel, %c128 : index
      %18 = ptobuf.slot_select %2[%16] : !ptobuf.slots<2, mat, 128x512xbf16, blayout=col_major, slayout=row_major>
      %19 = pto.partition_view %weights_view, offsets = [%17, %c0_1], sizes = [%c128, %c512] : !pto.tensor_view<512x512xbf16> -> !pto.partition_tensor_view<128x512xbf16>
      ptobuf.wait %8[%16] : !ptobuf.event<MTE1 -> MTE2, 2>
      %w_l1 = ptobuf.load_into ins(%19 : !pto.partition_tensor_view<128x512xbf16>) outs(%18 : !ptobuf.slot<mat, 128x512xbf16, blayout=col_major, slayout=row_major>) -> !pto.tile_buf<mat, 128x512xbf16, blayout=col_major, slayout=row_major>
      ptobuf.set %7[%16] : !ptobuf.event<MTE2 -> MTE1, 2>
      ptobuf.wait %7[%16] : !ptobuf.event<MTE2 -> MTE1, 2>
      scf.for %col = %c0_1 to %c512 step %c128 {
        %20 = arith.divui %col, %c128 : index
        %21 = arith.remui %20, %c2 : index
        %22 = ptobuf.slot_select %3[%21] : !ptobuf.slots<2, right, 128x128xbf16, blayout=row_major, slayout=col_major>
        ptobuf.wait %10[%21] : !ptobuf.event<M -> MTE1, 2>
        %w_l0 = ptobuf.extract_into ins(%w_l1, %c0_1, %col : !pto.tile_buf<mat, 128x512xbf16, blayout=col_major, slayout=row_major>, index, index) outs(%22 : !ptobuf.slot<right, 128x128xbf16, blayout=row_major, slayout=col_major>) -> !pto.tile_buf<right, 128x128xbf16, blayout=row_major, slayout=col_major>
        ptobuf.set %9[%21] : !ptobuf.event<MTE1 -> M, 2>
        %23 = ptobuf.slot_select %4[%21] : !ptobuf.slots<2, acc, 16x128xf32, blayout=col_major, slayout=row_major, fractal=1024>
        ptobuf.wait %9[%21] : !ptobuf.event<MTE1 -> M, 2>
        ptobuf.wait %12[%21] : !ptobuf.event<FIX -> M, 2>
        %product = ptobuf.matmul_into ins(%x_l0, %w_l0 : !pto.tile_buf<left, 16x128xbf16, blayout=row_major, slayout=row_major>, !pto.tile_buf<right, 128x128xbf16, blayout=row_major, slayout=col_major>) outs(%23 : !ptobuf.slot<acc, 16x128xf32, blayout=col_major, slayout=row_major, fractal=1024>) -> !pto.tile_buf<acc, 16x128xf32, blayout=col_major, slayout=row_major, fractal=1024>
        ptobuf.set %10[%21] : !ptobuf.event<M -> MTE1, 2>
        ptobuf.set %11[%21] : !ptobuf.event<M -> FIX, 2>
        %24 = arith.muli %panel, %c16 : index
        %25 = pto.partition_view %y_view, offsets = [%24, %col], sizes = [%c16, %c128] : !pto.tensor_view<64x512xf32> -> !pto.partition_tensor_view<16x128xf32>
        ptobuf.wait %11[%21] : !ptobuf.event<M -> FIX, 2>
        ptobuf.store ins(%product : !pto.tile_buf<acc, 16x128xf32, blayout=col_major, slayout=row_major, fractal=1024>) outs(%25 : !pto.partition_tensor_view<16x128xf32>)
        ptobuf.set %12[%21] : !ptobuf.event<FIX -> M, 2>
      } {ptobuf.stage = 2 : i64}
      ptobuf.set %8[%16] : !ptobuf.event<MTE1 -> MTE2, 2>
    } {ptobuf.stage = 2 : i64}
    ptobuf.wait %8[%c0] : !ptobuf.event<MTE1 -> MTE2, 2>
    ptobuf.wait %8[%c1] : !ptobuf.event<MTE1 -> MTE2, 2>
    ptobuf.wait %10[%c0] : !ptobuf.event<M -> MTE1, 2>
    ptobuf.wait %10[%c1] : !ptobuf.event<M -> MTE1, 2>
    ptobuf.wait %12[%c0] : !ptobuf.event<FIX -> M, 2>
    ptobuf.wait %12[%c1] : !ptobuf.event<FIX -> M, 2>
    pto.barrier #pto.pipe<PIPE_ALL>
    func.return
  }
}
