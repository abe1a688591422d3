"""The proof of a `pto` kernel: does what its flags say hold, in every interleaving and for every trip count?

Knows nothing of how fences were placed. `program` is a kernel as the checker sees it, `terms` its numbers; `run` walks
one concrete run and `order` judges it.
"""
