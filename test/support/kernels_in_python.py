"""Python kernels for tests of tools and of the package's own interface."""

SEED = """\
import numpy as np
import pypto.language as pl

PANELS, ROWS, DEPTH, PANEL_COLS, BLOCK_COLS = 3, 16, 128, 512, 128


@pl.jit
def panels_by_blocks(
    x: pl.Tensor[[ROWS, DEPTH], pl.BF16],
    weights: pl.Tensor[[PANELS * DEPTH, PANEL_COLS], pl.BF16],
    y: pl.Out[pl.Tensor[[PANELS * ROWS, PANEL_COLS], pl.FP32]],
):
    panels = pl.create_tile_buffers(2, [DEPTH, PANEL_COLS], pl.BF16, pl.Mem.Mat)
    blocks = pl.create_tile_buffers(2, [DEPTH, BLOCK_COLS], pl.BF16, pl.Mem.Right)
    products = pl.create_tile_buffers(2, [ROWS, BLOCK_COLS], pl.FP32, pl.Mem.Acc)
    x_l1 = pl.load(x, [0, 0], [ROWS, DEPTH], target_memory=pl.Mem.Mat)
    x_l0 = pl.tile.extract(x_l1, 0, 0, [ROWS, DEPTH], target_memory=pl.Mem.Left)
    for panel in pl.range(PANELS):
        w = panels[panel & 1]
        pl.tile.load_into(w, weights, [panel * DEPTH, 0], [DEPTH, PANEL_COLS])
        for block in pl.range(PANEL_COLS // BLOCK_COLS):
            pl.tile.extract_into(blocks[block & 1], w, 0, block * BLOCK_COLS, [DEPTH, BLOCK_COLS])
            pl.tile.matmul_into(products[block & 1], x_l0, blocks[block & 1])
            pl.store(products[block & 1], [panel * ROWS, block * BLOCK_COLS], y)
"""
"""The request in small. Line 22 extracts, line 23 multiplies, line 24 stores."""

ONE_PRODUCT = SEED.replace("products = pl.create_tile_buffers(2", "products = pl.create_tile_buffers(1").replace(
    "products[block & 1]", "products[0]"
)
"""With one slot for products."""

HALVE = """\
import numpy as np
import pypto.language as pl


@pl.jit.incore
def halve(
    src: pl.Tensor[[pl.dynamic("ROWS"), 64], pl.FP32],
    dst: pl.Out[pl.Tensor[[pl.dynamic("ROWS"), 64], pl.FP32]],
    tiles: pl.Scalar[pl.INDEX],
):
    ring = pl.create_tile_buffers(2, [32, 64], pl.FP32, pl.Mem.Vec)
    half = pl.create_tile_buffers(2, [32, 64], pl.FP32, pl.Mem.Vec)
    for i in pl.range(tiles):
        pl.tile.load_into(ring[i % 2], src, [i * 32, 0], [32, 64])
        pl.tile.muls_into(half[i % 2], ring[i % 2], 0.5)
        pl.store(half[i % 2], [i * 32, 0], dst)


def inputs(rng):
    src = rng.standard_normal((160, 64)).astype(np.float32)
    return {"src": src, "dst": np.zeros_like(src), "tiles": 5}


CASES = {"halve": (inputs, lambda given: {"dst": given["src"] * 0.5})}
"""
"""Takes numbers. Line 14 loads, line 15 multiplies, line 16 stores."""
