"""Four weight panels against one block of activations, in the DSL people already write: no slots are named.

`pl.pipeline(stage=2)` asks for two trips in flight at each level; every tile of a loop body gets two buffers where they
fit. The script compares the device's result with `golden`; `pto-buf run` runs it on a laptop, without a device.
"""

import argparse

import pypto.language as pl
import torch
from golden import TensorSpec, run_jit

PANELS = 4
ROWS = 16
DEPTH = 128
PANEL_COLS = 512
BLOCK_COLS = 128


@pl.jit
def two_level_pipeline(
    x: pl.Tensor[[ROWS, DEPTH], pl.BF16],
    weights: pl.Tensor[[PANELS * DEPTH, PANEL_COLS], pl.BF16],
    y: pl.Out[pl.Tensor[[PANELS * ROWS, PANEL_COLS], pl.FP32]],
) -> pl.Tensor[[PANELS * ROWS, PANEL_COLS], pl.FP32]:
    for _ in pl.spmd(1, name_hint="two_level_pipeline"):
        x_l1: pl.Tile[[ROWS, DEPTH], pl.BF16, pl.Mem.Mat] = pl.load(
            x, [0, 0], [ROWS, DEPTH], target_memory=pl.MemorySpace.Mat
        )
        x_l0: pl.Tile[[ROWS, DEPTH], pl.BF16, pl.Mem.Left] = pl.tile.extract(
            x_l1, 0, 0, [ROWS, DEPTH], target_memory=pl.MemorySpace.Left
        )
        for panel, (y_panel,) in pl.pipeline(PANELS, stage=2, init_values=(y,)):
            w_l1: pl.Tile[[DEPTH, PANEL_COLS], pl.BF16, pl.Mem.Mat] = pl.load(
                weights, [panel * DEPTH, 0], [DEPTH, PANEL_COLS], target_memory=pl.MemorySpace.Mat
            )
            for col, (y_block,) in pl.pipeline(0, PANEL_COLS, BLOCK_COLS, stage=2, init_values=(y_panel,)):
                w_l0: pl.Tile[[DEPTH, BLOCK_COLS], pl.BF16, pl.Mem.Right] = pl.tile.extract(
                    w_l1, 0, col, [DEPTH, BLOCK_COLS], target_memory=pl.MemorySpace.Right
                )
                product: pl.Tile[[ROWS, BLOCK_COLS], pl.FP32, pl.Mem.Acc] = pl.tile.matmul(x_l0, w_l0)
                stored = pl.store(product, [panel * ROWS, col], y_block)
                y_block = pl.yield_(stored)
            y_panel = pl.yield_(y_block)
    return y_panel


def golden(tensors):
    x = tensors["x"].float()
    panels = tensors["weights"].float().reshape(PANELS, DEPTH, PANEL_COLS)
    tensors["y"][:] = torch.cat([x @ panel for panel in panels])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-p", "--platform", default="a2a3")
    parser.add_argument("-d", "--device", type=int, default=0)
    args = parser.parse_args()
    specs = [
        TensorSpec("x", [ROWS, DEPTH], torch.bfloat16, init_value=torch.randn),
        TensorSpec("weights", [PANELS * DEPTH, PANEL_COLS], torch.bfloat16, init_value=torch.randn),
        TensorSpec("y", [PANELS * ROWS, PANEL_COLS], torch.float32, is_output=True),
    ]
    result = run_jit(
        fn=two_level_pipeline,
        specs=specs,
        golden_fn=golden,
        runtime_cfg={"platform": args.platform, "device_id": args.device},
        rtol=1e-3,
        atol=1e-3,
    )
    print(result)
    if not result.passed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
