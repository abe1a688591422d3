"""Placing fences, without IR: rings of events around the leases of each slot set, and same-pipe barriers.

`plan` is the whole of it. `tree` has a program and its places, `actions` the sets and waits at them; `rings` makes
these, `trials` runs what is planned for small numbers, `reducing` drops what is implied, `numbering` finds ids.
"""
