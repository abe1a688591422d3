"""Placing fences, without IR: rings of events around the leases of each slot set, and same-pipe barriers."""
