"""What became of a kernel, for people: memory, order and fences as text."""
