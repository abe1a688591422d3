"""Running a planned program for small numbers, to see whether it holds and what it costs."""
