builtin.module attributes {pto.target_arch = "a3"} {
  func.func @two_level_pipeline(%x: !pto.ptr<bf16>, %weights: !pto.ptr<bf16>, %y: !pto.ptr<f32>) attributes {pto.entry, pto.kernel_kind = #pto.kernel_kind<cube>} {
    %c16 = arith.constant 16 : index
    %c128 = arith.constant 128 : index
    %c1 = arith.constant 1 : index
    %x_view = pto.make_tensor_view %x, shape = [%c16, %c128], strides = [%c128, %c1] : !pto.tensor_view<16x128xbf16>
    %c512 = arith.constant 512 : index
    %weights_view = pto.make_tensor_view %weights, shape = [%c512, %c512], strides = [%c512, %c1] : !pto.tensor_view<512x512xbf16>
    %c64 = arith.constant 64 : index
    %y_view = pto.make_tensor_view %y, shape = [%c64, %c512], strides = [%c512, %c1] : !pto.tensor_view<64x512xf32>
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c2 = arith.constant 2 : index
    %0 = ptobuf.alloc_slots "x_l1" {owned} : !ptobuf.slots<1, mat, 16x128xbf16, blayout=col_major, slayout=row_major>
    %1 = ptobuf.alloc_slots "x_l0" {owned} : !ptobuf.slots<1, left, 16x128xbf16, blayout=row_major, slayout=row_major>
    %2 = ptobuf.alloc_slots "w_l1" {owned} : !ptobuf.slots<2, mat, 128x512xbf16, blayout=col_major, slayout=row_major>
    %3 = ptobuf.alloc_slots "w_l0" {owned} : !ptobuf.slots<2, right, 128x128xbf16, blayout=row_major, slayout=col_major>
    %4 = ptobuf.alloc_slots "product" {owned} : !ptobuf.slots<2, acc, 16x128xf32, blayout=col_major, slayout=row_major, fractal=1024>
    %5 = ptobuf.slot_select %0[%c0] : !ptobuf.slots<1, mat, 16x128xbf16, blayout=col_major, slayout=row_major>
    %6 = pto.partition_view %x_view, offsets = [%c0, %c0], sizes = [%c16, %c128] : !pto.tensor_view<16x128xbf16> -> !pto.partition_tensor_view<16x128xbf16>
    %x_l1 = ptobuf.load_into ins(%6 : !pto.partition_tensor_view<16x128xbf16>) outs(%5 : !ptobuf.slot<mat, 16x128xbf16, blayout=col_major, slayout=row_major>) -> !pto.tile_buf<mat, 16x128xbf16, blayout=col_major, slayout=row_major>
    %7 = ptobuf.slot_select %1[%c0] : !ptobuf.slots<1, left, 16x128xbf16, blayout=row_major, slayout=row_major>
    %x_l0 = ptobuf.extract_into ins(%x_l1, %c0, %c0 : !pto.tile_buf<mat, 16x128xbf16, blayout=col_major, slayout=row_major>, index, index) outs(%7 : !ptobuf.slot<left, 16x128xbf16, blayout=row_major, slayout=row_major>) -> !pto.tile_buf<left, 16x128xbf16, blayout=row_major, slayout=row_major>
    scf.for %panel = %c0 to %c4 step %c1 {
      %8 = arith.remui %panel, %c2 : index
      %9 = arith.muli %panel, %c128 : index
      %10 = ptobuf.slot_select %2[%8] : !ptobuf.slots<2, mat, 128x512xbf16, blayout=col_major, slayout=row_major>
      %11 = pto.partition_view %weights_view, offsets = [%9, %c0], sizes = [%c128, %c512] : !pto.tensor_view<512x512xbf16> -> !pto.partition_tensor_view<128x512xbf16>
      %w_l1 = ptobuf.load_into ins(%11 : !pto.partition_tensor_view<128x512xbf16>) outs(%10 : !ptobuf.slot<mat, 128x512xbf16, blayout=col_major, slayout=row_major>) -> !pto.tile_buf<mat, 128x512xbf16, blayout=col_major, slayout=row_major>
      scf.for %col = %c0 to %c512 step %c128 {
        %12 = arith.divui %col, %c128 : index
        %13 = arith.remui %12, %c2 : index
        %14 = ptobuf.slot_select %3[%13] : !ptobuf.slots<2, right, 128x128xbf16, blayout=row_major, slayout=col_major>
        %w_l0 = ptobuf.extract_into ins(%w_l1, %c0, %col : !pto.tile_buf<mat, 128x512xbf16, blayout=col_major, slayout=row_major>, index, index) outs(%14 : !ptobuf.slot<right, 128x128xbf16, blayout=row_major, slayout=col_major>) -> !pto.tile_buf<right, 128x128xbf16, blayout=row_major, slayout=col_major>
        %15 = ptobuf.slot_select %4[%13] : !ptobuf.slots<2, acc, 16x128xf32, blayout=col_major, slayout=row_major, fractal=1024>
        %product = ptobuf.matmul_into ins(%x_l0, %w_l0 : !pto.tile_buf<left, 16x128xbf16, blayout=row_major, slayout=row_major>, !pto.tile_buf<right, 128x128xbf16, blayout=row_major, slayout=col_major>) outs(%15 : !ptobuf.slot<acc, 16x128xf32, blayout=col_major, slayout=row_major, fractal=1024>) -> !pto.tile_buf<acc, 16x128xf32, blayout=col_major, slayout=row_major, fractal=1024>
        %16 = arith.muli %panel, %c16 : index
        %17 = pto.partition_view %y_view, offsets = [%16, %col], sizes = [%c16, %c128] : !pto.tensor_view<64x512xf32> -> !pto.partition_tensor_view<16x128xf32>
        ptobuf.store ins(%product : !pto.tile_buf<acc, 16x128xf32, blayout=col_major, slayout=row_major, fractal=1024>) outs(%17 : !pto.partition_tensor_view<16x128xf32>)
      } {ptobuf.stage = 2 : i64}
    } {ptobuf.stage = 2 : i64}
    func.return
  }
}
