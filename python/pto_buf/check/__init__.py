"""The proof of a `pto` kernel: does what its flags say hold, in every interleaving and for every trip count?

Knows nothing of how fences were placed. `program` is a kernel as the checker sees it, `terms` its numbers; `reading`
makes it, `runs` walks and judges single runs, `proof` speaks for all of them by means of `facts`, and `certificate` has
the rules to check a proof again.
"""
