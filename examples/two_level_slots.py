"""Four weight panels against one block of activations, each buffer named: what pypto issue 2131 asks for.

Panels rotate through two L1 slots, blocks of a panel through two L0B slots four times as fast, products through two
L0C slots, so that one is drained while the next is computed. `pto-buf run` checks it against CASES on a laptop.
"""

import numpy as np
import pypto.language as pl

PANELS = 4
ROWS = 16
DEPTH = 128
PANEL_COLS = 512
BLOCK_COLS = 128


@pl.jit
def two_level_slots(
    x: pl.Tensor[[ROWS, DEPTH], pl.BF16],
    weights: pl.Tensor[[PANELS * DEPTH, PANEL_COLS], pl.BF16],
    y: pl.Out[pl.Tensor[[PANELS * ROWS, PANEL_COLS], pl.FP32]],
):
    for _ in pl.spmd(1, name_hint="two_level_slots"):
        panels = pl.create_tile_buffers(2, [DEPTH, PANEL_COLS], pl.BF16, pl.Mem.Mat)
        blocks = pl.create_tile_buffers(2, [DEPTH, BLOCK_COLS], pl.BF16, pl.Mem.Right)
        products = pl.create_tile_buffers(2, [ROWS, BLOCK_COLS], pl.FP32, pl.Mem.Acc)
        x_l1 = pl.load(x, [0, 0], [ROWS, DEPTH], target_memory=pl.Mem.Mat)
        x_l0 = pl.tile.extract(x_l1, 0, 0, [ROWS, DEPTH], target_memory=pl.Mem.Left)
        for panel in pl.range(PANELS):
            w = panels[panel & 1]
            pl.tile.load_into(w, weights, [panel * DEPTH, 0], [DEPTH, PANEL_COLS])
            for block in pl.range(PANEL_COLS // BLOCK_COLS):
                which = block & 1
                pl.tile.extract_into(blocks[which], w, 0, block * BLOCK_COLS, [DEPTH, BLOCK_COLS])
                pl.tile.matmul_into(products[which], x_l0, blocks[which])
                pl.store(products[which], [panel * ROWS, block * BLOCK_COLS], y)


def _inputs(rng):
    return {
        "x": rng.standard_normal((ROWS, DEPTH)).astype(np.float32),
        "weights": rng.standard_normal((PANELS * DEPTH, PANEL_COLS)).astype(np.float32),
        "y": np.zeros((PANELS * ROWS, PANEL_COLS), np.float32),
    }


def _reference(tensors):
    panels = tensors["weights"].reshape(PANELS, DEPTH, PANEL_COLS)
    return {"y": np.concatenate([tensors["x"] @ panel for panel in panels])}


CASES = {"two_level_slots": (_inputs, _reference)}
