"""From a function of the `pto` dialect to the checker's program."""
