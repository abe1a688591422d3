"""Single runs, walked and judged exactly: no abstraction, given trip counts."""
