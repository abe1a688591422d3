"""A proof written down, and checked again with rules of its own. Pure."""
