builtin.module attributes {pto.target_arch = "a3"} {
  func.func @two_level_pipeline(%x: !pto.ptr<bf16>, %weights: !pto.ptr<bf16>, %y: !pto.ptr<f32>) attributes {pto.entry, pto.kernel_kind = #pto.kernel_kind<cube>} {
    %a0 = arith.constant 0 : i64
    %a131072 = arith.constant 131072 : i64
    %a4096 = arith.constant 4096 : i64
    %a32768 = arith.constant 32768 : i64
    %c2 = arith.constant 2 : index
    %a8192 = arith.constant 8192 : i64
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
    %c2_1 = arith.constant 2 : index
    %x_l1 = pto.alloc_tile addr = %a0 : !pto.tile_buf<mat, 16x128xbf16, blayout=col_major, slayout=row_major>
    %x_l0 = pto.alloc_tile addr = %a0 : !pto.tile_buf<left, 16x128xbf16, blayout=row_major, slayout=row_major>
    %0 = pto.partition_view %x_view, offsets = [%c0_1, %c0_1], sizes = [%c16, %c128] : !pto.tensor_view<16x128xbf16> -> !pto.partition_tensor_view<16x128xbf16>
    pto.tload ins(%0 : !pto.partition_tensor_view<16x128xbf16>) outs(%x_l1 : !pto.tile_buf<mat, 16x128xbf16, blayout=col_major, slayout=row_major>)
    pto.set_flag[<PIPE_MTE2>, <PIPE_MTE1>, <EVENT_ID2>]
    pto.wait_flag[<PIPE_MTE2>, <PIPE_MTE1>, <EVENT_ID2>]
    pto.textract ins(%x_l1, %c0_1, %c0_1 : !pto.tile_buf<mat, 16x128xbf16, blayout=col_major, slayout=row_major>, index, index) outs(%x_l0 : !pto.tile_buf<left, 16x128xbf16, blayout=row_major, slayout=row_major>)
    pto.set_flag[<PIPE_MTE1>, <PIPE_MTE2>, <EVENT_ID0>]
    pto.set_flag[<PIPE_MTE1>, <PIPE_MTE2>, <EVENT_ID1>]
    pto.set_flag[<PIPE_M>, <PIPE_MTE1>, <EVENT_ID0>]
    pto.set_flag[<PIPE_M>, <PIPE_MTE1>, <EVENT_ID1>]
    pto.set_flag[<PIPE_FIX>, <PIPE_M>, <EVENT_ID0>]
    pto.set_flag[<PIPE_FIX>, <PIPE_M>, <EVENT_ID1>]
    scf.for %panel = %c0_1 to %c4 step %c1 {
      %1 = arith.remui %panel, %c2_1 : index
      %2 = arith.index_cast %1 : index to i64
      %3 = arith.muli %2, %a131072 : i64
      %4 = arith.addi %3, %a4096 : i64
      %5 = arith.muli %panel, %c128 : index
      %w_l1 = pto.alloc_tile addr = %4 : !pto.tile_buf<mat, 128x512xbf16, blayout=col_major, slayout=row_major>
      %6 = pto.partition_view %weights_view, offsets = [%5, %c0_1], sizes = [%c128, %c512] : !pto.tensor_view<512x512xbf16> -> !pto.partition_tensor_view<128x512xbf16>
      pto.wait_flag_dyn[<PIPE_MTE1>, <PIPE_MTE2>, %1]
      pto.tload ins(%6 : !pto.partition_tensor_view<128x512xbf16>) outs(%w_l1 : !pto.tile_buf<mat, 128x512xbf16, blayout=col_major, slayout=row_major>)
      pto.set_flag_dyn[<PIPE_MTE2>, <PIPE_MTE1>, %1]
      pto.wait_flag_dyn[<PIPE_MTE2>, <PIPE_MTE1>, %1]
      scf.for %col = %c0_1 to %c512 step %c128 {
        %7 = arith.divui %col, %c128 : index
        %8 = arith.remui %7, %c2_1 : index
        %9 = arith.index_cast %8 : index to i64
        %10 = arith.muli %9, %a32768 : i64
        %11 = arith.addi %8, %c2 : index
        %12 = arith.muli %9, %a8192 : i64
        %w_l0 = pto.alloc_tile addr = %10 : !pto.tile_buf<right, 128x128xbf16, blayout=row_major, slayout=col_major>
        pto.wait_flag_dyn[<PIPE_M>, <PIPE_MTE1>, %8]
        pto.textract ins(%w_l1, %c0_1, %col : !pto.tile_buf<mat, 128x512xbf16, blayout=col_major, slayout=row_major>, index, index) outs(%w_l0 : !pto.tile_buf<right, 128x128xbf16, blayout=row_major, slayout=col_major>)
        pto.set_flag_dyn[<PIPE_MTE1>, <PIPE_M>, %11]
        %product = pto.alloc_tile addr = %12 : !pto.tile_buf<acc, 16x128xf32, blayout=col_major, slayout=row_major, fractal=1024>
        pto.wait_flag_dyn[<PIPE_MTE1>, <PIPE_M>, %11]
        pto.wait_flag_dyn[<PIPE_FIX>, <PIPE_M>, %8]
        pto.tmatmul ins(%x_l0, %w_l0 : !pto.tile_buf<left, 16x128xbf16, blayout=row_major, slayout=row_major>, !pto.tile_buf<right, 128x128xbf16, blayout=row_major, slayout=col_major>) outs(%product : !pto.tile_buf<acc, 16x128xf32, blayout=col_major, slayout=row_major, fractal=1024>)
        pto.set_flag_dyn[<PIPE_M>, <PIPE_MTE1>, %8]
        pto.set_flag_dyn[<PIPE_M>, <PIPE_FIX>, %11]
        %13 = arith.muli %panel, %c16 : index
        %14 = pto.partition_view %y_view, offsets = [%13, %col], sizes = [%c16, %c128] : !pto.tensor_view<64x512xf32> -> !pto.partition_tensor_view<16x128xf32>
        pto.wait_flag_dyn[<PIPE_M>, <PIPE_FIX>, %11]
        pto.tstore ins(%product : !pto.tile_buf<acc, 16x128xf32, blayout=col_major, slayout=row_major, fractal=1024>) outs(%14 : !pto.partition_tensor_view<16x128xf32>)
        pto.set_flag_dyn[<PIPE_FIX>, <PIPE_M>, %8]
      }
      pto.set_flag_dyn[<PIPE_MTE1>, <PIPE_MTE2>, %1]
    }
    pto.wait_flag[<PIPE_MTE1>, <PIPE_MTE2>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE1>, <PIPE_MTE2>, <EVENT_ID1>]
    pto.wait_flag[<PIPE_M>, <PIPE_MTE1>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_M>, <PIPE_MTE1>, <EVENT_ID1>]
    pto.wait_flag[<PIPE_FIX>, <PIPE_M>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_FIX>, <PIPE_M>, <EVENT_ID1>]
    pto.barrier #pto.pipe<PIPE_ALL>
    func.return
  }
}
