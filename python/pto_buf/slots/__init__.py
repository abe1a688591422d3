"""Reasoning about slots without IR: index terms, the structured program that touches slots, leases."""
