"""Rings of events around the leases of one pool: from how leases go through the pipes to sets and waits."""
